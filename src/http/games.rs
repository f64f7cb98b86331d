//! Playing and looking at games over HTTP.

use actix_web::{
    HttpRequest, HttpResponse, delete, get,
    http::header,
    post, put,
    web::{Data, Json, Path, Query},
};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use utoipa::{IntoParams, ToSchema};
use utoipa_actix_web::service_config::ServiceConfig;

use super::{
    auth::Caller,
    error::{self, ApiError},
    query::{self, List, Page},
    views::{GameView, Instant, ResultName, RoleName, StatusName, VariantName, name_or_closed},
};
use crate::{
    accounts,
    dice::roll,
    events::Events,
    games::{
        self, ActError, Claim, DrawIntent, Ending, Fresh, Game, HotGames, Mover, PlayMoveError, PlyRefusal,
        Turn,
        computer::ComputerPlayer,
        history::{self, Filter},
    },
    ids::{GameId, PlayerId},
    lobby::matchmaker::Matchmaker,
    rules::Role,
    wall_clock::WallClock,
};

/// Adds the operations.
pub fn routes(config: &mut ServiceConfig) {
    config
        .service(list_games)
        .service(show_game)
        .service(list_moves)
        .service(export_game)
        .service(play_move)
        .service(offer_draw)
        .service(clear_draw_offer)
        .service(resign)
        .service(abort)
        .service(claim_game)
        .service(take_seat)
        .service(offer_rematch)
        .service(withdraw_rematch);
}

impl From<PlayMoveError> for ApiError {
    fn from(err: PlayMoveError) -> ApiError {
        match err {
            PlayMoveError::NoSuchGame => no_such_game(),
            PlayMoveError::Refused(refusal) => refusal.into(),
            PlayMoveError::Busy => ApiError::unavailable(100),
            PlayMoveError::Database(err) => err.into(),
        }
    }
}

impl From<PlyRefusal> for ApiError {
    fn from(refusal: PlyRefusal) -> ApiError {
        match refusal {
            PlyRefusal::NotAPlayer => ApiError::of(error::NOT_A_PLAYER),
            PlyRefusal::Conflict(ply) => {
                let detail =
                    format!("{ply} plies are played; read the game and play ply {}", u32::from(ply) + 1);
                ApiError::new(error::PLY_CONFLICT, detail).ply(ply)
            }
            PlyRefusal::GameOver(ending) => over(ending),
            PlyRefusal::TimeUp(fall) => over(Ending::FlagFell(fall.role)),
            PlyRefusal::NotYourTurn => ApiError::of(error::NOT_YOUR_TURN),
            PlyRefusal::SeatTaken => ApiError::of(error::SEAT_TAKEN),
            PlyRefusal::Illegal(illegal, legal_moves) => {
                ApiError::new(error::ILLEGAL_MOVE, illegal).legal_moves(legal_moves)
            }
        }
    }
}

impl From<ActError> for ApiError {
    fn from(err: ActError) -> ApiError {
        match err {
            ActError::NoSuchGame => no_such_game(),
            ActError::NotAPlayer => ApiError::of(error::NOT_A_PLAYER),
            ActError::GameOver(ending) => over(ending),
            ActError::TimeUp(fall) => over(Ending::FlagFell(fall.role)),
            ActError::GameNotOver => ApiError::of(error::GAME_NOT_OVER),
            ActError::NoDrawOffer => ApiError::of(error::NO_DRAW_OFFER),
            ActError::OfferTooSoon { ply } => ApiError::of(error::DRAW_OFFER_TOO_SOON).ply(ply),
            ActError::TooLateToAbort => ApiError::of(error::TOO_LATE_TO_ABORT),
            ActError::NothingToClaim => ApiError::of(error::NOTHING_TO_CLAIM),
            ActError::OpponentIsHere { claimable_at } => {
                ApiError::of(error::OPPONENT_IS_HERE).until(claimable_at)
            }
            ActError::RematchExists(game) => ApiError::of(error::REMATCH_EXISTS).game(game),
            ActError::AlreadyPlaying(_) => ApiError::new(
                error::ALREADY_PLAYING,
                "one of the two players is in another live rated game; try again when it is over",
            ),
            ActError::Busy => ApiError::unavailable(100),
            ActError::Database(err) => err.into(),
        }
    }
}

