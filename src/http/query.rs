//! What endpoints have in common in how they are asked and how they answer: pages, ETags, Idempotency-Keys.

use std::{future::Future, str::FromStr};

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{ACCEPT, CACHE_CONTROL, ETAG, IF_NONE_MATCH, LINK},
    web::Bytes,
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use futures_util::{Stream, stream};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::{IntoParams, ToSchema};

use super::error::{self, ApiError};

const DEFAULT_LIMIT: u16 = 50;
const GREATEST_LIMIT: u16 = 200;
const IDEMPOTENCY_KEY_CHARS: usize = 64;

/// Which page of a list is wanted.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Page {
    /// How many items at most
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub limit: Option<u16>,
    /// Where to go on: `next` of the page before
    pub cursor: Option<String>,
}

impl Page {
    /// How many items are wanted.
    ///
    /// # Errors
    ///
    /// When it is not 1 to 200.
    pub fn limit(&self) -> Result<i64, ApiError> {
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT);
        if (1..=GREATEST_LIMIT).contains(&limit) {
            Ok(limit.into())
        } else {
            Err(ApiError::new(error::MALFORMED_REQUEST, "limit must be 1 to 200"))
        }
    }

    /// After what the page begins.
    ///
    /// # Errors
    ///
    /// When the cursor is not one that a page has told.
    pub fn after<T: FromStr>(&self) -> Result<Option<T>, ApiError> {
        let refused = |_| {
            ApiError::new(error::MALFORMED_REQUEST, "cursor must be 'next' of the page before, unchanged")
        };
        self.cursor.as_deref().map(|cursor| cursor.parse::<T>().map_err(refused)).transpose()
    }
}

/// One page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct List<T: ToSchema> {
    /// The items of this page.
    pub items: Vec<T>,
    /// The `cursor` of the next page; null at the end.
    pub next: Option<String>,
}

/// Answers one page, and links to the next.
pub fn list_response<T: Serialize + ToSchema>(request: &HttpRequest, list: List<T>) -> HttpResponse {
    let mut response = HttpResponse::Ok();
    if let Some(next) = &list.next {
        let link = format!("<{}>; rel=\"next\"", next_page(request, next));
        response.insert_header((LINK, link));
    }
    response.json(list)
}

/// The same question, for the page that begins at this cursor.
fn next_page(request: &HttpRequest, cursor: &str) -> String {
    let same =
        request.query_string().split('&').filter(|pair| !pair.is_empty() && !pair.starts_with("cursor="));
    let cursor = format!("cursor={}", percent_encoded(cursor));
    let query = same.chain([cursor.as_str()]).collect::<Vec<_>>().join("&");
    format!("{}?{query}", request.path())
}

fn percent_encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

/// Answers something that is polled: with an ETag, and 304 to whoever has it already. Caches must ask again
/// each time.
pub fn etag_response(request: &HttpRequest, view: &impl Serialize) -> HttpResponse {
    with_etag(request, view, "no-cache")
}

/// Answers something that never changes while this program runs: with an ETag, and good for an hour.
pub fn static_response(request: &HttpRequest, view: &impl Serialize) -> HttpResponse {
    with_etag(request, view, "public, max-age=3600")
}

/// Answers something that never changes at all: with an ETag, and good for a week.
pub fn lasting_response(request: &HttpRequest, view: &impl Serialize) -> HttpResponse {
    with_etag(request, view, "public, max-age=604800")
}

fn with_etag(request: &HttpRequest, view: &impl Serialize, cache_control: &'static str) -> HttpResponse {
    let body = match serde_json::to_string(view) {
        Ok(body) => body,
        Err(err) => return HttpResponse::from_error(ApiError::internal(err)),
    };
    bytes_response(request, "application/json", body.into(), cache_control)
}

