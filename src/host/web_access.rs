//! Gives a run its access to the web, if it was asked for.

use super::{Failure, Setup};
use reviewer_core::config::Config;
use reviewer_system::outbound;
use reviewer_text::fence::Fence;
use reviewer_web::Web;
use reviewer_web::fetch::Fetcher;
use reviewer_web::search::Search;
use std::sync::Arc;

/// `None`: the web is not asked, and its tools do not exist.
pub(crate) fn access(
    setup: &Setup,
    config: &Config,
    fence: &Fence,
) -> Result<Option<Arc<Web>>, Failure> {
    let Some(choice) = &config.web else {
        return Ok(None);
    };
    let network = &setup.environment.network;
    let search = Search::new(
        choice.search_url.as_deref(),
        choice.search_key.clone(),
        network,
    )
    .map_err(Failure::new)?;
    let fetcher = (!outbound::is_proxied(network)).then(Fetcher::public);
    if fetcher.is_none() {
        setup.actions.warning(
            "Behind a proxy the reviewer can search the web but not fetch pages: the proxy would choose the address \
             that is reached, and only public ones are.",
        );
    }
    Ok(Some(Arc::new(Web::new(search, fetcher, fence.clone()))))
}
