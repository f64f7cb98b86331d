//! What the operator asks, and what a reader of the documentation asks.

use std::{
    sync::{Arc, LazyLock, OnceLock},
    time::Duration,
};

use actix_web::{
    HttpRequest, HttpResponse, get,
    http::header::{CACHE_CONTROL, CONTENT_ENCODING, LOCATION},
    web::{self, Bytes, Data, Path},
};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use serde::Serialize;
use sqlx::PgPool;
use utoipa::ToSchema;
use utoipa_actix_web::service_config::ServiceConfig;
use utoipa_swagger_ui::Config as DocsConfig;

use super::{
    document,
    error::{self, ApiError, Problem},
    query::{self, List},
};
use crate::{db, events::Events};

/// How long the database may take to answer before the service is called unready.
const READY_WITHIN: Duration = Duration::from_secs(1);

/// Bounds of the buckets, in seconds, that request times are counted in.
const BUCKETS: &[f64] = &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Adds the operations.
pub fn routes(cfg: &mut ServiceConfig<'_>) {
    cfg.service(healthz)
        .service(readyz)
        .service(show_metrics)
        .service(show_openapi)
        .service(list_problems)
        .service(show_problem);
}

/// Adds the readable reference, whose pages are not operations.
pub fn pages(cfg: &mut web::ServiceConfig) {
    cfg.service(
        web::resource("/docs").route(web::get().to(docs_front)).default_service(web::to(docs_are_read)),
    )
    .service(
        web::resource("/docs/{file:.*}")
            .route(web::get().to(docs_file))
            .default_service(web::to(docs_are_read)),
    );
}

/// The keeper of the process's numbers, installed at the first call.
pub fn recorder() -> &'static PrometheusHandle {
    static RECORDER: OnceLock<PrometheusHandle> = OnceLock::new();
    RECORDER.get_or_init(|| {
        let recorder = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Full("leveret_request_seconds".to_owned()), BUCKETS)
            .and_then(|builder| {
                builder.set_buckets_for_metric(
                    Matcher::Full("leveret_event_delivery_seconds".to_owned()),
                    BUCKETS,
                )
            })
            .expect("there are buckets")
            .build_recorder();
        let handle = recorder.handle();
        // Only another recorder can stand in the way, and this is the only place that installs one.
        if metrics::set_global_recorder(recorder).is_err() {
            tracing::warn!("another recorder of metrics was there first; /metrics stays empty");
        }
        metrics::describe_histogram!(
            "leveret_request_seconds",
            metrics::Unit::Seconds,
            "How long requests took, by method, route and status"
        );
        metrics::describe_histogram!(
            "leveret_event_delivery_seconds",
            metrics::Unit::Seconds,
            "How old events were when they were handed to a stream"
        );
        metrics::describe_gauge!("leveret_streams_open", "Streams and waiting polls");
        metrics::describe_counter!(
            "leveret_streams_cut_total",
            "Streams whose reader took nothing for too long"
        );
        metrics::describe_counter!("leveret_events_sent_total", "Events handed to streams and polls");
        metrics::describe_counter!("leveret_notices_sent_total", "Notices to other processes");
        metrics::describe_counter!("leveret_notices_received_total", "Notices of other processes");
        metrics::describe_counter!("leveret_bus_reconnects_total", "How often the bus was lost");
        metrics::describe_gauge!("leveret_db_connections", "Connections to the database, by state");
        metrics::describe_gauge!(
            "leveret_solver_progress_ratio",
            "How much of the usual table of Catch the Hare is made, 1 when it is there"
        );
        metrics::describe_gauge!("leveret_solver_tables", "Tables of Catch the Hare that are in use");
        handle
    })
}

/// Says that all is well.
#[derive(Serialize, ToSchema)]
struct StatusView {
    /// Always `ok`.
    #[schema(example = "ok")]
    status: &'static str,
}

const OK: StatusView = StatusView { status: "ok" };

/// Is the process alive?
///
/// Asks nothing of the database.
#[utoipa::path(
    operation_id = "healthz",
    tag = "Operations",
    responses((status = 200, description = "It is", body = StatusView)),
    security(()),
)]
#[get("/healthz")]
async fn healthz() -> HttpResponse {
    HttpResponse::Ok().insert_header((CACHE_CONTROL, "no-store")).json(OK)
}

/// Can it serve?
///
/// Whether the database answers within a second and has all migrations that this program needs, and whether the bus
/// between the processes answers.
#[utoipa::path(
    operation_id = "readyz",
    tag = "Operations",
    responses((status = 200, description = "It can", body = StatusView)),
    security(()),
)]
#[get("/readyz")]
async fn readyz(db: Data<PgPool>, events: Data<Events>) -> Result<HttpResponse, ApiError> {
    let missing = match tokio::time::timeout(READY_WITHIN, missing_migrations(&db)).await {
        Ok(missing) => missing.map_err(not_ready)?,
        Err(_) => return Err(not_ready("the database does not answer within a second")),
    };
    if missing > 0 {
        return Err(not_ready(format!("{missing} migrations are missing; run 'leveret migrate'")));
    }
    if !events.outbox().bus_answers() {
        return Err(not_ready("the bus between the processes does not answer"));
    }
    Ok(HttpResponse::Ok().insert_header((CACHE_CONTROL, "no-store")).json(OK))
}

fn not_ready(cause: impl std::fmt::Display) -> ApiError {
    tracing::warn!(%cause, "not ready");
    ApiError::unavailable(1000)
}

