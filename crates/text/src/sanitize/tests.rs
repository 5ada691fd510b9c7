//! Tests of the sanitiser as people see it, by the names of the catalogue. The properties of any text are in
//! `tests/properties/`.

use super::*;
use crate::active::active;

#[test]
fn m1_images_are_words() {
    for image in [
        "![x](https://evil.example/?d=1)",
        "![x][1]\n\n[1]: https://evil.example/p.png",
        "<img src=https://evil.example/p.png>",
        "<picture><source srcset=https://evil.example></picture>",
        "[![x](https://evil.example/p)](https://docs.rs/x)",
        "![x](https://camo.githubusercontent.com/abc)",
        "![x](data:image/svg+xml;base64,AAAA)",
        "!\\[x](https://evil.example)",
        "[<img src=https://evil.example/p.png>](https://docs.rs/x)",
    ] {
        let text = clean(&format!("Look: {image} there."));
        assert_eq!(active(&text), Vec::<String>::new(), "{image} became {text}");
    }
    assert_eq!(
        clean("a ![x](https://evil.example) b"),
        "a [image removed] b"
    );
}

#[test]
fn m2_links_lead_to_documentation_or_nowhere() {
    for link in [
        "[x](https://evil.example/)",
        "[x](http://docs.rs/)",
        "[x](https://github.com@evil.example/)",
        "[x](https://docs.rs@evil.example/)",
        "[x](https://docs.rs.evil.example/)",
        "[x](https://docs.rs/?q=secret)",
        "[x](https://xn--docs-8x3b.rs/)",
        "[x](//evil.example)",
        "[x <https://evil.example>](https://docs.rs/x)",
        "[x](javascript:alert(1))",
        "<https://evil.example/a>",
        "<dev@evil.example>",
        "https://evil.example/a_b_c",
        "HTTPS://evil.example",
        "https://docs.rs/x_a_~https://evil.example",
        "https://docs.rs/_a_#1",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa://evil.example",
        "www.evil.example",
        "https\\://evil.example",
        "https:\\/\\/evil.example",
        "www\\.evil.example",
        "[x][y]\n\n[y]: https://evil.example",
        "[y]\n\n[y]: <https://evil.example> 'title'",
        "[//]: # (hidden)",
        "[x](https://evil.example 'say \\'hi\\'')",
        "\\[x](https://evil.example)",
        "[^1]\n\n[^1]: https://evil.example",
        "~~https://docs.rs/x~~#1",
        "_https://docs.rs/x_#1",
    ] {
        let text = clean(&format!("See {link}"));
        assert_eq!(active(&text), Vec::<String>::new(), "{link} became {text}");
        assert_eq!(active(&clean(link)), Vec::<String>::new(), "{link} alone");
    }
    for kept in [
        "See [JoinSet](https://docs.rs/tokio/1.54.1/tokio/task/struct.JoinSet.html#method.abort_all).",
        "See <https://cwe.mitre.org/data/definitions/89.html>.",
        "See https://owasp.org/www-community/attacks/SQL_Injection.",
    ] {
        assert_eq!(clean(kept), kept);
    }
    assert_eq!(
        clean("[here](https://evil.example/x)"),
        "here (`https://evil.example/x`)"
    );
}

#[test]
fn m3_nobody_is_called() {
    for (said, shown) in [
        ("Ask @octocat.", "Ask `@octocat`."),
        ("Ask @org/team now", "Ask `@org/team` now"),
        ("&#64;octocat", "`&#64;`octocat"),
        ("&commat;octocat", "`&commat;`octocat"),
        ("@\u{200b}octocat", "`@octocat`"),
        ("＠octocat", "`＠octocat`"),
        ("\\@octocat", "`@octocat`"),
        ("\\\\@octocat", "\\\\`@octocat`"),
        ("**@octocat**", "**`@octocat`**"),
        ("`a`@octocat", "`a` `@octocat`"),
        ("a ` b @octocat", "a &#96; b `@octocat`"),
        ("`@Override`", "`@Override`"),
    ] {
        assert_eq!(clean(said), shown, "{said}");
        assert_eq!(active(&clean(said)), Vec::<String>::new(), "{said}");
    }
}

#[test]
fn m4_issues_and_commits_are_not_touched() {
    for (said, shown) in [
        ("Fixes #1.", "Fixes `#1`."),
        ("closes GH-12", "closes `GH-12`"),
        ("closes _GH-12_", "closes _`GH-12`_"),
        ("since _b0d63d1_", "since _`b0d63d1`_"),
        ("see octo/shop#7", "see `octo/shop#7`"),
        (
            "since b0d63d1e3554f51be51c63421a254d61288447e6",
            "since `b0d63d1e3554f51be51c63421a254d61288447e6`",
        ),
        ("since octo/shop@b0d63d1", "since `octo/shop@b0d63d1`"),
        // An address may begin where a hash ends.
        (
            "since 77777777https://docs.rs/x",
            "since `77777777https://docs.rs/x`",
        ),
        ("a defaced facade of 1234567", "a defaced facade of 1234567"),
        (
            "since 7777777777777777777777777777777777777777",
            "since `7777777777777777777777777777777777777777`",
        ),
        ("fixes &#35;1", "fixes `&#35;`1"),
        ("the `#1` entry", "the `#1` entry"),
    ] {
        assert_eq!(clean(said), shown, "{said}");
    }
}

#[test]
fn no_words_hide_behind_the_language_of_a_fence() {
    let hostile = "```js now run curl evil.example\nlet a = 1;\n```";
    assert_eq!(clean(hostile), "```js\nlet a = 1;\n```");
    let in_line = "```a b``` and more";
    assert_eq!(clean(in_line), in_line);
}

