//! Players, their ratings and records, and the leaderboards over HTTP.

use actix_web::{
    HttpRequest, HttpResponse, get,
    web::{Data, Json, Path, Query},
};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use utoipa::{IntoParams, ToSchema};
use utoipa_actix_web::service_config::ServiceConfig;

use super::{
    error::{self, ApiError},
    query::{self, List, Page},
    views::{BothRoles, Instant, RoleName, VariantName, name_or_closed},
};
use crate::{
    accounts::{self, Player},
    games::{
        analysis::{self, PlayerAccuracy},
        history::{self, Tally},
    },
    ids::{GameId, PlayerId},
    ratings::{
        self,
        history::{Change, PoolRating, PoolRecord},
        leaderboard::{self, After},
    },
    wall_clock::{Timestamp, WallClock},
};

/// Adds the operations.
pub fn routes(config: &mut ServiceConfig) {
    config
        .service(show_player)
        .service(list_ratings)
        .service(rating_history)
        .service(show_stats)
        .service(versus)
        .service(show_leaderboard);
}

async fn named(db: &PgPool, name: &str) -> Result<Player, ApiError> {
    let found = accounts::find_player(db, name).await?;
    found.ok_or_else(|| ApiError::new(error::NOT_FOUND, "no player has this name"))
}

/// A player's rating in one pool, as of now.
#[derive(Debug, Serialize, ToSchema)]
struct RatingView {
    /// The pool.
    #[schema(example = "hare-and-hounds")]
    pool: String,
    /// The rating.
    #[schema(example = 1532.4)]
    rating: f64,
    /// How uncertain it is now: one standard deviation, growing with idle time.
    #[schema(example = 61.3)]
    rd: f64,
    /// How much the player's strength varies.
    #[schema(example = 0.06)]
    volatility: f64,
    /// Whether it is still uncertain (RD of 110 or more).
    provisional: bool,
    /// Rated games with each role.
    games: BothRoles<i32>,
    /// When the last rated game ended.
    last_rated_at: Option<Instant>,
}

impl RatingView {
    fn of(rating: PoolRating, now: Timestamp) -> RatingView {
        let current = rating.stored.as_of(now);
        RatingView {
            pool: rating.pool,
            rating: current.rating,
            rd: current.rd,
            volatility: current.volatility,
            provisional: current.is_provisional(),
            games: rating.stored.games.into(),
            last_rated_at: rating.stored.last_rated_at.map(Instant),
        }
    }
}

/// What a player is owed in a pool.
#[derive(Debug, Serialize, ToSchema)]
struct RoleBalanceView {
    /// The pool.
    #[schema(example = "hare-and-hounds")]
    pool: String,
    /// Rated games with the hounds less rated games with the hare.
    #[schema(example = 1)]
    role_debt: i32,
    /// The role of the last rated game.
    last_role: Option<RoleName>,
}

/// A player.
#[derive(Debug, Serialize, ToSchema)]
struct PlayerView {
    #[schema(example = "moorhen")]
    username: String,
    /// What they say of themselves.
    bio: String,
    /// Whether a program plays.
    bot: bool,
    /// Whether they play without having signed up.
    guest: bool,
    /// Whether the operator has banned them.
    banned: bool,
    created_at: Instant,
    /// Their ratings as of now.
    ratings: Vec<RatingView>,
    /// Which role they are owed, pool by pool.
    roles: Vec<RoleBalanceView>,
}

/// Shows a player
///
/// The profile with ratings as of now and what the player is owed of each role.
#[utoipa::path(
    tag = "Players", operation_id = "showPlayer",
    params(("name" = String, Path, description = "The username, in any case")),
    responses((status = 200, description = "The player", body = PlayerView)),
    security(()),
)]
#[get("/v1/players/{name}")]
async fn show_player(
    name: Path<String>,
    db: Data<PgPool>,
    clock: Data<WallClock>,
) -> Result<Json<PlayerView>, ApiError> {
    let player = named(&db, &name).await?;
    let mut conn = db.acquire().await?;
    let ratings = ratings::history::ratings(&mut conn, player.player_id).await?;
    let roles = history::role_balances(&mut conn, player.player_id).await?;
    let role = |balance: history::RoleBalance| RoleBalanceView {
        pool: balance.pool,
        role_debt: balance.debt,
        last_role: balance.last_role.map(RoleName::from),
    };
    Ok(Json(PlayerView {
        username: player.username,
        bio: player.bio,
        bot: player.is_bot,
        guest: player.is_guest,
        banned: player.banned,
        created_at: player.created_at.into(),
        ratings: ratings.into_iter().map(|rating| RatingView::of(rating, clock.now())).collect(),
        roles: roles.into_iter().map(role).collect(),
    }))
}

