//! Prepares comments of people for the brief: who wrote them with which standing, and what looks suspicious.

use super::Facts;
use crate::host::{Host, Job};
use reviewer_core::context::brief::{Brief, Words};
use reviewer_core::context::speakers::Speakers;
use reviewer_core::context::suspicion::Suspicions;
use reviewer_core::domain::Thread;
use reviewer_core::plan::Question;
use reviewer_core::state::block;
use reviewer_core::state::signature::{SignatureCheck, Signed};
use reviewer_text::prose::Prose;
use serde_json::Value;

/// The comments below the description, but for those of bots.
pub(crate) fn conversation<'a>(job: &Job<'_>, facts: &'a Facts) -> Vec<Words<'a>> {
    let speakers = speakers(facts);
    let comments = facts.conversation.iter();
    let of_people = comments.filter(|comment| {
        let author = comment.author.as_ref();
        author.is_some_and(|author| !author.is_bot())
    });
    let words = of_people.map(|comment| Words {
        who: speakers.who(comment.author.as_ref(), comment.association),
        body: &comment.body,
        ours: is_ours(job, &comment.body),
    });
    words.collect()
}

pub fn speakers(facts: &Facts) -> Speakers<'_> {
    Speakers::new(facts.pull.author.as_ref(), &facts.threads)
}

/// Under a person's token the reviewer's answers are that person's comments.
fn is_ours(job: &Job<'_>, body: &str) -> bool {
    let Some(hidden) = block::parse(body).hidden else {
        return false;
    };
    let Ok(value) = serde_json::to_value(&hidden) else {
        return false;
    };
    let signed = Signed {
        pr: &job.pr,
        root: None,
        visible: &Value::Null,
        hidden: &value,
    };
    let (kid, sig) = (hidden.kid.as_deref(), hidden.sig.as_deref());
    job.keys.verify(&signed, kid, sig) == SignatureCheck::Ours
}

/// The threads as the tools tell the model about them.
pub(crate) fn shown_threads(threads: &[Thread]) -> Vec<Thread> {
    let mut threads = threads.to_vec();
    for reply in threads.iter_mut().flat_map(|thread| &mut thread.replies) {
        reply.body = Prose::parse(&reply.body).text;
    }
    threads
}

/// Looks for what may be meant for the model, and tells the log. The places are names that others chose.
pub(crate) fn suspicions(host: &Host<'_>, brief: &Brief<'_>, questions: &[Question]) -> Suspicions {
    let found = brief.suspicions(questions);
    let actions = &host.setup.actions;
    if !found.is_empty()
        && let Err(error) = actions.foreign(&found.to_string())
    {
        actions.warning(&format!("Suspicious text could not be told: {error}"));
    }
    found
}
