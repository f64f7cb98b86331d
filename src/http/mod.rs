//! The HTTP API: every route in one list, and the document that is made from it.
//!
//! A handler extracts, makes one call into the domain, and shows the answer. What every request has in
//! common is in [`finish`]; what a failure looks like is in [`error`].

pub mod accounts;
pub mod analysis;
pub mod auth;
pub mod clock_view;
pub mod computer;
pub mod document;
pub mod error;
pub mod finish;
pub mod games;
pub mod guests;
pub mod limits;
pub mod live;
pub mod lobby;
pub mod operations;
pub mod players;
pub mod query;
pub mod variants;
pub mod views;

use std::sync::LazyLock;

use actix_web::{
    HttpRequest, HttpResponse,
    dev::ResourceDef,
    error::{JsonPayloadError, PathError, QueryPayloadError},
    web,
};
use utoipa_actix_web::service_config::ServiceConfig;

use self::error::ApiError;

/// Bodies are read up to this many bytes.
pub const BODY_LIMIT: usize = 16 * 1024;

/// Every route.
pub fn routes(config: &mut ServiceConfig) {
    config
        .configure(accounts::routes)
        .configure(guests::routes)
        .configure(variants::routes)
        .configure(lobby::routes)
        .configure(games::routes)
        .configure(computer::routes)
        .configure(analysis::routes)
        .configure(live::routes)
        .configure(players::routes)
        .configure(operations::routes);
}

/// What reads bodies, paths and queries, and what answers where nothing is.
pub fn defaults(config: &mut web::ServiceConfig) {
    config
        .app_data(web::JsonConfig::default().limit(BODY_LIMIT).error_handler(|err, _| bad_body(&err).into()))
        .app_data(web::PathConfig::default().error_handler(|err, _| bad_path(&err).into()))
        .app_data(web::QueryConfig::default().error_handler(|err, _| bad_query(&err).into()))
        .default_service(web::to(nothing_here));
}

fn bad_body(err: &JsonPayloadError) -> ApiError {
    match err {
        JsonPayloadError::OverflowKnownLength { .. } | JsonPayloadError::Overflow { .. } => {
            ApiError::of(error::PAYLOAD_TOO_LARGE)
        }
        JsonPayloadError::ContentType => ApiError::of(error::UNSUPPORTED_MEDIA_TYPE),
        JsonPayloadError::Deserialize(err) => {
            ApiError::new(error::MALFORMED_REQUEST, format!("the body is not what is expected: {err}"))
        }
        err => ApiError::new(error::MALFORMED_REQUEST, format!("the body cannot be read: {err}")),
    }
}

/// An id that is none names nothing, so a path that does not fit is a 404.
fn bad_path(err: &PathError) -> ApiError {
    ApiError::new(error::NOT_FOUND, format!("the address has a part of the wrong form: {err}"))
}

fn bad_query(err: &QueryPayloadError) -> ApiError {
    ApiError::new(error::MALFORMED_REQUEST, format!("the query is not what is expected: {err}"))
}

/// The documented routes, for telling a wrong method from a wrong address.
static KNOWN: LazyLock<Vec<(ResourceDef, String)>> = LazyLock::new(|| {
    let paths = document::openapi().paths.paths.into_iter();
    paths.map(|(path, item)| (ResourceDef::new(path), document::methods(&item).join(", "))).collect()
});

async fn nothing_here(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let allowed = KNOWN.iter().find(|(pattern, _)| pattern.is_match(request.path()));
    match allowed {
        Some((_, methods)) if request.method() == actix_web::http::Method::OPTIONS => {
            Ok(HttpResponse::NoContent().insert_header(("allow", methods.as_str())).finish())
        }
        Some((_, methods)) => Err(ApiError::new(
            error::METHOD_NOT_ALLOWED,
            format!("{} takes {methods}, not {}", request.path(), request.method()),
        )
        .allow(methods.clone())),
        None => Err(ApiError::new(error::NOT_FOUND, format!("nothing is at {}", request.path()))),
    }
}
