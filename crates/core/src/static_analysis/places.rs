//! From the addresses of files in a SARIF file to paths of the repository. Tools write them relative to the repository's root, to a
//! base that they name, or with the whole path on their machine. Pure: no address is looked up.

use super::wire::{Artifact, ArtifactLocation, CappedMap};
use url::Url;

/// The folder that stands for the repository's root where an address is relative to it. No machine has it.
const ROOT: &str = "/the-root-of-the-reviewed-repository/";
/// The number of bases that may lean on each other.
const DEEPEST: usize = 5;

/// The bases of the addresses of a run.
pub(super) struct Places<'a> {
    pub bases: Option<&'a CappedMap<ArtifactLocation, 10>>,
    pub artifacts: &'a [Artifact],
    /// The whole paths of the repository's root, as tools may have seen it.
    pub roots: &'a [String],
}

impl Places<'_> {
    /// The path of a file in the repository; `None` where the address leads out of it.
    pub fn path(&self, location: &ArtifactLocation) -> Option<String> {
        let listed = || {
            let index = usize::try_from(location.index?).ok()?;
            self.artifacts.get(index)?.location.as_ref()
        };
        let location = match location.uri {
            Some(_) => location,
            None => listed()?,
        };
        let url = self.url(location, DEEPEST)?;
        if url.scheme() != "file" || url.host_str().is_some_and(|host| !host.is_empty()) {
            return None;
        }
        let path = url.to_file_path().ok()?;
        self.inside(path.to_str()?)
    }

    fn url(&self, location: &ArtifactLocation, deepest: usize) -> Option<Url> {
        let root = Url::from_directory_path(ROOT).ok()?;
        let base = location.uri_base_id.as_deref();
        let base = base.and_then(|id| self.bases?.0.get(id));
        let base = match base {
            Some(base) if deepest > 0 => folder(self.url(base, deepest - 1)?),
            _ => root,
        };
        match location.uri.as_deref() {
            Some(uri) => base.join(uri).ok(),
            None => Some(base),
        }
    }

    fn inside(&self, path: &str) -> Option<String> {
        let roots = self.roots.iter().map(|root| root.trim_end_matches('/'));
        let mut roots = std::iter::once(ROOT.trim_end_matches('/')).chain(roots);
        let below = roots.find_map(|root| path.strip_prefix(root)?.strip_prefix('/'))?;
        (!below.is_empty()).then(|| below.to_owned())
    }
}

/// The address of a folder, which ends in a slash, or the last part would be taken for a file.
fn folder(mut url: Url) -> Url {
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn path(location: Value, bases: Value) -> Option<String> {
        let artifacts = json!([{ "location": { "uri": "src/listed.ts" } }]);
        let artifacts: Vec<Artifact> = serde_json::from_value(artifacts).unwrap();
        let places = Places {
            bases: Some(&serde_json::from_value(bases).unwrap()),
            artifacts: &artifacts,
            roots: &[
                "/github/workspace".into(),
                "/home/runner/_work/shop/shop/".into(),
            ],
        };
        places.path(&serde_json::from_value(location).unwrap())
    }

    fn bases() -> Value {
        json!({
            "%SRCROOT%": {},
            "ROOT": { "uri": "file:///home/runner/_work/shop/shop" },
            "PACKAGE": { "uri": "packages/a", "uriBaseId": "ROOT" },
            "LOOP": { "uri": "x/", "uriBaseId": "LOOP" },
        })
    }

    #[test]
    fn every_way_to_name_a_file_of_the_repository_leads_to_its_path() {
        for (location, expected) in [
            (json!({ "uri": "src/page.ts" }), "src/page.ts"),
            (
                json!({ "uri": "./src/page.ts", "uriBaseId": "%SRCROOT%" }),
                "src/page.ts",
            ),
            (
                json!({ "uri": "src/page.ts", "uriBaseId": "unknown" }),
                "src/page.ts",
            ),
            (json!({ "uri": "src/a%20b%23.ts" }), "src/a b#.ts"),
            (json!({ "uri": "src/a b.ts" }), "src/a b.ts"),
            (json!({ "uri": "src/ä.ts" }), "src/ä.ts"),
            (
                json!({ "uri": "file:///github/workspace/src/page.ts" }),
                "src/page.ts",
            ),
            (
                json!({ "uri": "/github/workspace/src/page.ts" }),
                "src/page.ts",
            ),
            (
                json!({ "uri": "file:///home/runner/_work/shop/shop/src/page.ts" }),
                "src/page.ts",
            ),
            (
                json!({ "uri": "src/page.ts", "uriBaseId": "ROOT" }),
                "src/page.ts",
            ),
            (
                json!({ "uri": "src/page.ts", "uriBaseId": "PACKAGE" }),
                "packages/a/src/page.ts",
            ),
            (json!({ "index": 0 }), "src/listed.ts"),
        ] {
            assert_eq!(
                path(location.clone(), bases()).as_deref(),
                Some(expected),
                "{location}"
            );
        }
    }

    #[test]
    fn what_is_outside_of_the_repository_or_names_nothing_has_no_path() {
        for location in [
            json!({ "uri": "file:///etc/passwd" }),
            json!({ "uri": "file:///github/workspace-2/a.ts" }),
            json!({ "uri": "file://server/github/workspace/a.ts" }),
            json!({ "uri": "https://example.test/a.ts" }),
            json!({ "uri": "../outside.ts" }),
            json!({ "uri": "" }),
            json!({ "uri": "a.ts", "uriBaseId": "LOOP" }),
            json!({ "index": 7 }),
            json!({ "index": -1 }),
            json!({}),
        ] {
            let found = path(location.clone(), bases());
            assert!(
                found.as_deref().is_none_or(|path| path.starts_with("x/")),
                "{location}: {found:?}"
            );
        }
    }
}