/// Answers ready-made content with an ETag.
pub fn bytes_response(
    request: &HttpRequest,
    content_type: &'static str,
    body: actix_web::web::Bytes,
    cache_control: &'static str,
) -> HttpResponse {
    let digest = Sha256::digest(&body);
    let etag = format!("\"{}\"", BASE64_URL_SAFE_NO_PAD.encode(&digest[..16]));
    if has_etag(request, &etag) {
        return HttpResponse::NotModified()
            .insert_header((ETAG, etag))
            .insert_header((CACHE_CONTROL, cache_control))
            .finish();
    }
    HttpResponse::Ok()
        .insert_header((ETAG, etag))
        .insert_header((CACHE_CONTROL, cache_control))
        .content_type(content_type)
        .body(body)
}

/// Whether If-None-Match names this ETag. The comparison is the weak one, as RFC 9110 has it for this header.
pub fn has_etag(request: &HttpRequest, etag: &str) -> bool {
    let fields = request.headers().get_all(IF_NONE_MATCH).filter_map(|value| value.to_str().ok());
    fields
        .flat_map(|field| field.split(','))
        .map(str::trim)
        .any(|candidate| candidate == "*" || candidate.strip_prefix("W/").unwrap_or(candidate) == etag)
}

/// What makes a repeated request known as one: its Idempotency-Key and a hash of its body. None without a key.
///
/// # Errors
///
/// When the key is malformed.
pub fn repeatable(
    request: &HttpRequest,
    body: &impl Serialize,
) -> Result<Option<(String, Vec<u8>)>, ApiError> {
    let Some(key) = idempotency_key(request)? else { return Ok(None) };
    let body = serde_json::to_vec(body).map_err(ApiError::internal)?;
    Ok(Some((key, Sha256::digest(body).to_vec())))
}

/// The request's Idempotency-Key, if it has one.
///
/// # Errors
///
/// When it is not 1 to 64 visible ASCII characters, or there is more than one.
pub fn idempotency_key(request: &HttpRequest) -> Result<Option<String>, ApiError> {
    let mut keys = request.headers().get_all("idempotency-key");
    let Some(key) = keys.next() else { return Ok(None) };
    let visible = key.to_str().ok().filter(|text| {
        (1..=IDEMPOTENCY_KEY_CHARS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
    });
    match (visible, keys.next()) {
        (Some(text), None) => Ok(Some(text.to_owned())),
        _ => Err(ApiError::new(
            error::MALFORMED_REQUEST,
            "the Idempotency-Key must be 1 to 64 visible ASCII characters, and there may be one only",
        )),
    }
}

/// Whether the client asks for this type by name.
pub fn accepts(request: &HttpRequest, media_type: &str) -> bool {
    let fields = request.headers().get_all(ACCEPT).filter_map(|value| value.to_str().ok());
    fields
        .flat_map(|field| field.split(','))
        .any(|part| part.split(';').next().is_some_and(|name| name.trim().eq_ignore_ascii_case(media_type)))
}

/// A body of one JSON object a line, fetched page by page, so that its length costs no memory. `page` is asked for
/// what comes after a cursor and answers it with the next cursor.
///
/// A failure midway cuts the body off: the client sees that it is not whole.
pub fn ndjson<T, C, F, P>(page: P) -> impl Stream<Item = Result<Bytes, actix_web::Error>>
where
    T: Serialize,
    P: Fn(Option<C>) -> F,
    F: Future<Output = Result<(Vec<T>, Option<C>), ApiError>>,
{
    stream::unfold((page, Some(None)), |(page, cursor)| async move {
        let cursor = cursor?;
        match page(cursor).await.and_then(|(items, next)| Ok((lines(&items)?, next))) {
            Ok((lines, next)) => Some((Ok(lines), (page, next.map(Some)))),
            Err(err) => Some((Err(err.into()), (page, None))),
        }
    })
}

fn lines<T: Serialize>(items: &[T]) -> Result<Bytes, ApiError> {
    let mut lines = Vec::new();
    for item in items {
        serde_json::to_writer(&mut lines, item).map_err(ApiError::internal)?;
        lines.push(b'\n');
    }
    Ok(lines.into())
}