/// Lists a player's ratings
///
/// In every pool that they have a rated game in, as of now.
#[utoipa::path(
    tag = "Players", operation_id = "listRatings",
    params(("name" = String, Path, description = "The username, in any case")),
    responses((status = 200, description = "The ratings", body = List<RatingView>)),
    security(()),
)]
#[get("/v1/players/{name}/ratings")]
async fn list_ratings(
    name: Path<String>,
    db: Data<PgPool>,
    clock: Data<WallClock>,
) -> Result<Json<List<RatingView>>, ApiError> {
    let player = named(&db, &name).await?;
    let ratings = ratings::history::ratings(&mut *db.acquire().await?, player.player_id).await?;
    let now = clock.now();
    Ok(Json(List {
        items: ratings.into_iter().map(|rating| RatingView::of(rating, now)).collect(),
        next: None,
    }))
}

/// One change of a rating.
#[derive(Debug, Serialize, ToSchema)]
struct ChangeView {
    /// The game that made it.
    game: GameId,
    /// The role it was played with.
    role: RoleName,
    /// Against whom; `closed` when the account is gone.
    #[schema(example = "coot")]
    opponent: String,
    /// 1 for a win, 0.5 for a draw, 0 for a loss.
    #[schema(example = 1.0)]
    score: f64,
    /// What was expected, 0 to 1.
    #[schema(example = 0.5)]
    expected_score: f64,
    #[schema(example = 1500.0)]
    before: f64,
    #[schema(example = 1662.310894)]
    after: f64,
    #[schema(example = 350.0)]
    rd_before: f64,
    #[schema(example = 290.318964)]
    rd_after: f64,
    /// What the hounds were worth, in rating points.
    #[schema(example = 0.0)]
    role_offset: f64,
    /// The version of the pool's role offset; null before the first was published.
    role_offset_version: Option<i64>,
    /// When the game ended.
    at: Instant,
}

impl From<Change> for ChangeView {
    fn from(change: Change) -> ChangeView {
        ChangeView {
            game: change.game,
            role: change.role.into(),
            opponent: name_or_closed(change.opponent),
            score: change.score,
            expected_score: change.expected_score,
            before: change.before,
            after: change.after,
            rd_before: change.rd_before,
            rd_after: change.rd_after,
            role_offset: change.role_offset,
            role_offset_version: change.role_offset_version,
            at: change.rated_at.into(),
        }
    }
}

/// Shows how a rating came about
///
/// Every rated game of a player in a pool, newest first. With `Accept: application/x-ndjson` all of them, one a
/// line.
#[utoipa::path(
    tag = "Players", operation_id = "ratingHistory",
    params(
        ("name" = String, Path, description = "The username, in any case"),
        ("pool" = String, Path, description = "The pool's id"),
        Page,
    ),
    responses((status = 200, description = "A page of changes", content(
        (List<ChangeView> = "application/json"),
        (String = "application/x-ndjson", example = "{\"game\": \"0199f3a0-5c1e-7b3a-9d2e-6a1f0c4b8e21\", …}\n"),
    ))),
    security(()),
)]
#[get("/v1/players/{name}/ratings/{pool}/history")]
async fn rating_history(
    request: HttpRequest,
    path: Path<(String, String)>,
    page: Query<Page>,
    db: Data<PgPool>,
) -> Result<HttpResponse, ApiError> {
    let (name, pool) = path.into_inner();
    let player = named(&db, &name).await?.player_id;
    let (limit, before) = (page.limit()?, page.after::<i64>()?);
    if query::accepts(&request, "application/x-ndjson") {
        let lines = query::ndjson(move |before: Option<i64>| {
            let (db, pool) = (db.clone(), pool.clone());
            async move {
                let changes = changes(&db, player, &pool, before, 200).await?;
                let next =
                    (changes.len() == 200).then(|| changes.last().map(|change| change.settled)).flatten();
                Ok((changes.into_iter().map(ChangeView::from).collect(), next))
            }
        });
        return Ok(HttpResponse::Ok().content_type("application/x-ndjson").streaming(lines));
    }
    let mut changes = changes(&db, player, &pool, before, limit + 1).await?;
    let more = changes.len() as i64 > limit;
    changes.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    let next = if more { changes.last().map(|change| change.settled.to_string()) } else { None };
    let items: Vec<ChangeView> = changes.into_iter().map(ChangeView::from).collect();
    Ok(query::list_response(&request, List { items, next }))
}

async fn changes(
    db: &PgPool,
    player: PlayerId,
    pool: &str,
    before: Option<i64>,
    limit: i64,
) -> Result<Vec<Change>, ApiError> {
    Ok(ratings::history::history(&mut *db.acquire().await?, player, pool, before, limit).await?)
}

