//! The report as a page of HTML: whatever the pull request is called, holds and is told about, its texts stay texts. The judge of
//! every attack reads the page, too; here the texts are made for it.

use crate::html_property::{Node, hold};
use crate::review::{finding, post};
use crate::standin::github::Change;
use crate::standin::model::Script;
use crate::standin::shop;
use crate::standin::world::World;
use serde_json::json;

/// Ways out of an element, an attribute, an address, a script and a style, with a word that is to be read.
const HOSTILE: [&str; 6] = [
    "seen</p></article></main><script>alert(1)</script><h1>Approved</h1>",
    "seen\" onmouseover=\"alert(1)\"><img src=x onerror=alert(1)>",
    "seen [here](javascript:alert(1)) ![x](https://evil.example/x.png) <svg/onload=alert(1)>",
    "seen</style></title><style>@import 'https://evil.example/x.css'</style><base href=https://evil.example>",
    "seen\n\n```\n</code></pre><iframe srcdoc='<script>alert(1)</script>'></iframe>\n```\n\n| a |\n| --- |\n| </table> |",
    "seen \u{202e}\u{200b}\u{e0041}&lt;b&gt; &#106;avascript:alert(1) <!-- --><meta http-equiv=refresh content=0>",
];

#[test]
fn c9_hostile_titles_paths_code_findings_and_summaries_are_text_on_the_page() {
    for (number, text) in HOSTILE.into_iter().enumerate() {
        let line = text.replace('\n', " ");
        // A path has no slash of its own, and no line of its own.
        let path = format!("src/{}.ts", line.replace('/', "\u{2215}"));
        let changes = [Change::write(
            &path,
            format!("let a = `{line}`;\nlet b = 2;\n"),
        )];
        let (at, words) = (path.clone(), text.to_owned());
        let script = Script::new()
            .pass(1, move |_| {
                let mut blocks = finding(&at, 1, 9, &words);
                blocks["body"] = json!(words);
                let page = shop::line_of("src/page.ts", "Math.floor");
                let small = finding("src/page.ts", page, 2, &words);
                vec![post(blocks), post(small)]
            })
            .results(
                4,
                json!({ "pass_number": 4, "summary": text, "has_blocking_issues": true }),
            );
        let world = World::with(&changes, script.into_behaviour()).quick();
        world.github.pull(world.pull, |pull| {
            pull.title = line.clone();
            pull.body = Some(text.to_owned());
        });
        let ran = world.review();
        ran.ended(0, "blocking");
        let page = &ran.outputs["report_html"];
        let page = std::fs::read_to_string(world.workspace().join(page)).expect("the page");
        let document = hold(&page, Some(world.github.url()));
        let texts =
            |name: &str| -> Vec<String> { document.named(name).iter().map(Node::text).collect() };
        assert_eq!(texts("h1"), [" 1 finding open, and it blocks"], "{number}");
        let headings = texts("h3");
        assert!(headings[0].contains("seen"), "{number}: {headings:?}");
        let code = texts("mark").concat();
        assert!(code.contains("1+let a = `seen"), "{number}: {code}");
        let withheld = texts("summary");
        assert!(
            withheld
                .iter()
                .any(|one| one.contains("2/10 · suppressed: ")),
            "{number}: {withheld:?} {}",
            ran.log
        );
        assert!(document.text().contains("seen"), "{number}");
        world.github.take_writes();
        world.finish();
    }
}
