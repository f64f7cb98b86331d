//! What is done to every request and answer: HEAD, request ids, problem documents, crashes, budgets, numbers.

use std::{panic::AssertUnwindSafe, time::Instant};

use actix_web::{
    Error, HttpMessage, HttpResponse, ResponseError,
    body::{BodySize, BoxBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::{
        Method, StatusCode,
        header::{HeaderName, HeaderValue},
    },
    middleware::Next,
    web::Data,
};
use futures_util::FutureExt;
use tracing_actix_web::{RequestId, RootSpanBuilder};

use super::{
    auth::{self, Identity},
    error::{self, ApiError},
    limits::Limits,
};
use crate::lobby::presence::Presence;

/// Gives every answer its request id, and every failure its problem document.
///
/// # Errors
///
/// Where no answer could be made because the request is gone with what failed: an error that is a whole answer.
pub async fn finish(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let begun = Instant::now();
    let request_id = request.extensions().get::<RequestId>().map_or_else(String::new, ToString::to_string);
    let asked = request.method().clone();
    // A HEAD is answered as its GET; the server leaves the body away.
    if asked == Method::HEAD {
        request.head_mut().method = Method::GET;
    }

    let outcome = AssertUnwindSafe(next.call(request)).catch_unwind().await;
    let response = match outcome {
        Ok(Ok(response)) => response.map_into_boxed_body(),
        Ok(Err(err)) => return Err(Unrouted::new(&err, request_id).into()),
        Err(_) => {
            tracing::error!("a handler panicked");
            return Err(Unrouted { problem: ApiError::of(error::INTERNAL), request_id }.into());
        }
    };

    let problem = response.response().extensions().get::<ApiError>().cloned();
    let mut response = match problem {
        Some(problem) => {
            let (request, plain) = response.into_parts();
            let mut whole = problem.render(&request_id);
            for (name, value) in plain.headers() {
                whole.headers_mut().append(name.clone(), value.clone());
            }
            ServiceResponse::new(request, whole)
        }
        None => response,
    };
    // A stream that nobody will read is not begun.
    if asked == Method::HEAD && matches!(response.response().body().size(), BodySize::Stream) {
        response = response.map_body(|_, _| BoxBody::new(()));
    }
    if let Ok(id) = HeaderValue::from_str(&request_id) {
        response.headers_mut().insert(HeaderName::from_static("x-request-id"), id);
    }
    count(&response, &asked, begun);
    Ok(response)
}

/// A failure that has lost its request, with all that its answer needs.
#[derive(Debug, thiserror::Error)]
#[error("{problem}")]
struct Unrouted {
    problem: ApiError,
    request_id: String,
}

impl Unrouted {
    fn new(err: &Error, request_id: String) -> Unrouted {
        let problem = err.as_error::<ApiError>().cloned().unwrap_or_else(|| ApiError::internal(err));
        Unrouted { problem, request_id }
    }
}

impl ResponseError for Unrouted {
    fn status_code(&self) -> StatusCode {
        self.problem.status_code()
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = self.problem.clone().render(&self.request_id);
        if let Ok(id) = HeaderValue::from_str(&self.request_id) {
            response.headers_mut().insert(HeaderName::from_static("x-request-id"), id);
        }
        response
    }
}

fn count(response: &ServiceResponse, method: &Method, begun: Instant) {
    let route = response.request().match_pattern().unwrap_or_else(|| "none".to_owned());
    let labels =
        [("method", method.to_string()), ("route", route), ("status", response.status().as_str().to_owned())];
    metrics::histogram!("leveret_request_seconds", &labels).record(begun.elapsed().as_secs_f64());
}

/// Finds out who asks, takes the request out of its budget, and notes that its player is there.
///
/// # Errors
///
/// Those of what comes after it.
pub async fn admit(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let identity = auth::identify(&request);
    if let Identity::Player(claimant) = identity {
        tracing::Span::current().record("player", tracing::field::display(claimant.player));
        if let Some(presence) = request.app_data::<Data<Presence>>() {
            presence.note(claimant.player);
        }
    }
    if request.path().contains("%00") {
        let nothing = ApiError::new(error::NOT_FOUND, "nothing here has a name with a NUL in it");
        return Ok(request.error_response(nothing).map_into_right_body());
    }
    let headers = match request.app_data::<Data<Limits>>() {
        Some(limits) => match limits.take(&request, identity) {
            Ok(headers) => headers,
            Err(refusal) => return Ok(request.error_response(refusal).map_into_right_body()),
        },
        None => None,
    };
    let mut response = next.call(request).await?.map_into_left_body();
    if let Some(headers) = headers {
        headers.write(response.headers_mut());
    }
    Ok(response)
}

/// One span a request, one line at its end. What is read and what is played is told at the level debug: the
/// game's own log has every move.
pub struct RequestSpan;

impl RootSpanBuilder for RequestSpan {
    fn on_request_start(request: &ServiceRequest) -> tracing::Span {
        let id = request.extensions().get::<RequestId>().map_or_else(String::new, ToString::to_string);
        tracing::info_span!(
            "request",
            request_id = %id,
            method = %request.method(),
            path = %request.path(),
            player = tracing::field::Empty,
        )
    }

    fn on_request_end<B: MessageBody>(span: tracing::Span, outcome: &Result<ServiceResponse<B>, Error>) {
        let Ok(response) = outcome else { return };
        let status = response.status();
        let request = response.request();
        let quiet = request.method() == Method::GET || request.path().contains("/moves/");
        span.in_scope(|| {
            let status_code = status.as_u16();
            if status.is_server_error() && status != StatusCode::SERVICE_UNAVAILABLE {
                tracing::error!(status = status_code, "answered");
            } else if quiet {
                tracing::debug!(status = status_code, "answered");
            } else {
                tracing::info!(status = status_code, "answered");
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use actix_web::{App, middleware::from_fn, test, web};
    use tracing_actix_web::TracingLogger;

    use super::*;

    async fn crash() -> HttpResponse {
        panic!("a handler crashes")
    }

    #[actix_web::test]
    async fn a_crash_in_a_handler_is_a_problem_with_a_request_id() {
        let app = App::new()
            .route("/crash", web::get().to(crash))
            .wrap(from_fn(finish))
            .wrap(TracingLogger::<RequestSpan>::new());
        let app = test::init_service(app).await;

        let outcome = test::try_call_service(&app, test::TestRequest::get().uri("/crash").to_request()).await;

        let Err(err) = outcome else { panic!("a crash is answered by its error") };
        let response = err.error_response();
        assert_eq!(response.status(), 500);
        assert_eq!(response.headers().get("content-type").expect("a type"), "application/problem+json");
        assert!(response.headers().contains_key("x-request-id"));
    }
}