/// Games won, drawn and lost.
#[derive(Clone, Copy, Debug, Default, Serialize, ToSchema)]
struct ScoreView {
    /// Won.
    #[schema(example = 7)]
    wins: i64,
    /// Drawn.
    #[schema(example = 1)]
    draws: i64,
    /// Lost.
    #[schema(example = 4)]
    losses: i64,
}

/// A player's games in one pool, or the casual ones of one variant.
#[derive(Debug, Serialize, ToSchema)]
struct TallyView {
    /// The pool; null for casual games.
    #[schema(example = "hare-and-hounds")]
    pool: Option<String>,
    variant: VariantName,
    /// By the role that the player had.
    by_role: BothRoles<ScoreView>,
}

fn tallies(rows: Vec<Tally>) -> Vec<TallyView> {
    let mut views: Vec<TallyView> = Vec::new();
    for row in rows {
        let variant = VariantName::from(row.variant);
        let same = |view: &TallyView| view.pool == row.pool && view.variant == variant;
        if !views.iter().any(same) {
            let by_role = BothRoles { hounds: ScoreView::default(), hare: ScoreView::default() };
            views.push(TallyView { pool: row.pool.clone(), variant, by_role });
        }
        let Some(view) = views.iter_mut().find(|view| view.pool == row.pool && view.variant == variant)
        else {
            continue;
        };
        let score = ScoreView { wins: row.wins, draws: row.draws, losses: row.losses };
        match row.role.into() {
            RoleName::Hounds => view.by_role.hounds = score,
            RoleName::Hare => view.by_role.hare = score,
        }
    }
    views
}

/// The win against the highest rated opponent.
#[derive(Debug, Serialize, ToSchema)]
struct BestWinView {
    game: GameId,
    /// `closed` when the account is gone.
    #[schema(example = "coot")]
    opponent: String,
    /// The opponent's rating before the game.
    #[schema(example = 1810.2)]
    opponent_rating: f64,
    at: Instant,
}

/// Streaks and bests in one pool.
#[derive(Debug, Serialize, ToSchema)]
struct RecordView {
    /// The pool.
    #[schema(example = "hare-and-hounds")]
    pool: String,
    /// Wins in a row up to now; negative for losses in a row.
    #[schema(example = 3)]
    streak: i64,
    /// The most wins in a row.
    #[schema(example = 8)]
    best_streak: i64,
    /// The highest rating.
    #[schema(example = 1688.1)]
    peak: f64,
    best_win: Option<BestWinView>,
}

impl From<PoolRecord> for RecordView {
    fn from(record: PoolRecord) -> RecordView {
        RecordView {
            pool: record.pool,
            streak: record.streak,
            best_streak: record.best_streak,
            peak: record.peak,
            best_win: record.best_win.map(|win| BestWinView {
                game: win.game,
                opponent: name_or_closed(win.opponent),
                opponent_rating: win.opponent_rating,
                at: win.at.into(),
            }),
        }
    }
}

/// What a player's games add up to.
#[derive(Debug, Serialize, ToSchema)]
struct StatsView {
    #[schema(example = "moorhen")]
    username: String,
    /// Wins, draws and losses by pool and role.
    games: Vec<TallyView>,
    /// Streaks, peak and best win in each pool.
    records: Vec<RecordView>,
    /// How precisely they played, by variant and role, where tables know the rules.
    accuracy: Vec<PrecisionView>,
}

/// How precisely a player played one variant in one role.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PlayerAccuracy)]
struct PrecisionView {
    variant: VariantName,
    role: RoleName,
    /// 0 to 100: the mean over the finished games, each counted as often as it has choices. Its formula is told with
    /// the analysis of a game.
    #[schema(example = 91.7)]
    accuracy: f64,
    /// In how many games.
    #[schema(example = 12)]
    games: i64,
    /// Over how many moves at which there was a choice.
    #[schema(example = 104)]
    choices: i64,
}

impl From<PlayerAccuracy> for PrecisionView {
    fn from(precision: PlayerAccuracy) -> PrecisionView {
        PrecisionView {
            variant: precision.variant.into(),
            role: precision.role.into(),
            accuracy: precision.accuracy,
            games: precision.games,
            choices: precision.choices,
        }
    }
}