/// How many migrations of this program the database lacks.
async fn missing_migrations(db: &PgPool) -> Result<usize, sqlx::Error> {
    let applied: Vec<i64> =
        sqlx::query_scalar("select version from _sqlx_migrations where success").fetch_all(db).await?;
    let needed = db::MIGRATOR.iter().filter(|migration| !migration.migration_type.is_down_migration());
    Ok(needed.filter(|migration| !applied.contains(&migration.version)).count())
}

/// Numbers for Prometheus
#[utoipa::path(
    operation_id = "showMetrics",
    tag = "Operations",
    responses((status = 200, description = "The numbers in Prometheus' text format", body = String,
        content_type = "text/plain")),
    security(()),
)]
#[get("/metrics")]
async fn show_metrics(db: Data<PgPool>) -> HttpResponse {
    let idle = u32::try_from(db.num_idle()).unwrap_or(u32::MAX);
    metrics::gauge!("leveret_db_connections", "state" => "idle").set(idle);
    metrics::gauge!("leveret_db_connections", "state" => "busy").set(db.size().saturating_sub(idle));
    HttpResponse::Ok()
        .insert_header((CACHE_CONTROL, "no-store"))
        .content_type("text/plain; version=0.0.4; charset=utf-8")
        .body(recorder().render())
}

/// This document
///
/// The OpenAPI document of the service, from which clients can be generated.
#[utoipa::path(
    operation_id = "showOpenapi",
    tag = "Operations",
    responses(
        (status = 200, description = "The document", body = serde_json::Value),
        (status = 304, description = "It is what you have"),
    ),
    security(()),
)]
#[get("/openapi.json")]
async fn show_openapi(request: HttpRequest) -> HttpResponse {
    static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| document::json().into());
    query::bytes_response(&request, "application/json", DOCUMENT.clone(), "no-cache")
}

/// An entry of the catalogue of problems.
#[derive(Serialize, ToSchema)]
struct ProblemTypeView {
    /// The `type` of the problem documents that it is about.
    #[serde(rename = "type")]
    #[schema(example = "/problems/illegal-move")]
    kind: String,
    /// What happened.
    #[schema(example = "The rules forbid this move")]
    title: &'static str,
    /// The HTTP status that it is sent with.
    #[schema(example = 422)]
    status: u16,
    /// What it means and what to do about it.
    #[schema(example = "'legal_moves' lists the moves that are allowed now, written as they must be sent.")]
    explanation: &'static str,
}

impl From<&Problem> for ProblemTypeView {
    fn from(problem: &Problem) -> ProblemTypeView {
        ProblemTypeView {
            kind: format!("/problems/{}", problem.name),
            title: problem.title,
            status: problem.status,
            explanation: problem.explanation,
        }
    }
}

/// List the problems
///
/// Every type of problem that the service answers, on one page.
#[utoipa::path(
    operation_id = "listProblems",
    tag = "Operations",
    responses(
        (status = 200, description = "The catalogue", body = List<ProblemTypeView>),
        (status = 304, description = "It is what you have"),
    ),
    security(()),
)]
#[get("/problems")]
async fn list_problems(request: HttpRequest) -> HttpResponse {
    let items = error::PROBLEMS.iter().map(|problem| ProblemTypeView::from(*problem)).collect();
    query::static_response(&request, &List { items, next: None })
}

/// Explain a problem
#[utoipa::path(
    operation_id = "showProblem",
    tag = "Operations",
    params(("name" = String, Path, description = "The last part of the problem's type", example = "illegal-move")),
    responses(
        (status = 200, description = "What it means and what to do", body = ProblemTypeView),
        (status = 304, description = "It is what you have"),
    ),
    security(()),
)]
#[get("/problems/{name}")]
async fn show_problem(request: HttpRequest, name: Path<String>) -> Result<HttpResponse, ApiError> {
    let known = error::PROBLEMS.iter().find(|problem| problem.name == *name);
    let problem = known.ok_or_else(|| ApiError::new(error::NOT_FOUND, "no problem has this name"))?;
    Ok(query::static_response(&request, &ProblemTypeView::from(*problem)))
}

/// The page's own links are relative, so its address must end in a slash.
async fn docs_front() -> HttpResponse {
    HttpResponse::PermanentRedirect().insert_header((LOCATION, "/docs/")).finish()
}

/// A file of the readable reference, out of this program.
async fn docs_file(file: Path<String>) -> Result<HttpResponse, ApiError> {
    static CONFIG: LazyLock<Arc<DocsConfig<'static>>> = LazyLock::new(|| {
        // Without "none", the page would ask a validator in the internet about this service.
        let config = DocsConfig::from("/openapi.json").validator_url("none").doc_expansion("list");
        Arc::new(config.default_models_expand_depth(0))
    });
    let found = utoipa_swagger_ui::serve(&file, CONFIG.clone()).map_err(ApiError::internal)?;
    let found =
        found.ok_or_else(|| ApiError::new(error::NOT_FOUND, format!("nothing is at /docs/{file}")))?;
    let mut response = HttpResponse::Ok();
    if found.gzpipped {
        response.insert_header((CONTENT_ENCODING, "gzip"));
    }
    Ok(response.content_type(found.content_type).body(found.bytes.into_owned()))
}

async fn docs_are_read() -> Result<HttpResponse, ApiError> {
    Err(ApiError::of(error::METHOD_NOT_ALLOWED).allow("GET, HEAD".to_owned()))
}
