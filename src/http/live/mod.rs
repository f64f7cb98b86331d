//! Watching: the logs of games and players, as a stream of events or by long poll.
//!
//! A stream never holds anybody up: it has a mark to look at and no queue, it is asked for its next piece only when
//! the socket has taken the last one, and a socket that takes nothing is cut by the kernel ([`limit_stalling`]).

mod follow;
mod render;
mod slots;
mod stalling;

use std::time::Duration;

use actix_web::{
    HttpRequest, HttpResponse, get,
    http::header::{CACHE_CONTROL, HeaderName},
    web::{Data, Path, Query},
};
use futures_util::{StreamExt, stream};
use serde::Deserialize;
use sqlx::PgPool;
use tokio::time::{Instant, sleep_until};
use utoipa::IntoParams;
use utoipa_actix_web::service_config::ServiceConfig;

pub use self::{follow::Live, slots::Slots, stalling::limit_stalling};
use self::{
    follow::{Beginning, Follower},
    render::{GameEventsView, PlayerEventsView},
    slots::Holder,
};
use super::{
    accounts::client_address,
    auth::{Caller, MaybeCaller},
    error::{self, ApiError},
    query,
};
use crate::{accounts::access::Claimant, events::Topic, ids::GameId};

/// How long a poll may wait.
const LONGEST_WAIT_MS: u32 = 30_000;

/// Adds the operations.
pub fn routes(config: &mut ServiceConfig) {
    config.service(watch_game).service(watch_me);
}

/// Where to go on, and how long to wait.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct WatchQuery {
    /// The number of the last event that you have: those after it are wanted. The header `Last-Event-ID` says the same
    /// and goes before.
    #[param(minimum = 0, example = 7)]
    after: Option<u32>,
    /// Only for a poll: how many milliseconds to wait for an event, 0 to 30000 (default 0).
    #[param(minimum = 0, maximum = 30000, default = 0)]
    wait_ms: Option<u32>,
}

impl WatchQuery {
    /// The number to go on from: by the header, which browsers send by themselves when they come back.
    fn after(&self, request: &HttpRequest) -> Option<i32> {
        let header = request.headers().get("last-event-id").and_then(|value| value.to_str().ok());
        let asked = self.after.map(|after| i32::try_from(after).unwrap_or(i32::MAX));
        header.and_then(|text| text.trim().parse().ok()).or(asked)
    }

    fn wait(&self) -> Result<Duration, ApiError> {
        match self.wait_ms.unwrap_or(0) {
            ms @ 0..=LONGEST_WAIT_MS => Ok(Duration::from_millis(ms.into())),
            _ => Err(ApiError::new(error::MALFORMED_REQUEST, "wait_ms must be 0 to 30000")),
        }
    }
}

/// Watches a game
///
/// The game's log, numbered from 1 without a gap, as Server-Sent Events: `id` is the number, `event` the kind, `data` a
/// `GameEvent`. An event is never shown before what it says is committed, and none is left out. To go on after a break,
/// say `Last-Event-ID` or `after`; without either, or with a number that the log does not have, the first event is
/// `snapshot`: the whole `Game`, with the number of the last event as its `id`.
///
/// Every 10 seconds comes a `heartbeat` without an `id`: `{server_now, last}`, where `last` is the number of the last
/// event sent. After `ended` the stream stays open for 5 minutes, for a rematch; it ends with the event `end` (do not
/// come back), at once after `rematch_accepted`. When the server stops, or the session ends whose token was sent, the
/// last event is `goodbye` (come back after `retry_ms`) or `end`. Whoever comes back to a game that is over and has
/// all of it is answered 204, which ends an `EventSource`.
///
/// With `Accept: application/json` it is a poll over the same numbers: answered as soon as there is an event after
/// `after`, or with no items when `wait_ms` are over or the game is; without `after`, at once with the snapshot.
#[utoipa::path(
    tag = "Watching", operation_id = "watchGame",
    params(("game_id" = GameId, Path, description = "The game's id"),
        ("Last-Event-ID" = Option<i32>, Header, description = "The number of the last event that you have"), WatchQuery),
    responses(
        (status = 200, description = "The events", content(
            (String = "text/event-stream", example = "id: 2\nevent: move\ndata: {\"number\": 2, \"kind\": \"move\", …}\n\n"),
            (GameEventsView = "application/json"),
        )),
        (status = 204, description = "The game is over and you have all of it"),
    ),
    security((), ("bearer" = [])),
    extensions(("x-problems" = json!(["too-many-streams"]))),
)]
#[get("/v1/games/{game_id}/events")]
async fn watch_game(
    caller: MaybeCaller,
    request: HttpRequest,
    id: Path<GameId>,
    query: Query<WatchQuery>,
    db: Data<PgPool>,
    live: Data<Live>,
    slots: Data<Slots>,
) -> Result<HttpResponse, ApiError> {
    watch(&request, &query, Topic::Game(*id), caller.0, db, &live, &slots).await
}

