//! Secrets of services that no rule names, known by a word beside them or by their disorder alone; and what stands in the
//! same places without being a secret. Separate, because every example here is invented.

use super::*;

const UUID: &str = "c55dbac4-e0e8-4a06-b892-75cac2387ce5";
const LOWER: &str = "q7zt0xw3lr9vb5ns1kd8yg4pf6hm2jc0tu7ea3ri";
const LETTERS: &str = "qxwzkvjtpfghbqmzrxklwdvj";

/// Every text has `#` where the secret stands.
fn gone(texts: &[&str], secrets: &[&str]) {
    let mut left = Vec::new();
    for text in texts {
        for secret in secrets {
            let text = text.replace('#', secret);
            if clean(&text).contains(secret) {
                left.push(text);
            }
        }
    }
    assert!(left.is_empty(), "left:\n{}", left.join("\n"));
}

fn kept(texts: &[&str]) {
    for text in texts {
        assert_eq!(clean(text), *text);
    }
}

#[test]
fn short_keys_go_where_they_are_assigned() {
    gone(
        &[
            "acme_key = #",
            "acme_key = \"#\"",
            "ACME_KEY=#",
            "\"acmeKey\": \"#\"",
            "acme.key: #",
            "api token: #",
            "export ACME_API_KEY='#'",
            "access_key: \"#\"",
            "acme --api-key # deploy",
            "acme --token=# deploy",
            "- name: ACME_TOKEN\n  value: #",
            "{\"name\": \"ACME_TOKEN\", \"value\": \"#\"}",
            "Acme::Client.new(api_key: '#')",
            "client.setToken(\"#\")",
        ],
        &[body(16), body(20), hex(32), &LOWER[..20], UUID],
    );
    gone(
        &["acme_token = '#'", "ACME_SECRET=#", "\"api_key\": \"#\""],
        &[body(12), hex(16), hex(24), LETTERS, "QXWZKVJTPF7GHBQMZRXK"],
    );
}

#[test]
fn keys_go_beside_a_word_without_an_assignment() {
    gone(
        &[
            "token #",
            "The key is #.",
            "the api key is `#`, rotate it",
            "curl -H \"X-Api-Key: #\" https://api.example.org",
            "curl -H 'X-Auth-Token: #' https://api.example.org",
            "The API token of the staging service: #",
            "our secret for the gateway is \"#\"",
        ],
        &[body(20), body(32), &LOWER[..24]],
    );
    gone(
        &[
            "token #",
            "the api key is `#`, rotate it",
            "curl -H \"X-Api-Key: #\" https://api.example.org",
            "The API token of the staging service: #",
        ],
        &[hex(32), UUID],
    );
    gone(
        &[
            "It commits `#`, which is the API key of production.",
            "apiKey = process.env.ACME_KEY || '#'",
            "password login with (\"dev\", \"#\")",
        ],
        &[body(20), body(32)],
    );
}

#[test]
fn pairs_of_user_and_password_lose_the_password() {
    gone(
        &[
            "curl -u dev:# https://api.example.org",
            "https://dev:#@git.example.org/a.git",
            "acme login --user dev:#",
            "credentials: dev:#",
        ],
        &[body(12), body(20), &LOWER[..16]],
    );
}

#[test]
fn a_short_name_or_a_number_before_disorder_makes_it_a_key() {
    gone(
        &[
            "acme_live_#",
            "acme-test-#",
            "zz_pat_#",
            "x(\"acme_secret_#\")",
        ],
        &[body(20), body(24)],
    );
    gone(&["ACME-#", "acme#"], &[hex(32)]);
    gone(&["12|#", "4839574:#", "8-#"], &[body(36)]);
    gone(
        &["ZZ.#"],
        &["q7Zt0Xw3Lr9Vb5Ns1Kd8Yg.4Pf6Hm2Jc0Tu7Ea3Ri9Wo5Sx1Qz8Bv4Ck6Gl2Dj0Fy"],
    );
}

#[test]
fn a_service_that_is_assigned_a_key_needs_no_other_word() {
    gone(
        &["sendgrid: \"#\"", "HEROKU = '#'", "\"mailgun\": \"#\""],
        &[UUID, hex(32), body(20)],
    );
    kept(&[
        "heroku_app_id = \"c55dbac4-e0e8-4a06-b892-75cac2387ce5\"",
        "datadog.trace_id: c55dbac4-e0e8-4a06-b892-75cac2387ce5",
    ]);
}

#[test]
fn names_digests_and_examples_stay_beside_every_word() {
    kept(&[
        "The token check in commit 4c497faa0c55ad015a3bf4f1b2b0b822cd15d6c1 is wrong.",
        "The secret is read before request c55dbac4-e0e8-4a06-b892-75cac2387ce5 ends.",
        "token validation for user id: c55dbac4-e0e8-4a06-b892-75cac2387ce5",
        "cache_key = \"q7Zt0Xw3Lr9Vb5Ns1Kd8\"",
        "primaryKey: 'c55dbac4-e0e8-4a06-b892-75cac2387ce5'",
        "public_key = q7Zt0Xw3Lr9Vb5Ns1Kd8",
        "The key parseUtf8FromV2HeaderLine of the map is unused.",
        "api_key = \"<your-key>\"",
        "acme_key = \"${ACME_KEY}\"",
        "acme_key = os.environ[\"ACME_KEY2\"]",
        "acme_key = \"xxxxxxxxxxxxxxxxxxxx\"",
        "acme_token = \"user12345\"",
        "token: \"application\"",
        "api_key: \"my-service-account\"",
        "secret = \"AuthenticationManagerFactory\"",
        "token_type = \"Sha256WithRsa\"",
        "key: build-2024-01-15-linux-x86",
        "password: 'authentication'",
        "go.sum: github.com/a/b v1.2.3 h1:q7Zt0Xw3Lr9Vb5Ns1Kd8Yg4Pf6Hm2Jc0Tu7Ea3Ri9Wo=",
        "integrity=\"sha384-q7Zt0Xw3Lr9Vb5Ns1Kd8Yg4Pf6Hm2Jc0Tu7Ea3Ri9Wo5Sx1Qz8Bv4Ck6Gl2Dj0Fyq7Zt\"",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIQ7Zt0Xw3Lr9Vb5Ns1Kd8Yg4Pf6Hm2Jc0Tu7Ea3R dev",
    ]);
}