#[test]
fn m5_nothing_can_be_committed_with_a_click() {
    for hostile in [
        "```suggestion\nx\n```",
        "~~~suggestion\nx\n~~~",
        "  ````suggestion foo\nx\n````",
        "> ```Suggestion\n> x\n> ```",
        "- ```suggestion:-0+1\n  x\n  ```",
        "1. ```suggestion\n   x\n   ```",
    ] {
        assert!(
            !clean(hostile).to_lowercase().contains("suggestion"),
            "{hostile}"
        );
    }
}

#[test]
fn m8_no_fence_is_drawn_by_github() {
    for language in ["mermaid", "geojson", "topojson", "stl", "math"] {
        let capital = language.to_uppercase();
        for opening in [
            format!("```{language}"),
            format!("~~~~ {capital}"),
            format!("  ``` {language} title=x"),
            format!("```{language},x"),
            format!("> ```{language}"),
            format!("- 1. > ~~~{language}"),
            format!("```{}\u{200b}{}", &language[..1], &language[1..]),
            format!(
                "```&#{};{}",
                u32::from(language.as_bytes()[0]),
                &language[1..]
            ),
            format!("~~~&#x{:x};{}", language.as_bytes()[0], &language[1..]),
            format!("```{}\\{}", &language[..2], &language[2..]),
        ] {
            let text = clean(&format!("Look:\n\n{opening}\nx\n"));
            assert_eq!(active(&text), Vec::<String>::new(), "{opening}: {text}");
            assert!(text.contains("text\nx"), "{opening}: {text}");
        }
    }
    let code =
        "```rust,ignore\nx\n```\n\n```c++\nx\n```\n\n```mathematica\nx\n```\n\n```a&&b``` holds.";
    assert_eq!(clean(code), code);
}

#[test]
fn m8_math_holds_nothing_that_was_not_cleaned() {
    for (said, shown) in [
        (
            "$`\\href{//evil.example}{x}`$",
            "$ `\\href{//evil.example}{x}`$",
        ),
        (
            "$\\href{//evil.example}{x}$",
            "$ `\\href`{//evil.example}{x}$",
        ),
        ("$\\\\href{/a}{x}$", "$ `\\\\href`{/a}{x}$"),
        ("It costs $5 or $n^2$.", "It costs $5 or $n^2$."),
    ] {
        let text = clean(said);
        assert_eq!(text, shown, "{said}");
        assert_eq!(active(&text), Vec::<String>::new(), "{said}");
    }
}

#[test]
fn m6_tags_are_shown_and_hidden_characters_are_not() {
    assert_eq!(clean("a <b onclick=x>c</b>"), "a &lt;b onclick=x>c&lt;/b>");
    assert_eq!(clean("if a < b"), "if a &lt; b");
    assert_eq!(
        clean("`Vec<u8>` and <!-- x -->"),
        "`Vec<u8>` and &lt;!-- x -->"
    );
    assert_eq!(clean("a\u{202e}b\u{e0041}c\u{7}"), "abc");
}

#[test]
fn m7_other_bots_are_given_no_orders() {
    for (said, shown) in [
        ("/merge", "`/merge`"),
        ("Done.\n/lgtm please", "Done.\n`/lgtm` please"),
        ("> /approve", "> `/approve`"),
        ("bors r+", "`bors` r+"),
        ("@dependabot merge", "`@dependabot` merge"),
        ("read /etc/hosts", "read /etc/hosts"),
        (
            "`x`\n\n/merge and `y` /merge",
            "`x`\n\n`/merge` and `y` /merge",
        ),
        (
            "```\n/merge\n/usr/bin/env\n```",
            "```\n\\/merge\n/usr/bin/env\n```",
        ),
        (
            "```\nbors r+\n@dependabot merge\n```",
            "```\n\\bors r+\n\\@dependabot merge\n```",
        ),
    ] {
        assert_eq!(clean(said), shown, "{said}");
    }
}

#[test]
fn dumps_of_a_diff_are_removed() {
    let dump = "Look:\n```\ndiff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n c\n```\nEnd.";
    assert_eq!(clean(dump), "Look:\n```\n[diff removed]\n```\nEnd.");
    assert_eq!(clean("run `git diff --git`"), "run `git diff --git`");
    // Once the link is gone, its words begin the line.
    assert_eq!(
        clean("[diff --git a b](https://evil.example)"),
        "[diff removed]\n"
    );
}

#[test]
fn ordinary_text_stays_as_it_is() {
    for text in [
        "Use `a` here.\n\n```rust\nlet a = 1;\n```\n\nA suggestion: none.",
        "`Math.floor` drops the last page: 11 items in pages of 5 give 2, not 3.",
        "| a | b |\n| --- | --- |\n| 1 | `x` |",
        "- one\n- two\n  - three\n\n> quoted\n\n**bold** and _soft_; 50 % of a/b, x > y.",
        "The index `rows[0]` is read before rows is checked (see `load()`), so an empty answer panics.",
    ] {
        assert_eq!(clean(text), text);
    }
}

#[test]
fn whatever_ends_a_line_is_a_line_feed_and_joins_no_words() {
    for end in [
        "\n", "\r", "\r\n", "\u{b}", "\u{c}", "\u{85}", "\u{2028}", "\u{2029}",
    ] {
        assert_eq!(clean(&format!("a{end}b")), "a\nb", "{end:?}");
    }
    assert_eq!(clean("a\u{7}\u{200b}\u{202e}\tb"), "a\tb");
}
