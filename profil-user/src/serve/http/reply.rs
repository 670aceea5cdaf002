//! Answers, as they go out: with the headers that keep browsers from making more of them than they are.

use std::io::Write as _;

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http_body_util::Full;
use hyper::{
    HeaderMap, StatusCode,
    header::{
        ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
        HeaderName, HeaderValue, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
    },
};

use super::refusal::Refusal;
use crate::serve::Response;

pub(super) type Reply = hyper::Response<Full<Bytes>>;

/// Whatever is shown comes from here, and nobody else may show it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Bodies of text up to so many bytes are not worth packing.
const SMALL: usize = 1024;

/// Bodies from so many bytes on are packed on another thread: a few milliseconds each.
const LARGE: usize = 256 << 10;

/// The answer of a site. `packed` is whether who asked can unpack gzip.
pub(super) async fn of_response(response: Response, packed: bool) -> Reply {
    let Response {
        status,
        content_type,
        headers,
        body,
    } = response;
    let mut map = HeaderMap::new();
    let code = StatusCode::from_u16(status.code());
    let mut is_sound = code.is_ok();
    for (name, value) in headers
        .iter()
        .map(|(name, value)| (*name, &value[..]))
        .chain([(CONTENT_TYPE.as_str(), content_type)])
    {
        let name = HeaderName::from_bytes(name.as_bytes());
        match (name, HeaderValue::from_str(value)) {
            (Ok(name), Ok(value)) => {
                map.append(name, value);
            }
            _ => is_sound = false,
        }
    }
    if !is_sound {
        let why = "the answer has a header that cannot be sent; please report this";
        return of_refusal(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, why));
    }
    let mut body = body;
    if is_text(content_type) && body.len() > SMALL && !map.contains_key(CONTENT_ENCODING) {
        map.append(VARY, HeaderValue::from_static("accept-encoding"));
        if packed && let Some(small) = pack(&body).await {
            body = small;
            map.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
    }
    reply(code.unwrap_or_default(), map, body)
}

/// The answer of the server itself.
pub(super) fn of_refusal(refusal: Refusal) -> Reply {
    let mut map = HeaderMap::new();
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    map.insert(CONTENT_TYPE, plain);
    if let Some((name, value)) = refusal.header
        && let Ok(value) = HeaderValue::from_str(&value)
    {
        map.insert(name, value);
    }
    reply(refusal.code, map, format!("{}\n", refusal.why).into())
}

fn reply(code: StatusCode, mut map: HeaderMap, body: Bytes) -> Reply {
    let resource_policy = HeaderName::from_static("cross-origin-resource-policy");
    for (name, value) in [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (resource_policy, "same-origin"),
    ] {
        map.insert(name, HeaderValue::from_static(value));
    }
    let cache = map.entry(CACHE_CONTROL);
    cache.or_insert(HeaderValue::from_static("no-store"));
    let mut reply = hyper::Response::new(Full::new(body));
    *reply.status_mut() = code;
    *reply.headers_mut() = map;
    reply
}

/// Whether a media type is worth packing.
fn is_text(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    kind.starts_with("text/")
        || matches!(
            kind,
            "application/json"
                | "application/javascript"
                | "application/openmetrics-text"
                | "image/svg+xml"
        )
}

/// Packs a body, if that works.
async fn pack(body: &Bytes) -> Option<Bytes> {
    if body.len() < LARGE {
        return gzip(body);
    }
    let body = body.clone();
    tokio::task::spawn_blocking(move || gzip(&body))
        .await
        .ok()?
}

fn gzip(body: &[u8]) -> Option<Bytes> {
    let mut packer = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::fast());
    packer.write_all(body).ok()?;
    Some(packer.finish().ok()?.into())
}

/// Whether a client can unpack gzip (RFC 9110, 12.5.3).
pub(super) fn takes_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter();
    let items = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    let mut any = None;
    for item in items {
        let (coding, weight) = item.split_once(';').unwrap_or((item, "q=1"));
        let weight = weight
            .trim()
            .strip_prefix("q=")
            .and_then(|weight| weight.parse::<f32>().ok());
        let takes = weight.is_none_or(|weight| weight > 0.0);
        match coding.trim() {
            coding if coding.eq_ignore_ascii_case("gzip") => return takes,
            "*" => any = Some(takes),
            _ => {}
        }
    }
    any.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use hyper::{HeaderMap, header::ACCEPT_ENCODING};

    use super::takes_gzip;

    #[test]
    fn who_takes_gzip() {
        for (accepted, wanted) in [
            ("gzip", true),
            ("gzip, deflate, br", true),
            ("br;q=1.0, GZIP;q=0.8", true),
            ("*", true),
            ("*;q=0", false),
            ("gzip;q=0", false),
            ("gzip;q=0.000, *", false),
            ("identity", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, accepted.parse().unwrap());
            assert_eq!(takes_gzip(&headers), wanted, "{accepted}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }
}
