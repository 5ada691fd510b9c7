//! Sentences about files of static analysis. A file that cannot be read keeps no review away: a tool that breaks must not.

use crate::static_analysis::{MOST_MEGABYTES, Unread};
use reviewer_text::hidden::visible;

/// Tells why a file was not read, and what to do.
#[must_use]
pub fn unread(path: &str, why: &Unread) -> String {
    let lead = format!(
        "The results of static analysis in {} were not read",
        visible(path)
    );
    match why {
        Unread::Missing => format!(
            "{lead}: there is no such file in the workspace. Check that the step before wrote it, also where its tool finds nothing."
        ),
        Unread::Outside => format!(
            "{lead}: it is a symbolic link that leads out of the workspace. Write the file itself into the workspace."
        ),
        Unread::NotRegular => {
            format!("{lead}: it is no regular file. Name the SARIF file that the tool wrote.")
        }
        Unread::TooLarge { bytes } => format!(
            "{lead}: it has {} MB, and at most {MOST_MEGABYTES} MB are read. Have the tool report on the changed files only, or \
             with fewer rules.",
            bytes.div_ceil(1_000_000)
        ),
        Unread::Refused(system) => {
            format!("{lead}: {system}. Make it readable for the user of this step.")
        }
        Unread::NotJson { line } => format!(
            "{lead}: it is no JSON, from line {line} on; expected SARIF 2.1.0. Have the tool write SARIF, and nothing else to this \
             file."
        ),
        Unread::OtherSchema { line } => {
            let at = line
                .map(|line| format!(" (line {line})"))
                .unwrap_or_default();
            format!(
                "{lead}: it is JSON, but no SARIF 2.1.0{at}. Choose SARIF as the format of the tool's report."
            )
        }
        Unread::OtherVersion(version) => format!(
            "{lead}: it is SARIF {version}, expected 2.1.0. Choose that version in the tool, or use a newer tool."
        ),
        Unread::WithoutRuns => format!(
            "{lead}: it is SARIF without `runs`. Check whether the tool ended as it should."
        ),
    }
}

/// Tells that a tool did not finish, by its own account.
#[must_use]
pub fn unfinished(tool: &str, path: &str) -> String {
    format!(
        "{tool} says in {} that it did not finish, so results of static analysis may be missing. Its own log says why.",
        visible(path)
    )
}

/// Refuses a directory where a file is expected.
#[must_use]
pub fn directory(path: &str) -> String {
    format!(
        "Input static_analysis is \"{path}\", which is a directory; expected a SARIF file. Name the file in it, for example \
         {}/results.sarif.",
        path.trim_end_matches('/')
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_that_is_not_read_says_what_is_expected_and_what_to_do() {
        let told = |why: Unread| unread("out/semgrep.sarif", &why);
        assert_eq!(
            told(Unread::TooLarge { bytes: 10_000_001 }),
            "The results of static analysis in out/semgrep.sarif were not read: it has 11 MB, and at most 10 MB are read. Have the \
             tool report on the changed files only, or with fewer rules."
        );
        assert_eq!(
            told(Unread::OtherVersion("2.0.0".into())),
            "The results of static analysis in out/semgrep.sarif were not read: it is SARIF 2.0.0, expected 2.1.0. Choose that \
             version in the tool, or use a newer tool."
        );
        assert!(
            told(Unread::OtherSchema { line: Some(3) })
                .contains("but no SARIF 2.1.0 (line 3). Choose")
        );
        assert_eq!(
            directory("reports/"),
            "Input static_analysis is \"reports/\", which is a directory; expected a SARIF file. Name the file in it, for example \
             reports/results.sarif."
        );
    }
}