/// Watches what concerns you
///
/// Your own log, numbered from 1 without a gap, as Server-Sent Events, in every respect as that of a game: `data` is a
/// `PlayerEvent`, and the snapshot a `PlayerSnapshot` of your games, your ticket and your challenges. What happens
/// while the snapshot is made is in it and may be told once more. Events are kept for 30 days; whoever asks for older
/// ones is sent a snapshot first.
///
/// An open stream is a sign of life: a ticket does not lapse meanwhile. The stream outlives its access token, but not
/// its session.
#[utoipa::path(
    tag = "Watching", operation_id = "watchMe",
    params(("Last-Event-ID" = Option<i32>, Header, description = "The number of the last event that you have"), WatchQuery),
    responses((status = 200, description = "The events", content(
        (String = "text/event-stream", example = "id: 42\nevent: your_turn\ndata: {\"number\": 42, \"kind\": \"your_turn\", …}\n\n"),
        (PlayerEventsView = "application/json"),
    ))),
    security(("bearer" = [])),
    extensions(("x-problems" = json!(["too-many-streams"]))),
)]
#[get("/v1/me/events")]
async fn watch_me(
    caller: Caller,
    request: HttpRequest,
    query: Query<WatchQuery>,
    db: Data<PgPool>,
    live: Data<Live>,
    slots: Data<Slots>,
) -> Result<HttpResponse, ApiError> {
    let topic = Topic::Player(caller.0.player);
    watch(&request, &query, topic, Some(caller.0), db, &live, &slots).await
}

async fn watch(
    request: &HttpRequest,
    query: &WatchQuery,
    topic: Topic,
    claimant: Option<Claimant>,
    db: Data<PgPool>,
    live: &Live,
    slots: &Slots,
) -> Result<HttpResponse, ApiError> {
    let wait = query.wait()?;
    let holder = match claimant {
        Some(claimant) => Holder::Player(claimant.player),
        None => Holder::Address(client_address(request)),
    };
    let slot = slots.take(holder)?;
    let after = query.after(request);
    let (follower, beginning) = Follower::begin(live.clone(), db, topic, claimant, slot, after).await?;
    if query::accepts(request, "application/json") {
        poll(follower, beginning, wait, live).await
    } else if follower.is_over() && beginning.is_empty() {
        Ok(HttpResponse::NoContent().finish())
    } else {
        Ok(event_stream(follower, &beginning))
    }
}

/// Answers with what there is, or as soon as there is something.
async fn poll(
    mut follower: Follower,
    beginning: Beginning,
    wait: Duration,
    live: &Live,
) -> Result<HttpResponse, ApiError> {
    let Beginning { snapshot, mut entries } = beginning;
    let until = Instant::now() + wait;
    let mut waits = snapshot.is_none() && !wait.is_zero();
    while waits && entries.is_empty() && !follower.is_over() && !follower.is_closing() {
        if follower.has_lost_its_session() {
            return Err(ApiError::of(error::TOKEN_INVALID));
        }
        waits = tokio::select! {
            _ = follower.wake() => true,
            () = sleep_until(until) => false,
        };
        entries = follower.catch_up().await;
    }
    let page = render::page(snapshot.as_deref(), &entries, follower.last(), live.clock.now());
    Ok(HttpResponse::Ok()
        .insert_header((CACHE_CONTROL, "no-store"))
        .content_type("application/json")
        .body(page))
}

/// A body without an end, until the follower makes one.
fn event_stream(mut follower: Follower, beginning: &Beginning) -> HttpResponse {
    let first = follower.first_chunk(beginning);
    let rest = stream::unfold(follower, Follower::next_chunk);
    HttpResponse::Ok()
        .insert_header((CACHE_CONTROL, "no-store"))
        .insert_header((HeaderName::from_static("x-accel-buffering"), "no"))
        .content_type("text/event-stream")
        .streaming(stream::iter([Ok(first)]).chain(rest))
}
