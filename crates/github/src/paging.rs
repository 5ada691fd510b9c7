//! GitHub's `Link` header. Followed rather than counted, because GitHub decides what a page is. Pure.

use http::HeaderMap;
use reqwest::Url;

/// Path and query of the next page. The host is left out on purpose: the token goes where it was going,
/// whatever an answer says.
pub(super) fn next_page(headers: &HeaderMap) -> Option<String> {
    let url = linked(headers, "next")?;
    let query = url
        .query()
        .map(|query| format!("?{query}"))
        .unwrap_or_default();
    Some(format!("{}{query}", url.path()))
}

/// The number of the last page, where there are several and GitHub says so.
pub(super) fn last_page(headers: &HeaderMap) -> Option<usize> {
    let url = linked(headers, "last")?;
    let mut pairs = url.query_pairs();
    let (_, number) = pairs.find(|(name, _)| name == "page")?;
    number.parse().ok()
}

fn linked(headers: &HeaderMap, wanted: &str) -> Option<Url> {
    headers
        .get_all(http::header::LINK)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(links)
        .find(|(_, parameters)| parameters.split(';').any(|one| is(one, wanted)))
        .and_then(|(target, _)| Url::parse(target).ok())
}

/// `<target>; parameters, <target>; parameters`: a comma inside a target separates nothing.
fn links(header: &str) -> impl Iterator<Item = (&str, &str)> {
    header
        .split('<')
        .skip(1)
        .filter_map(|link| link.split_once('>'))
}

fn is(parameter: &str, wanted: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else {
        return false;
    };
    let value = value.trim().trim_end_matches(',').trim().trim_matches('"');
    name.trim().eq_ignore_ascii_case("rel")
        && value
            .split_whitespace()
            .any(|rel| rel.eq_ignore_ascii_case(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(header: &str) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert(http::header::LINK, header.parse().unwrap());
        next_page(&headers)
    }

    fn last(header: &str) -> Option<usize> {
        let mut headers = HeaderMap::new();
        headers.insert(http::header::LINK, header.parse().unwrap());
        last_page(&headers)
    }

    #[test]
    fn the_next_page_is_followed_wherever_it_stands() {
        let header = "<https://api.github.com/repositories/1/pulls/7/files?per_page=100&page=1>; rel=\"prev\", \
            <https://api.github.com/repositories/1/pulls/7/files?per_page=100&page=3>; rel=\"next\", \
            <https://api.github.com/repositories/1/pulls/7/files?per_page=100&page=9>; rel=\"last\"";
        assert_eq!(
            next(header).as_deref(),
            Some("/repositories/1/pulls/7/files?per_page=100&page=3")
        );
        assert_eq!(last(header), Some(9));
        assert_eq!(
            next("<https://x/a?b=c,d>; foo=\"bar\"; rel=next").as_deref(),
            Some("/a?b=c,d")
        );
    }

    #[test]
    fn the_last_page_has_no_next_one() {
        for header in [
            "<https://x/a?page=1>; rel=\"first\"",
            "",
            "rel=\"next\"",
            "<no url>; rel=\"next\"",
            "<https://x/a>",
        ] {
            assert_eq!((next(header), last(header)), (None, None), "{header}");
        }
        assert_eq!(next_page(&HeaderMap::new()), None);
    }
}
