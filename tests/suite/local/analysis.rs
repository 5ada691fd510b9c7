//! `local` with results of static analysis that the person's own tool wrote.

use super::{Machine, three};
use crate::standin::model::Call;
use crate::standin::shop;
use serde_json::json;

#[test]
fn the_file_of_a_tool_is_read_and_is_no_part_of_the_change() {
    let script = three(7).pass(2, |request| {
        let prompt = request.raw().to_string();
        assert!(prompt.contains("## Results of static analysis"), "{prompt}");
        assert!(!prompt.contains("added out/eslint.sarif"), "{prompt}");
        let recorded = request.recorded();
        let mut recorded = recorded.iter();
        let page = recorded.find(|(_, text)| text.starts_with("The last page is lost."));
        let (finding, _) = page.expect("the lost page is recorded");
        let verdict = json!({ "candidate_id": "S1", "verdict": "confirm", "finding_id": finding });
        vec![Call::new("submit_candidate_verdict", verdict)]
    });
    let machine = Machine::scripted(script);
    let root = machine.path().canonicalize().expect("the repository");
    let uri = format!("file://{}/src/page.ts", root.display());
    let line = shop::line_of("src/page.ts", "Math.floor");
    let log = json!({ "version": "2.1.0", "runs": [{
        "tool": { "driver": { "name": "ESLint" } },
        "results": [{
            "ruleId": "no-floor",
            "message": { "text": "Rounds down." },
            "locations": [{ "physicalLocation": {
                "artifactLocation": { "uri": uri }, "region": { "startLine": line },
            }}],
        }],
    }]});
    machine.write("out/eslint.sarif", &log.to_string());
    let ran = machine.run(&["--input=static_analysis=out/eslint.sarif"]);
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
    assert!(
        ran.out.contains("Found by ESLint, rule no-floor, too."),
        "{}",
        ran.out
    );
    assert!(
        ran.out
            .contains("1 on changed lines: 1 confirmed, 0 refuted, 0"),
        "{}",
        ran.out
    );
    machine.finish();
}