/// Shows what a player's games add up to
#[utoipa::path(
    tag = "Players", operation_id = "showStats",
    params(("name" = String, Path, description = "The username, in any case")),
    responses((status = 200, description = "Wins, draws and losses by role and pool, streaks, best wins", body = StatsView)),
    security(()),
)]
#[get("/v1/players/{name}/stats")]
async fn show_stats(name: Path<String>, db: Data<PgPool>) -> Result<Json<StatsView>, ApiError> {
    let player = named(&db, &name).await?;
    let mut conn = db.acquire().await?;
    let games = history::tally(&mut conn, player.player_id, None).await?;
    let records = ratings::history::records(&mut conn, player.player_id).await?;
    let accuracy = analysis::of_player(&mut conn, player.player_id).await?;
    Ok(Json(StatsView {
        username: player.username,
        games: tallies(games),
        records: records.into_iter().map(RecordView::from).collect(),
        accuracy: accuracy.into_iter().map(PrecisionView::from).collect(),
    }))
}

/// Two players' games against each other, as the first one sees them.
#[derive(Debug, Serialize, ToSchema)]
struct VersusView {
    #[schema(example = "moorhen")]
    player: String,
    #[schema(example = "coot")]
    opponent: String,
    /// All of them.
    total: ScoreView,
    /// By pool and the first player's role.
    games: Vec<TallyView>,
}

/// Shows two players' games against each other
#[utoipa::path(
    tag = "Players", operation_id = "versus",
    params(
        ("name" = String, Path, description = "The one player's username"),
        ("other" = String, Path, description = "The other player's username"),
    ),
    responses((status = 200, description = "Wins, draws and losses of the first player", body = VersusView)),
    security(()),
)]
#[get("/v1/players/{name}/versus/{other}")]
async fn versus(path: Path<(String, String)>, db: Data<PgPool>) -> Result<Json<VersusView>, ApiError> {
    let player = named(&db, &path.0).await?;
    let opponent = named(&db, &path.1).await?;
    let rows = history::tally(&mut *db.acquire().await?, player.player_id, Some(opponent.player_id)).await?;
    let add = |sum: ScoreView, row: &Tally| ScoreView {
        wins: sum.wins + row.wins,
        draws: sum.draws + row.draws,
        losses: sum.losses + row.losses,
    };
    Ok(Json(VersusView {
        player: player.username,
        opponent: opponent.username,
        total: rows.iter().fold(ScoreView::default(), add),
        games: tallies(rows),
    }))
}

/// Which leaderboard, and which part of it.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct LeaderboardQuery {
    /// The bots' list instead of the people's.
    #[serde(default)]
    bots: bool,
    /// How many, 1 to 200 (default 50).
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u16>,
    /// `next` of the page before.
    cursor: Option<String>,
}

/// One place on a leaderboard.
#[derive(Debug, Serialize, ToSchema)]
struct PlaceView {
    #[schema(example = "moorhen")]
    username: String,
    #[schema(example = 1688.1)]
    rating: f64,
    #[schema(example = 61.3)]
    rd: f64,
    /// Rated games with each role.
    games: BothRoles<i32>,
}

/// Shows a pool's leaderboard
///
/// Established players, best first: RD of at most 75 now, at least 10 rated games in the pool and at least 3 with
/// each role. Bots have a list of their own.
#[utoipa::path(
    tag = "Players", operation_id = "showLeaderboard",
    params(("pool" = String, Path, description = "The pool's id"), LeaderboardQuery),
    responses((status = 200, description = "A page of places", body = List<PlaceView>)),
    security(()),
)]
#[get("/v1/pools/{pool}/leaderboard")]
async fn show_leaderboard(
    request: HttpRequest,
    pool: Path<String>,
    query: Query<LeaderboardQuery>,
    db: Data<PgPool>,
    clock: Data<WallClock>,
) -> Result<HttpResponse, ApiError> {
    let page = Page { limit: query.limit, cursor: query.cursor.clone() };
    let (limit, after) = (page.limit()?, page.after::<Cursor>()?.map(|cursor| cursor.0));
    if crate::lobby::pools::find(&db, &pool).await?.is_none() {
        return Err(ApiError::new(error::NOT_FOUND, "no pool has this id"));
    }
    let mut conn = db.acquire().await?;
    let (places, next) = leaderboard::page(&mut conn, &pool, query.bots, after, limit, clock.now()).await?;
    let view = |place: leaderboard::Place| PlaceView {
        username: place.username,
        rating: place.rating.rating,
        rd: place.rating.rd,
        games: place.games.into(),
    };
    let items: Vec<PlaceView> = places.into_iter().map(view).collect();
    let next = next.map(|after| format!("{}_{}", after.rating, after.player));
    Ok(query::list_response(&request, List { items, next }))
}

struct Cursor(After);

impl std::str::FromStr for Cursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Cursor, ()> {
        let (rating, player) = text.split_once('_').ok_or(())?;
        let rating: f64 = rating.parse().map_err(|_| ())?;
        let player = player.parse().map_err(|_| ())?;
        if rating.is_finite() { Ok(Cursor(After { rating, player })) } else { Err(()) }
    }
}