/// Says why the game is over where that may be news.
fn over(ending: Ending) -> ApiError {
    match ending {
        Ending::FlagFell(role) => {
            let detail = format!("the {role} ran out of time, so the game is over: read it for its result");
            ApiError::new(error::GAME_OVER, detail)
        }
        Ending::Aborted => ApiError::new(
            error::GAME_OVER,
            "the game was aborted, by a player or because one did not make their first move in time",
        ),
        _ => ApiError::of(error::GAME_OVER),
    }
}

fn no_such_game() -> ApiError {
    ApiError::new(error::NOT_FOUND, "no game has this id")
}

/// Shows a game
///
/// Everything needed to play and to draw it, in one snapshot. Carries an ETag: poll with `If-None-Match` and be
/// answered 304 until something happens or a side leaves or returns. Time that passes is nothing that happens: count down to `clock.deadline`.
/// A game in which time has run out is ended before it is shown.
#[utoipa::path(
    tag = "Games", operation_id = "showGame",
    params(("game_id" = GameId, Path, description = "The game's id")),
    responses(
        (status = 200, description = "The game", body = GameView, headers(("etag" = String, description = "Changes when the game does"))),
        (status = 304, description = "Nothing has happened since the ETag sent"),
    ),
    security(()),
)]
#[get("/v1/games/{game_id}")]
async fn show_game(
    request: HttpRequest,
    id: Path<GameId>,
    db: Data<PgPool>,
    events: Data<Events>,
    clock: Data<WallClock>,
) -> Result<HttpResponse, ApiError> {
    let now = clock.now();
    let game = games::find(&db, &events, now, *id).await?.ok_or_else(no_such_game)?;
    let name = |role: Role| game.seats[role].username.as_deref().unwrap_or_default();
    let names = Role::ALL.map(name).join(".");
    let rated = u8::from(game.rating_changes.is_some());
    let away = Role::ALL.into_iter().filter(|role| game.away_since(*role, now).is_some());
    let away: String = away.map(|role| role.to_string()).collect();
    let etag = format!("\"{}-{names}-{rated}-{away}\"", game.last_event);
    if query::has_etag(&request, &etag) {
        return Ok(HttpResponse::NotModified().insert_header((header::ETAG, etag)).finish());
    }
    Ok(HttpResponse::Ok().insert_header((header::ETAG, etag)).json(GameView::of(&game, now)))
}

/// A move.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"move": "b1-c1"}))]
struct MoveRequest {
    /// One of `legal_moves`: `b1-c1` for a step, `b4xd2xd4` for a leap that goes on.
    #[serde(rename = "move")]
    #[schema(example = "b1-c1", max_length = 80)]
    text: String,
}

/// Plays a move
///
/// Plays ply number `ply`, which is the game's `ply` + 1. Sending the same move to the same ply again is safe: it
/// answers 200 with the game, whoever lost the first answer, and even when that move ended the game. A move is
/// acknowledged only when it is committed.
#[utoipa::path(
    tag = "Games", operation_id = "playMove",
    params(("game_id" = GameId, Path, description = "The game's id"), ("ply" = u16, Path, description = "The ply to play, from 1")),
    request_body = MoveRequest,
    responses(
        (status = 201, description = "The move is played; the game after it", body = GameView),
        (status = 200, description = "The move stood already; the game as it is now", body = GameView),
    ),
    security(("bearer" = [])),
    extensions(("x-problems" = json!(["not-a-player", "not-your-turn", "ply-conflict", "game-over", "seat-taken", "illegal-move"]))),
)]
#[put("/v1/games/{game_id}/moves/{ply}")]
#[expect(clippy::too_many_arguments, reason = "a handler takes what it extracts")]
async fn play_move(
    caller: Caller,
    path: Path<(GameId, u16)>,
    body: Json<MoveRequest>,
    db: Data<PgPool>,
    hot: Data<HotGames>,
    computer: Data<ComputerPlayer>,
    events: Data<Events>,
    clock: Data<WallClock>,
) -> Result<HttpResponse, ApiError> {
    let now = clock.now();
    let (id, ply) = path.into_inner();
    let turn = Turn { mover: Mover::Player(caller.0.player), ply, text: &body.text };
    let played = games::play_move(&db, &hot, &events, now, id, turn).await?;
    computer.look_at(&played.game);
    let mut response = if played.is_new { HttpResponse::Created() } else { HttpResponse::Ok() };
    Ok(response.json(GameView::of(&played.game, now)))
}

/// How to put a draw offer.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct DrawOfferQuery {
    /// Only accept the other side's offer; refuse with `no-draw-offer` when none stands, instead of making one.
    #[serde(default)]
    accept_only: bool,
}

