//! What lists, exports and polling have in common: pages, cursors, ETags, NDJSON, idempotency keys.

use std::{fmt::Write, future::Future, str::FromStr};

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{self, HeaderValue},
    web::Bytes,
};
use futures_util::{Stream, stream};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::{IntoParams, ToSchema};

use super::error::{self, ApiError};

const DEFAULT_LIMIT: i64 = 50;
const MOST: i64 = 200;

/// Which part of a list is wanted.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Page {
    /// How many, 1 to 200 (default 50).
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub limit: Option<u16>,
    /// `next` of the page before.
    pub cursor: Option<String>,
}

impl Page {
    /// How many are wanted.
    ///
    /// # Errors
    ///
    /// When it is not from 1 to 200.
    pub fn limit(&self) -> Result<i64, ApiError> {
        match self.limit.map_or(DEFAULT_LIMIT, i64::from) {
            limit @ 1..=MOST => Ok(limit),
            _ => Err(ApiError::new(error::MALFORMED_REQUEST, "limit must be from 1 to 200")),
        }
    }

    /// After what the page begins.
    ///
    /// # Errors
    ///
    /// When the cursor is not one that a page has told.
    pub fn after<T: FromStr>(&self) -> Result<Option<T>, ApiError> {
        let refused =
            |_| ApiError::new(error::MALFORMED_REQUEST, "cursor must be 'next' of the page before, unchanged");
        self.cursor.as_deref().map(|cursor| cursor.parse::<T>().map_err(refused)).transpose()
    }
}

/// A page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct List<T> {
    /// What is on this page.
    pub items: Vec<T>,
    /// The cursor of the next page; null on the last one.
    #[schema(required = true)]
    pub next: Option<String>,
}

/// Answers a page, with the address of the next one in the Link header.
pub fn list_response<T: Serialize>(request: &HttpRequest, list: List<T>) -> HttpResponse {
    let mut response = HttpResponse::Ok();
    if let Some(next) = &list.next {
        let kept = request.query_string().split('&').filter(|part| !part.is_empty() && !part.starts_with("cursor="));
        let query: String = kept.fold(String::new(), |query, part| query + part + "&");
        response.insert_header((header::LINK, format!("<{}?{query}cursor={next}>; rel=\"next\"", request.path())));
    }
    response.json(list)
}

/// Whether the client has what this ETag stands for.
pub fn has_etag(request: &HttpRequest, etag: &str) -> bool {
    let Some(known) = request.headers().get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok()) else {
        return false;
    };
    known.split(',').map(str::trim).any(|known| known == "*" || known.trim_start_matches("W/") == etag)
}

/// Answers something that seldom changes, with an ETag over its text.
pub fn etag_response<T: Serialize>(request: &HttpRequest, max_age_s: u32, shown: &T) -> HttpResponse {
    let Ok(body) = serde_json::to_vec(shown) else {
        return actix_web::ResponseError::error_response(&ApiError::of(error::INTERNAL));
    };
    let mut etag = String::from("\"");
    for byte in &Sha256::digest(&body)[..12] {
        // Writing to a string cannot fail.
        let _ = write!(etag, "{byte:02x}");
    }
    etag.push('"');
    let mut response = if has_etag(request, &etag) { HttpResponse::NotModified() } else { HttpResponse::Ok() };
    response.insert_header((header::ETAG, etag.as_str()));
    response.insert_header((header::CACHE_CONTROL, format!("public, max-age={max_age_s}")));
    if has_etag(request, &etag) { response.finish() } else { response.content_type("application/json").body(body) }
}

/// Whether the client asks for this type by name.
pub fn accepts(request: &HttpRequest, media_type: &str) -> bool {
    let accept = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("");
    accept.split(',').any(|part| part.split(';').next().is_some_and(|name| name.trim() == media_type))
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
        let chunk = match page(cursor).await {
            Ok((items, next)) => {
                let mut lines = Vec::new();
                for item in &items {
                    if let Err(err) = serde_json::to_writer(&mut lines, item) {
                        return Some((Err(ApiError::internal(err).into()), (page, None)));
                    }
                    lines.push(b'\n');
                }
                (Ok(Bytes::from(lines)), (page, next.map(Some)))
            }
            Err(err) => (Err(err.into()), (page, None)),
        };
        Some(chunk)
    })
}

/// The Idempotency-Key header.
///
/// # Errors
///
/// When it is not 1 to 64 printable ASCII characters.
pub fn idempotency_key(request: &HttpRequest) -> Result<Option<String>, ApiError> {
    let Some(value) = request.headers().get("idempotency-key") else { return Ok(None) };
    let readable = |value: &HeaderValue| {
        let text = value.to_str().ok()?;
        let fits = (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        fits.then(|| text.to_owned())
    };
    let refused =
        || ApiError::new(error::MALFORMED_REQUEST, "Idempotency-Key must be 1 to 64 printable ASCII characters");
    readable(value).map(Some).ok_or_else(refused)
}
