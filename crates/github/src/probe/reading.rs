//! The answer to a probe, from GitHub's JSON to plain values. Pure.

use super::{
    MergeState, Mergeable, NAME, Probe, ProbedComment, ProbedReview, ProbedState, ReviewState,
};
use crate::error::ApiError;
use crate::exchange::not_understood;
use crate::merging::MergeMethod;
use crate::pulls::{FileAt, commit_sha};
use crate::threads::login;
use crate::wire;
use reviewer_core::domain::{CommentId, Login};
use reviewer_core::event::Association;

pub(super) fn probe(
    id: u64,
    repository: &wire::ProbeRepository,
    pull: wire::ProbePull,
    reviews: Vec<ProbedReview>,
) -> Result<Probe, ApiError> {
    let repo = repository.name_with_owner.parse();
    let head = commit_sha(NAME, &pull.head_ref_oid)?;
    let commits = pull.commits.into_iter().flat_map(wire::Nodes::all);
    let mut commits = commits.map(|node| node.commit);
    let tip = commits.rfind(|tip| tip.oid == head.as_str());
    let (head_author, head_committer) = tip.map_or((None, None), |tip| (tip.author, tip.committer));
    let account = |person: Option<wire::ProbePerson>| person?.user.as_ref().map(login);
    let labels = pull.labels.into_iter().flat_map(wire::Nodes::all);
    let requests = pull.review_requests.into_iter().flat_map(wire::Nodes::all);
    let comments = pull.comments.into_iter().flat_map(wire::Nodes::all);
    Ok(Probe {
        repository: id,
        repo: repo.map_err(|problem| not_understood(NAME, &problem))?,
        number: pull.number,
        node_id: pull.id,
        state: match pull.state.as_deref() {
            Some("MERGED") => ProbedState::Merged {
                by: pull.merged_by.as_ref().map(login),
                sha: pull.merge_commit.and_then(|commit| commit.oid.parse().ok()),
            },
            Some("CLOSED") => ProbedState::Closed,
            _ => ProbedState::Open,
        },
        updated_at: pull.updated_at.unwrap_or_default(),
        draft: pull.is_draft,
        locked: pull.locked,
        from_fork: pull.is_cross_repository,
        head,
        head_branch: pull.head_ref_name,
        base: pull.base_ref_name,
        base_head: pull.base_ref.as_ref().and_then(wire::ProbeBase::head),
        author: pull.author.as_ref().map(login),
        labels: labels.map(|label| label.name).collect(),
        requested: requests.filter_map(request).collect(),
        reviews,
        comments: comments.filter_map(comment).collect(),
        head_author: account(head_author),
        head_committer: account(head_committer),
        mergeable: mergeable(pull.mergeable.as_deref()),
        merge_state: merge_state(pull.merge_state_status.as_deref()),
        auto_merge_armed: pull.auto_merge_request.is_some(),
        auto_merge_by: pull
            .auto_merge_request
            .and_then(|armed| armed.enabled_by.as_ref().map(login)),
        in_merge_queue: pull.is_in_merge_queue,
        merge_queue: pull.is_merge_queue_enabled,
        auto_merge_allowed: repository.auto_merge_allowed,
        methods: methods(repository),
        settings: settings(pull.base_ref),
    })
}

fn methods(repository: &wire::ProbeRepository) -> Vec<MergeMethod> {
    let allowed = [
        (MergeMethod::Merge, repository.merge_commit_allowed),
        (MergeMethod::Squash, repository.squash_merge_allowed),
        (MergeMethod::Rebase, repository.rebase_merge_allowed),
    ];
    let allowed = allowed.into_iter().filter(|(_, allowed)| *allowed);
    allowed.map(|(method, _)| method).collect()
}

fn settings(base: Option<wire::ProbeBase>) -> FileAt {
    let entry = base.and_then(|base| base.target?.file);
    let Some(entry) = entry else {
        return FileAt::Missing;
    };
    entry.object.map_or(FileAt::Unreadable, FileAt::from)
}

fn request(wire: wire::ProbeRequest) -> Option<Login> {
    let asked = wire.requested_reviewer?;
    let kind = asked.typename.unwrap_or_default();
    Some(Login::from_graphql(&asked.login?, &kind))
}

/// A draft is nobody's word yet.
pub(super) fn review(wire: wire::ProbeReview) -> Option<ProbedReview> {
    let state = match wire.state.as_deref()? {
        "APPROVED" => ReviewState::Approved,
        "CHANGES_REQUESTED" => ReviewState::ChangesRequested,
        "COMMENTED" => ReviewState::Commented,
        "DISMISSED" => ReviewState::Dismissed,
        _ => return None,
    };
    Some(ProbedReview {
        id: wire.id()?,
        association: Association::parse(wire.author_association.as_deref().unwrap_or_default()),
        may_write: wire.author_can_push_to_repository,
        own: wire.viewer_did_author,
        edited: wire.editor.is_some() || wire.last_edited_at.is_some(),
        edited_by: wire.editor.as_ref().map(login),
        author: wire.author.as_ref().map(login),
        commit: wire.commit.and_then(|commit| commit.oid.parse().ok()),
        state,
        at: wire.submitted_at.unwrap_or_default(),
        body: wire.body.unwrap_or_default(),
    })
}

fn comment(wire: wire::ProbeComment) -> Option<ProbedComment> {
    Some(ProbedComment {
        id: CommentId(wire.id()?),
        author: wire.author.as_ref().map(login),
        association: Association::parse(wire.author_association.as_deref().unwrap_or_default()),
        at: wire.created_at.unwrap_or_default(),
        edited: wire.last_edited_at.is_some(),
        body: wire.body.unwrap_or_default(),
    })
}

fn mergeable(text: Option<&str>) -> Mergeable {
    match text {
        Some("MERGEABLE") => Mergeable::Mergeable,
        Some("CONFLICTING") => Mergeable::Conflicting,
        _ => Mergeable::Unknown,
    }
}

fn merge_state(text: Option<&str>) -> MergeState {
    match text {
        Some("CLEAN") => MergeState::Clean,
        Some("UNSTABLE") => MergeState::Unstable,
        Some("BLOCKED") => MergeState::Blocked,
        Some("BEHIND") => MergeState::Behind,
        Some("DIRTY") => MergeState::Dirty,
        Some("HAS_HOOKS") => MergeState::HasHooks,
        Some("DRAFT") => MergeState::Draft,
        _ => MergeState::Unknown,
    }
}