/// Offers a draw, or accepts one
///
/// Offers a draw; when the other side's offer stands, accepts it and the game is drawn. Any move clears an offer. After
/// an offer each side moves ten times before the same side can offer another.
#[utoipa::path(
    tag = "Games", operation_id = "offerDraw",
    params(("game_id" = GameId, Path, description = "The game's id"), DrawOfferQuery),
    responses((status = 200, description = "The game with the offer, or drawn", body = GameView)),
    security(("bearer" = [])),
    extensions(("x-problems" = json!(["not-a-player", "game-over", "no-draw-offer", "draw-offer-too-soon"]))),
)]
#[put("/v1/games/{game_id}/draw-offer")]
async fn offer_draw(
    caller: Caller,
    id: Path<GameId>,
    query: Query<DrawOfferQuery>,
    db: Data<PgPool>,
    computer: Data<ComputerPlayer>,
    events: Data<Events>,
    clock: Data<WallClock>,
) -> Result<Json<GameView>, ApiError> {
    let now = clock.now();
    let intent = if query.accept_only { DrawIntent::AcceptOnly } else { DrawIntent::OfferOrAccept };
    let game = games::offer_draw(&db, &events, now, caller.0.player, *id, intent).await?;
    computer.look_at(&game);
    Ok(Json(GameView::of(&game, now)))
}

/// Withdraws or declines a draw offer
///
/// Withdraws one's own offer, or declines the other side's. Without an offer nothing changes.
#[utoipa::path(
    tag = "Games", operation_id = "clearDrawOffer",
    params(("game_id" = GameId, Path, description = "The game's id")),
    responses((status = 200, description = "The game without an offer", body = GameView)),
    security(("bearer" = [])),
    extensions(("x-problems" = json!(["not-a-player", "game-over"]))),
)]
#[delete("/v1/games/{game_id}/draw-offer")]
async fn clear_draw_offer(
    caller: Caller,
    id: Path<GameId>,
    db: Data<PgPool>,
    events: Data<Events>,
    clock: Data<WallClock>,
) -> Result<Json<GameView>, ApiError> {
    let now = clock.now();
    let game = games::clear_draw_offer(&db, &events, now, caller.0.player, *id).await?;
    Ok(Json(GameView::of(&game, now)))
}

/// Resigns
///
/// The other side wins. Resigning again answers the same.
#[utoipa::path(
    tag = "Games", operation_id = "resign",
    params(("game_id" = GameId, Path, description = "The game's id")),
    responses((status = 200, description = "The finished game", body = GameView)),
    security(("bearer" = [])),
    extensions(("x-problems" = json!(["not-a-player", "game-over"]))),
)]
#[post("/v1/games/{game_id}/resignation")]
async fn resign(
    caller: Caller,
    id: Path<GameId>,
    db: Data<PgPool>,
    events: Data<Events>,
    clock: Data<WallClock>,
) -> Result<Json<GameView>, ApiError> {
    let now = clock.now();
    let game = games::resign(&db, &events, now, caller.0.player, *id).await?;
    Ok(Json(GameView::of(&game, now)))
}

/// Aborts a game
///
/// Calls it off before both sides have moved: no result, no rating, and the roles count as not played. Who aborts
/// rated games again and again must wait before joining a pool.
#[utoipa::path(
    tag = "Games", operation_id = "abortGame",
    params(("game_id" = GameId, Path, description = "The game's id")),
    responses((status = 200, description = "The aborted game", body = GameView)),
    security(("bearer" = [])),
    extensions(("x-problems" = json!(["not-a-player", "game-over", "too-late-to-abort"]))),
)]
#[post("/v1/games/{game_id}/abort")]
async fn abort(
    caller: Caller,
    id: Path<GameId>,
    db: Data<PgPool>,
    events: Data<Events>,
    clock: Data<WallClock>,
) -> Result<Json<GameView>, ApiError> {
    let now = clock.now();
    let game = games::abort(&db, &events, now, caller.0.player, *id).await?;
    Ok(Json(GameView::of(&game, now)))
}

/// What to claim.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ClaimedResult {
    /// The game.
    Win,
    /// Half of it.
    Draw,
}

/// A claim.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"result": "win"}))]
struct ClaimRequest {
    result: ClaimedResult,
}

