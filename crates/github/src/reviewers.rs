//! Asks people for their review. GitHub refuses a request as a whole if one of the people cannot be asked, so who needs
//! no request is found out first, and who cannot be asked afterwards.

use super::client::GitHub;
use super::error::ApiError;
use super::exchange::Call;
use reviewer_core::domain::{CommitSha, Login, PrKey};
use serde_json::json;

/// The result of the request to one person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewRequest {
    /// By this call.
    Requested,
    /// Before this call.
    AlreadyRequested,
    /// The person has reviewed this head.
    AlreadyReviewed,
    /// Nobody reviews a pull request of their own.
    Author,
    /// The account has no access to the repository, or there is none of this name.
    NoAccess,
    Refused {
        message: String,
    },
}

impl GitHub {
    /// Asks for a review of this head, and says for each login, in the order given, what became of it.
    pub async fn request_reviewers(
        &self,
        key: &PrKey,
        head: &CommitSha,
        logins: &[Login],
    ) -> Result<Vec<(Login, ReviewRequest)>, ApiError> {
        let author = self.pull_request(key).await?.author;
        let requested = self.requested_reviewers(key).await?;
        let reviews = self.reviews(key).await?;
        let needless = |login: &Login| {
            if author.as_ref() == Some(login) {
                return Some(ReviewRequest::Author);
            }
            if requested.iter().any(|one| Login::new(one) == *login) {
                return Some(ReviewRequest::AlreadyRequested);
            }
            let reviewed = reviews.iter().any(|review| {
                let counts = !matches!(review.state.as_str(), "PENDING" | "DISMISSED");
                counts
                    && review.author.as_ref() == Some(login)
                    && review.commit.as_ref() == Some(head)
            });
            reviewed.then_some(ReviewRequest::AlreadyReviewed)
        };
        let mut outcomes: Vec<(Login, Option<ReviewRequest>)> = logins
            .iter()
            .map(|login| (login.clone(), needless(login)))
            .collect();
        let open: Vec<Login> = outcomes
            .iter()
            .filter(|(_, outcome)| outcome.is_none())
            .map(|(login, _)| login.clone())
            .collect();
        let mut asked = self.ask(key, &open).await?.into_iter();
        for (_, outcome) in outcomes.iter_mut().filter(|(_, outcome)| outcome.is_none()) {
            *outcome = asked.next();
        }
        let told = |(login, outcome): (Login, Option<ReviewRequest>)| Some((login, outcome?));
        Ok(outcomes.into_iter().filter_map(told).collect())
    }

    /// All at once; each alone where GitHub refuses them together.
    async fn ask(&self, key: &PrKey, logins: &[Login]) -> Result<Vec<ReviewRequest>, ApiError> {
        if logins.is_empty() {
            return Ok(Vec::new());
        }
        match self.send_request(key, logins).await {
            Ok(()) => return Ok(vec![ReviewRequest::Requested; logins.len()]),
            Err(ApiError::Unprocessable { message, .. }) if logins.len() == 1 => {
                return Ok(vec![refused(message)]);
            }
            Err(ApiError::Unprocessable { .. }) => {}
            Err(error) => return Err(error),
        }
        let mut outcomes = Vec::with_capacity(logins.len());
        for login in logins {
            outcomes.push(
                match self.send_request(key, std::slice::from_ref(login)).await {
                    Ok(()) => ReviewRequest::Requested,
                    Err(ApiError::Unprocessable { message, .. }) => refused(message),
                    Err(error) => return Err(error),
                },
            );
        }
        Ok(outcomes)
    }

    async fn send_request(&self, key: &PrKey, logins: &[Login]) -> Result<(), ApiError> {
        let route = format!(
            "/repos/{}/pulls/{}/requested_reviewers",
            key.repo, key.number
        );
        let names: Vec<&str> = logins.iter().map(Login::as_str).collect();
        let call = Call::post("request a review", route, json!({ "reviewers": names }));
        self.done(call.repeatable()).await
    }
}

fn refused(message: String) -> ReviewRequest {
    let said = message.to_ascii_lowercase();
    if said.contains("author") {
        ReviewRequest::Author
    } else if said.contains("collaborator") || said.contains("could not resolve to a node") {
        ReviewRequest::NoAccess
    } else {
        ReviewRequest::Refused { message }
    }
}