/// Claims a game that the other side has left
///
/// A win or a draw, with the reason `abandonment`, when the other side has shown no sign of life for `drop_after_ms`, a minute in rated games,
/// whoever's turn it is: see `claimable_at` of the game's players. In rated real-time games, and in casual ones with
/// `on_drop` `claim`, once both sides have moved. Claiming the same again answers the same.
#[utoipa::path(
    tag = "Games", operation_id = "claimGame",
    params(("game_id" = GameId, Path, description = "The game's id")),
    request_body = ClaimRequest,
    responses((status = 200, description = "The finished game", body = GameView)),
    security(("bearer" = [])),
    extensions(("x-problems" = json!(["not-a-player", "game-over", "nothing-to-claim", "opponent-is-here"]))),
)]
#[post("/v1/games/{game_id}/claim")]
async fn claim_game(
    caller: Caller,
    id: Path<GameId>,
    body: Json<ClaimRequest>,
    db: Data<PgPool>,
    events: Data<Events>,
    clock: Data<WallClock>,
    matchmaker: Data<Matchmaker>,
) -> Result<Json<GameView>, ApiError> {
    let now = clock.now();
    let claim = match body.result {
        ClaimedResult::Win => Claim::Win,
        ClaimedResult::Draw => Claim::Draw,
    };
    // Whoever has come back to this process a moment ago is here.
    matchmaker.note_presence(&db, now).await?;
    let game = games::claim(&db, &events, now, caller.0.player, *id, claim).await?;
    Ok(Json(GameView::of(&game, now)))
}

/// Takes one's seat back
///
/// In a casual game with `on_drop` `computer`, the computer plays on for a side that has shown no sign of life for
/// `drop_after_ms` while the other side is there: its `controller` is `computer` then. This puts the player back at once. In
/// one's own seat nothing changes.
#[utoipa::path(
    tag = "Games", operation_id = "takeSeat",
    params(("game_id" = GameId, Path, description = "The game's id")),
    responses((status = 200, description = "The game, with you in your seat", body = GameView)),
    security(("bearer" = [])),
    extensions(("x-problems" = json!(["not-a-player", "game-over"]))),
)]
#[post("/v1/games/{game_id}/seat")]
async fn take_seat(
    caller: Caller,
    id: Path<GameId>,
    db: Data<PgPool>,
    events: Data<Events>,
    clock: Data<WallClock>,
) -> Result<Json<GameView>, ApiError> {
    let now = clock.now();
    let game = games::take_seat(&db, &events, now, caller.0.player, *id).await?;
    Ok(Json(GameView::of(&game, now)))
}

/// Asks for a rematch
///
/// When both players have asked, the rematch exists (in a real-time game a wish counts while its player is there), with the roles swapped where that house rule is on:
/// `rematch.game` is its id.
#[utoipa::path(
    tag = "Games", operation_id = "offerRematch",
    params(("game_id" = GameId, Path, description = "The game's id")),
    responses((status = 200, description = "The old game; the rematch is in it when both have asked", body = GameView)),
    security(("bearer" = [])),
    extensions(("x-problems" = json!(["not-a-player", "game-not-over", "already-playing"]))),
)]
#[put("/v1/games/{game_id}/rematch")]
async fn offer_rematch(
    caller: Caller,
    id: Path<GameId>,
    db: Data<PgPool>,
    computer: Data<ComputerPlayer>,
    events: Data<Events>,
    clock: Data<WallClock>,
) -> Result<Json<GameView>, ApiError> {
    let now = clock.now();
    let fresh = Fresh { id: GameId::new(now, roll()), seed: roll() };
    let game = games::offer_rematch(&db, &events, now, caller.0.player, *id, fresh).await?;
    computer.look_at(&game);
    Ok(Json(GameView::of(&game, now)))
}

/// Takes back the wish for a rematch
#[utoipa::path(
    tag = "Games", operation_id = "withdrawRematch",
    params(("game_id" = GameId, Path, description = "The game's id")),
    responses((status = 200, description = "The game without the wish", body = GameView)),
    security(("bearer" = [])),
    extensions(("x-problems" = json!(["not-a-player", "game-not-over", "rematch-exists"]))),
)]
#[delete("/v1/games/{game_id}/rematch")]
async fn withdraw_rematch(
    caller: Caller,
    id: Path<GameId>,
    db: Data<PgPool>,
    events: Data<Events>,
    clock: Data<WallClock>,
) -> Result<Json<GameView>, ApiError> {
    let now = clock.now();
    let game = games::withdraw_rematch(&db, &events, now, caller.0.player, *id).await?;
    Ok(Json(GameView::of(&game, now)))
}

/// One played move.
#[derive(Serialize, ToSchema)]
struct MoveView {
    /// Its ply, from 1.
    #[schema(example = 1)]
    ply: i16,
    /// Whose move it was.
    role: RoleName,
    /// The move.
    #[serde(rename = "move")]
    #[schema(example = "b1-b2")]
    text: String,
    /// When it was played.
    at: Instant,
    /// What the mover had left after it, an increment included; null in a game without a clock.
    #[schema(required = true, example = 27110)]
    remaining_ms: Option<i64>,
}

/// Lists the moves of a game
///
/// All moves in order, with the time of each.
#[utoipa::path(
    tag = "Games", operation_id = "listMoves",
    params(("game_id" = GameId, Path, description = "The game's id")),
    responses((status = 200, description = "The moves", body = List<MoveView>)),
    security(()),
)]
#[get("/v1/games/{game_id}/moves")]
async fn list_moves(
    id: Path<GameId>,
    db: Data<PgPool>,
    events: Data<Events>,
    clock: Data<WallClock>,
) -> Result<Json<List<MoveView>>, ApiError> {
    let game = games::find(&db, &events, clock.now(), *id).await?.ok_or_else(no_such_game)?;
    let rows = games::moves(&db, &game).await?;
    let view = |row: games::MoveRow| MoveView {
        ply: row.ply,
        role: if row.ply % 2 == 1 { RoleName::Hounds } else { RoleName::Hare },
        text: row.text,
        at: row.at.into(),
        remaining_ms: row.remaining_ms,
    };
    Ok(Json(List { items: rows.into_iter().map(view).collect(), next: None }))
}

/// Exports a game
///
/// As JSON, or with `Accept: text/plain` as text in the manner of PGN: tags in brackets, then numbered moves and the
/// result (1-0 when the pack won, 0-1 when the hare won, 1/2-1/2, or * for none).
#[utoipa::path(
    tag = "Games", operation_id = "exportGame",
    params(("game_id" = GameId, Path, description = "The game's id")),
    responses((status = 200, description = "The game", content(
        (GameView = "application/json"),
        (String = "text/plain", example = "[Variant \"hare-and-hounds\"]\n[Result \"1-0\"]\n\n1. b1-b2 e2-d2 1-0\n"),
    ))),
    security(()),
)]
#[get("/v1/games/{game_id}/export")]
async fn export_game(
    request: HttpRequest,
    id: Path<GameId>,
    db: Data<PgPool>,
    events: Data<Events>,
    clock: Data<WallClock>,
) -> Result<HttpResponse, ApiError> {
    let now = clock.now();
    let game = games::find(&db, &events, now, *id).await?.ok_or_else(no_such_game)?;
    if query::accepts(&request, "text/plain") {
        Ok(HttpResponse::Ok().content_type("text/plain; charset=utf-8").body(as_text(&game)))
    } else {
        Ok(HttpResponse::Ok().json(GameView::of(&game, now)))
    }
}

/// A game as text in the manner of PGN.
fn as_text(game: &Game) -> String {
    use std::fmt::Write;

    let ending = game.ended.map(|(ending, _)| ending);
    let result = match ending.and_then(|ending| ending.result()) {
        Some(crate::rules::GameResult::Hounds) => "1-0",
        Some(crate::rules::GameResult::Hare) => "0-1",
        Some(crate::rules::GameResult::Draw) => "1/2-1/2",
        None => "*",
    };
    let mut text = String::new();
    let name = |role: Role| name_or_closed(game.seats[role].username.clone());
    let mut tag = |key: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "[{key} \"{value}\"]");
    };
    tag("Game", &game.id.to_string());
    tag("Date", &game.created_at.format("%Y.%m.%d").to_string());
    tag("Variant", &game.variant().to_string());
    tag("Rules", &games::house_rules::to_text(&game.play.rules()));
    tag("Rated", if game.rated { "yes" } else { "no" });
    tag("Hounds", &name(Role::Hounds));
    tag("Hare", &name(Role::Hare));
    tag("Start", &game.play.start().to_string());
    tag("Result", result);
    if let Some(ending) = ending {
        tag("Reason", &ending.reason());
    }
    text.push('\n');
    for (number, pair) in game.moves.chunks(2).enumerate() {
        let _ = write!(text, "{}. {} ", number + 1, pair.join(" "));
    }
    text.push_str(result);
    text.push('\n');
    text
}

/// Which games are wanted.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct GamesQuery {
    /// A player's name: games of this player.
    player: Option<String>,
    /// A player's name: games of `player` against this one.
    opponent: Option<String>,
    /// Which game is played.
    #[param(inline)]
    variant: Option<VariantName>,
    /// A pool's id.
    pool: Option<String>,
    /// The role of `player`.
    #[param(inline)]
    role: Option<RoleName>,
    /// Who won.
    #[param(inline)]
    result: Option<ResultName>,
    /// Why they ended.
    reason: Option<String>,
    /// Only rated games, or only casual ones.
    rated: Option<bool>,
    /// Whether they go on.
    #[param(inline)]
    status: Option<StatusName>,
    /// Only games made at this instant or later (RFC 3339).
    since: Option<DateTime<Utc>>,
    /// Only games made before this instant (RFC 3339).
    until: Option<DateTime<Utc>>,
    /// How many, 1 to 200 (default 50).
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u16>,
    /// `next` of the page before.
    cursor: Option<String>,
}

/// Lists games
///
/// Newest first. With `Accept: application/x-ndjson`, all that fit the filters, one a line, `limit` and `cursor`
/// aside.
#[utoipa::path(
    tag = "Games", operation_id = "listGames",
    params(GamesQuery),
    responses((status = 200, description = "A page of games", content(
        (List<GameView> = "application/json"),
        (String = "application/x-ndjson", example = "{\"id\": \"0199f3a0-5c1e-7b3a-9d2e-6a1f0c4b8e21\", …}\n"),
    ))),
    security(()),
    extensions(("x-problems" = json!(["invalid-fields"]))),
)]
#[get("/v1/games")]
async fn list_games(
    request: HttpRequest,
    query: Query<GamesQuery>,
    db: Data<PgPool>,
    clock: Data<WallClock>,
) -> Result<HttpResponse, ApiError> {
    let query = query.into_inner();
    let page = Page { limit: query.limit, cursor: query.cursor.clone() };
    let (limit, before) = (page.limit()?, page.after::<GameId>()?);
    let filter = filter(&db, query).await?;
    let now = clock.now();
    if query::accepts(&request, "application/x-ndjson") {
        let lines = query::ndjson(move |before: Option<GameId>| {
            let (db, filter) = (db.clone(), filter.clone());
            async move {
                let games = history::list(&db, &filter, before, 200).await?;
                let next = (games.len() == 200).then(|| games.last().map(|game| game.id)).flatten();
                Ok((games.iter().map(|game| GameView::of(game, now)).collect(), next))
            }
        });
        return Ok(HttpResponse::Ok().content_type("application/x-ndjson").streaming(lines));
    }
    let games = history::list(&db, &filter, before, limit + 1).await?;
    let shown = games.iter().take(usize::try_from(limit).unwrap_or(usize::MAX));
    let items: Vec<GameView> = shown.map(|game| GameView::of(game, now)).collect();
    let next = if games.len() > items.len() { items.last().map(|game| game.id().to_string()) } else { None };
    Ok(query::list_response(&request, List { items, next }))
}

async fn filter(db: &PgPool, query: GamesQuery) -> Result<Filter, ApiError> {
    if query.player.is_none() && (query.opponent.is_some() || query.role.is_some()) {
        return Err(ApiError::invalid_field("/player", "is needed beside opponent and role"));
    }
    let status = query.status.map(|status| match status {
        StatusName::Ongoing => "ongoing".to_owned(),
        StatusName::Finished => "finished".to_owned(),
        StatusName::Aborted => "aborted".to_owned(),
    });
    Ok(Filter {
        player: named(db, "/player", query.player).await?,
        opponent: named(db, "/opponent", query.opponent).await?,
        variant: query.variant.map(Into::into),
        pool: query.pool,
        role: query.role.map(Into::into),
        result: query.result.map(Into::into),
        reason: query.reason,
        rated: query.rated,
        status,
        since: query.since,
        until: query.until,
    })
}

async fn named(db: &PgPool, pointer: &str, name: Option<String>) -> Result<Option<PlayerId>, ApiError> {
    let Some(name) = name else { return Ok(None) };
    let found = accounts::find_player(db, &name).await?;
    let player = found.ok_or_else(|| ApiError::invalid_field(pointer, "nobody has this username"))?;
    Ok(Some(player.player_id))
}
