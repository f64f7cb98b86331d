//! Finding an opponent over HTTP: pools, tickets and challenges.

use actix_web::{
    HttpRequest, HttpResponse, delete, get,
    http::header::LOCATION,
    patch, post, put,
    web::{Data, Json, Path, Query},
};
use chrono::TimeDelta;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sqlx::PgPool;
use utoipa::{IntoParams, ToSchema};
use utoipa_actix_web::service_config::ServiceConfig;

use super::{
    auth::{Caller, MaybeCaller},
    error::{self, ApiError},
    query::{self, List, Page},
    views::{
        GameView, Instant, RoleName, VariantName, invalid_rule, name_or_closed, no_clock, rules_of, yes,
    },
};
use crate::{
    accounts,
    dice::roll,
    events::Events,
    games::{self, ClockSetting, Grace, OnDrop, house_rules},
    ids::{ChallengeId, GameId, PlayerId},
    lobby::{
        challenges::{
            self, Accepted, AnswerError, Challenge, ChallengeError, ChallengeStatus, ChangeError, Changes,
            NewChallenge, Repeatable, RoleWish,
        },
        matchmaker::Matchmaker,
        pools::{self, BusyPool},
        tickets::{self, JoinError, Joined, Ticket, TicketStatus},
    },
    wall_clock::{Timestamp, WallClock},
};

/// Under which address the outside world finds this service, without a slash at its end.
#[derive(Clone, Debug)]
pub struct PublicUrl(pub String);

/// The routes of the lobby.
pub fn routes(cfg: &mut ServiceConfig<'_>) {
    cfg.service(list_pools)
        .service(show_pool)
        .service(join_pool)
        .service(show_ticket)
        .service(leave_pool)
        .service(create_challenge)
        .service(list_challenges)
        .service(show_challenge)
        .service(change_challenge)
        .service(accept_challenge)
        .service(decline_challenge)
        .service(withdraw_challenge);
}

/// A pool: fixed rules, a fixed clock, and its own ratings.
#[derive(Serialize, ToSchema)]
#[schema(as = Pool)]
struct PoolView {
    /// Its name.
    #[schema(example = "hare-and-hounds")]
    id: String,
    variant: VariantName,
    /// All house rules, spelled out.
    #[schema(example = json!({"getting_away": "thirty-moves", "hare_start": "right-end"}))]
    rules: Map<String, Value>,
    clock: ClockSetting,
    /// Every game of a pool is rated.
    #[schema(example = true)]
    rated: bool,
    /// Whether the operator has closed it: it takes no tickets any more.
    #[schema(example = false)]
    closed: bool,
    /// How many players wait now.
    #[schema(example = 3)]
    waiting: i64,
    /// How many players are in a live game now.
    #[schema(example = 42)]
    playing: i64,
}

impl From<BusyPool> for PoolView {
    fn from(BusyPool { pool, waiting, playing }: BusyPool) -> PoolView {
        PoolView {
            id: pool.id,
            variant: pool.variant.into(),
            rules: house_rules::to_json(&pool.rules),
            clock: pool.clock,
            rated: true,
            closed: pool.closed_at.is_some(),
            waiting,
            playing,
        }
    }
}

/// List the pools
///
/// All on one page, closed ones too.
#[utoipa::path(
    tag = "Lobby", operation_id = "listPools",
    responses((status = 200, description = "The pools", body = List<PoolView>)),
    security(()),
)]
#[get("/v1/pools")]
async fn list_pools(db: Data<PgPool>) -> Result<Json<List<PoolView>>, ApiError> {
    let items = pools::list(&db).await?.into_iter().map(PoolView::from).collect();
    Ok(Json(List { items, next: None }))
}

/// Show a pool
#[utoipa::path(
    tag = "Lobby", operation_id = "showPool",
    params(("pool" = String, Path, description = "The pool's name", example = "hare-and-hounds")),
    responses((status = 200, description = "The pool", body = PoolView)),
    security(()),
    extensions(("x-problems" = json!(["not-found"]))),
)]
#[get("/v1/pools/{pool}")]
async fn show_pool(pool: Path<String>, db: Data<PgPool>) -> Result<Json<PoolView>, ApiError> {
    let pool = pools::find(&db, &pool).await?.ok_or_else(no_such_pool)?;
    Ok(Json(pool.into()))
}

fn no_such_pool() -> ApiError {
    ApiError::new(error::NOT_FOUND, "there is no such pool; GET /v1/pools lists all")
}

/// What became of a ticket.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = TicketStatus)]
pub enum TicketStatusName {
    /// You wait.
    Queued,
    /// You have an opponent, and a game.
    Matched,
    /// You showed no sign of life for 30 seconds.
    Expired,
    /// You left, or were sent away since the pool closed or you began another game.
    Cancelled,
}

/// Your last ticket in a pool.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Ticket)]
pub struct TicketView {
    /// The pool.
    #[schema(example = "hare-and-hounds")]
    pool: String,
    status: TicketStatusName,
    /// How long you have waited, or had when it ended.
    #[schema(example = 4200)]
    waited_ms: i64,
    /// By how many points an opponent's rating may be off by now. It widens while you wait.
    #[schema(example = 120)]
    window: i32,
    /// Half of the pool's last matches took no longer than this; null while there is none.
    #[schema(required = true, example = 7000)]
    estimated_wait_ms: Option<i64>,
    /// The role that you are due; null before your first rated game in the pool.
    #[schema(required = true)]
    role_due: Option<RoleName>,
    /// Your rated games in the pool as hounds, less those as the hare.
    #[schema(example = 1)]
    role_debt: i32,
    /// Until when you cannot join a pool since rated games were aborted; null if you can.
    #[schema(required = true)]
    cool_down_until: Option<Instant>,
    /// The game, when matched.
    #[schema(required = true)]
    game: Option<GameId>,
}

impl From<Ticket> for TicketView {
    fn from(ticket: Ticket) -> TicketView {
        let (status, game) = match ticket.status {
            TicketStatus::Queued => (TicketStatusName::Queued, None),
            TicketStatus::Matched(game) => (TicketStatusName::Matched, Some(game)),
            TicketStatus::Expired => (TicketStatusName::Expired, None),
            TicketStatus::Cancelled => (TicketStatusName::Cancelled, None),
        };
        TicketView {
            pool: ticket.pool,
            status,
            waited_ms: ticket.waited.num_milliseconds(),
            window: ticket.window,
            estimated_wait_ms: ticket.estimated_wait.as_ref().map(TimeDelta::num_milliseconds),
            role_due: ticket.role_due.map(RoleName::from),
            role_debt: ticket.role_debt,
            cool_down_until: ticket.cool_down_until.map(Instant::from),
            game,
        }
    }
}

/// Join a pool
///
/// You wait until you are matched: ask for the ticket now and then. It lapses if you show no sign of life for 30
/// seconds, which any call with your token is. Joining again changes nothing.
#[utoipa::path(
    tag = "Lobby", operation_id = "joinPool",
    params(("pool" = String, Path, description = "The pool's name", example = "hare-and-hounds")),
    responses(
        (status = 201, description = "You wait", body = TicketView),
        (status = 200, description = "You waited already", body = TicketView),
    ),
    security(("bearer" = [])),
    extensions(("x-problems" = json!(
        ["not-found", "account-needed", "pool-closed", "already-waiting", "already-playing", "cooling-down"]
    ))),
)]
#[put("/v1/pools/{pool}/ticket")]
async fn join_pool(
    caller: Caller,
    pool: Path<String>,
    db: Data<PgPool>,
    events: Data<Events>,
    clock: Data<WallClock>,
    matchmaker: Data<Matchmaker>,
) -> Result<HttpResponse, ApiError> {
    let now = clock.now();
    let joined = tickets::join(&db, &events, &matchmaker, caller.0.player, &pool, now, roll()).await;
    let joined = joined.map_err(|err| not_joined(err, now))?;
    Ok(match joined {
        Joined::Now(ticket) => HttpResponse::Created().json(TicketView::from(ticket)),
        Joined::Already(ticket) => HttpResponse::Ok().json(TicketView::from(ticket)),
    })
}

fn not_joined(err: JoinError, now: Timestamp) -> ApiError {
    match err {
        JoinError::NoSuchPool => no_such_pool(),
        JoinError::PoolClosed => ApiError::of(error::POOL_CLOSED),
        JoinError::Guest => ApiError::of(error::ACCOUNT_NEEDED),
        JoinError::AlreadyWaiting(_) => ApiError::new(error::ALREADY_WAITING, err),
        JoinError::AlreadyPlaying(game) => ApiError::new(error::ALREADY_PLAYING, err).game(game),
        JoinError::CoolingDown(pause) => {
            let detail = "too many rated games were aborted because of you in the last 24 hours; 'until' is when you \
                          may join again";
            let wait = u64::try_from((pause.until - now).num_milliseconds()).unwrap_or(0);
            ApiError::new(error::COOLING_DOWN, detail).until(pause.until).retry_after_ms(wait)
        }
        JoinError::Database(err) => err.into(),
    }
}

/// Show your ticket
///
/// The last one that you had in the pool. When its status is `matched`, `game` is the game to play.
#[utoipa::path(
    tag = "Lobby", operation_id = "showTicket",
    params(("pool" = String, Path, description = "The pool's name", example = "hare-and-hounds")),
    responses((status = 200, description = "Your ticket", body = TicketView)),
    security(("bearer" = [])),
    extensions(("x-problems" = json!(["not-found"]))),
)]
#[get("/v1/pools/{pool}/ticket")]
async fn show_ticket(
    caller: Caller,
    pool: Path<String>,
    db: Data<PgPool>,
    clock: Data<WallClock>,
) -> Result<Json<TicketView>, ApiError> {
    let ticket = tickets::find(&db, caller.0.player, &pool, clock.now()).await?;
    Ok(Json(ticket.ok_or_else(no_ticket)?.into()))
}

fn no_ticket() -> ApiError {
    ApiError::new(error::NOT_FOUND, "you never had a ticket in a pool of this name")
}

/// Leave a pool
///
/// Answers what actually happened: `cancelled`, or `matched` with the game when the matchmaker was faster. Leaving
/// again changes nothing.
#[utoipa::path(
    tag = "Lobby", operation_id = "leavePool",
    params(("pool" = String, Path, description = "The pool's name", example = "hare-and-hounds")),
    responses((status = 200, description = "What became of your ticket", body = TicketView)),
    security(("bearer" = [])),
    extensions(("x-problems" = json!(["not-found"]))),
)]
#[delete("/v1/pools/{pool}/ticket")]
async fn leave_pool(
    caller: Caller,
    pool: Path<String>,
    db: Data<PgPool>,
    events: Data<Events>,
    clock: Data<WallClock>,
) -> Result<Json<TicketView>, ApiError> {
    let ticket = tickets::leave(&db, &events, caller.0.player, &pool, clock.now()).await?;
    Ok(Json(ticket.ok_or_else(no_ticket)?.into()))
}

/// A challenge to make. What is left out is as usual.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "variant": "hare-and-hounds", "rules": {"hare_start": "right-end"},
    "clock": {"kind": "fischer", "initial_ms": 180000, "increment_ms": 2000}, "role": "hounds", "opponent": "lapwing",
}))]
struct ChallengeRequest {
    variant: VariantName,
    /// The house rules that differ from the usual ones.
    #[serde(default)]
    rules: Map<String, Value>,
    /// No clock, if left out.
    #[serde(default = "no_clock")]
    clock: ClockSetting,
    /// Your role; `random` if left out.
    #[serde(default)]
    role: RoleWish,
    /// Only with the rules and the clock of an open pool and the role `random`.
    #[serde(default)]
    rated: bool,
    /// A player's name; anyone may accept, if left out.
    opponent: Option<String>,
    /// Whether a rematch swaps the roles; it does if left out.
    #[serde(default = "yes")]
    swap_roles: bool,
    /// What becomes of a side that has left, in a casual game: `computer`, `claim` or `wait`. If left out,
    /// the computer plays on with a `per_turn` or `fischer` clock; with a `correspondence` clock it always waits.
    #[schema(nullable = false)]
    on_drop: Option<OnDrop>,
    /// After how long without a sign of life a side has left, in a casual game; a minute if left out.
    #[schema(nullable = false, minimum = 30_000, maximum = 600_000, example = 60_000)]
    drop_after_ms: Option<i32>,
}

impl ChallengeRequest {
    /// Names looked up and rules read.
    async fn read(&self, db: &PgPool) -> Result<NewChallenge, ApiError> {
        let rules = rules_of(self.variant, &self.rules, "/rules/")?;
        let opponent = match &self.opponent {
            Some(name) => Some(player_of(db, name).await?),
            None => None,
        };
        let drop_after = grace_of(self.drop_after_ms)?;
        let Self { clock, role, rated, swap_roles, on_drop, .. } = *self;
        Ok(NewChallenge { opponent, rules, clock, role, rated, on_drop, drop_after, swap_roles })
    }

    fn repeatable(&self, request: &HttpRequest) -> Result<Option<Repeatable>, ApiError> {
        let repeatable = query::repeatable(request, self)?;
        Ok(repeatable.map(|(key, request_hash)| Repeatable { key, request_hash }))
    }
}

fn grace_of(ms: Option<i32>) -> Result<Option<Grace>, ApiError> {
    let grace = ms.map(Grace::try_from).transpose();
    grace.map_err(|err| ApiError::invalid_field("/drop_after_ms", err))
}

async fn player_of(db: &PgPool, name: &str) -> Result<PlayerId, ApiError> {
    let player = accounts::find_player(db, name).await?.filter(|player| !player.banned);
    match player.map(|player| player.player_id) {
        Some(PlayerId::COMPUTER) => {
            Err(ApiError::invalid_field("/opponent", "the computer needs no challenge: POST /v1/games"))
        }
        Some(player) => Ok(player),
        None => Err(ApiError::invalid_field("/opponent", "there is no such player")),
    }
}

/// What became of a challenge.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ChallengeStatus)]
pub enum ChallengeStatusName {
    /// It can be accepted.
    Open,
    /// There is a game.
    Accepted,
    /// The player it was sent to does not want it.
    Declined,
    /// Its challenger took it back.
    Withdrawn,
    /// Nobody accepted it in time.
    Expired,
}

/// A challenge.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Challenge)]
pub struct ChallengeView {
    /// Its id.
    id: ChallengeId,
    status: ChallengeStatusName,
    /// How often its challenger has changed it, and one more.
    #[schema(example = 1)]
    version: i32,
    /// Where others find it; null for one to a named player.
    #[schema(
        required = true,
        example = "https://play.example/v1/challenges/0199f3a0-5c1e-7b3a-9d2e-6a1f0c4b8e21"
    )]
    link: Option<String>,
    /// The game, when accepted.
    #[schema(required = true)]
    game: Option<GameId>,
    /// Who made it.
    #[schema(example = "moorhen")]
    challenger: String,
    /// To whom; null when anyone may accept.
    #[schema(required = true, example = "lapwing")]
    opponent: Option<String>,
    variant: VariantName,
    /// All house rules, spelled out.
    #[schema(example = json!({"getting_away": "thirty-moves", "hare_start": "right-end"}))]
    rules: Map<String, Value>,
    clock: ClockSetting,
    /// The challenger's role.
    role: RoleWish,
    /// Whether the game will change ratings.
    rated: bool,
    /// The pool that it will count for; null when not rated.
    #[schema(required = true, example = "hare-and-hounds")]
    pool: Option<String>,
    /// Whether a rematch swaps the roles.
    swap_roles: bool,
    on_drop: OnDrop,
    /// After how long without a sign of life a side has left.
    #[schema(example = 60_000)]
    drop_after_ms: i32,
    created_at: Instant,
    /// Until when it can be accepted.
    expires_at: Instant,
}

impl ChallengeView {
    /// A challenge, with the link under which others find it.
    pub fn of(challenge: Challenge, url: &PublicUrl) -> ChallengeView {
        let (status, game) = match challenge.status {
            ChallengeStatus::Open => (ChallengeStatusName::Open, None),
            ChallengeStatus::Accepted(game) => (ChallengeStatusName::Accepted, Some(game)),
            ChallengeStatus::Declined => (ChallengeStatusName::Declined, None),
            ChallengeStatus::Withdrawn => (ChallengeStatusName::Withdrawn, None),
            ChallengeStatus::Expired => (ChallengeStatusName::Expired, None),
        };
        let to_anyone = challenge.opponent.is_none();
        ChallengeView {
            id: challenge.id,
            status,
            version: challenge.version,
            link: to_anyone
                .then(|| format!("{}/v1/challenges/{}", url.0.trim_end_matches('/'), challenge.id)),
            game,
            challenger: name_or_closed(challenge.challenger_name),
            opponent: (!to_anyone).then(|| name_or_closed(challenge.opponent_name)),
            variant: challenge.rules.variant().into(),
            rules: house_rules::to_json(&challenge.rules),
            clock: challenge.clock,
            role: challenge.role,
            rated: challenge.rated,
            pool: challenge.pool,
            swap_roles: challenge.swap_roles,
            on_drop: challenge.on_drop,
            drop_after_ms: challenge.drop_after.ms(),
            created_at: challenge.created_at.into(),
            expires_at: challenge.expires_at.into(),
        }
    }
}

/// Challenge a player, or anyone
///
/// Expires after 24 hours; after 7 days where the clock is `correspondence` or `none`. A repeat with the same
/// `Idempotency-Key` and body answers the challenge that the first one made, as it is by now.
#[utoipa::path(
    tag = "Lobby", operation_id = "createChallenge",
    params(("Idempotency-Key" = Option<String>, Header,
        description = "Makes a repeat safe: 1 to 64 printable ASCII characters")),
    request_body = ChallengeRequest,
    responses((status = 201, description = "The challenge", body = ChallengeView,
        headers(("Location" = String, description = "The challenge's address")))),
    security(("bearer" = [])),
    extensions(("x-problems" = json!(
        ["invalid-fields", "account-needed", "pool-closed", "idempotency-key-reused", "too-many-requests"]
    ))),
)]
#[post("/v1/challenges")]
async fn create_challenge(
    caller: Caller,
    request: HttpRequest,
    body: Json<ChallengeRequest>,
    db: Data<PgPool>,
    events: Data<Events>,
    clock: Data<WallClock>,
    url: Data<PublicUrl>,
) -> Result<HttpResponse, ApiError> {
    let now = clock.now();
    let repeatable = body.repeatable(&request)?;
    let new = body.read(&db).await?;
    let made =
        challenges::challenge(&db, &events, caller.0.player, &new, repeatable.as_ref(), now, roll()).await;
    let made = made.map_err(|err| not_made(err, now))?;
    let location = (LOCATION, format!("/v1/challenges/{}", made.id));
    Ok(HttpResponse::Created().insert_header(location).json(ChallengeView::of(made, &url)))
}

fn not_made(err: ChallengeError, now: Timestamp) -> ApiError {
    match err {
        ChallengeError::Oneself => ApiError::invalid_field("/opponent", err),
        ChallengeError::Guest => ApiError::of(error::ACCOUNT_NEEDED),
        ChallengeError::GuestOpponent => ApiError::invalid_field("/opponent", err),
        ChallengeError::Clock(member, allowed) => {
            ApiError::invalid_field(format!("/clock/{member}"), allowed)
        }
        ChallengeError::RatedRole => ApiError::invalid_field("/role", err),
        ChallengeError::RatedOnDrop | ChallengeError::OnDropClock => ApiError::invalid_field("/on_drop", err),
        ChallengeError::RatedDropAfter => ApiError::invalid_field("/drop_after_ms", err),
        ChallengeError::RatedRules(_) => ApiError::invalid_field("/rules", err),
        ChallengeError::RatedClock(_) => ApiError::invalid_field("/clock", err),
        ChallengeError::PoolClosed(_) => ApiError::new(error::POOL_CLOSED, err),
        ChallengeError::TooMany { first_expires_at } => {
            let wait = (first_expires_at - now).num_milliseconds();
            ApiError::new(error::TOO_MANY_REQUESTS, err).retry_after_ms(u64::try_from(wait).unwrap_or(0))
        }
        ChallengeError::KeyReused => ApiError::new(error::IDEMPOTENCY_KEY_REUSED, err),
        ChallengeError::Database(err) => err.into(),
    }
}

/// List challenges
///
/// Those that can be accepted now, the newest first: open to anyone, and with a token also those that you made or
/// that were sent to you.
#[utoipa::path(
    tag = "Lobby", operation_id = "listChallenges",
    params(Page),
    responses((status = 200, description = "A page of challenges", body = List<ChallengeView>)),
    security((), ("bearer" = [])),
)]
#[get("/v1/challenges")]
async fn list_challenges(
    caller: MaybeCaller,
    request: HttpRequest,
    page: Query<Page>,
    db: Data<PgPool>,
    clock: Data<WallClock>,
    url: Data<PublicUrl>,
) -> Result<HttpResponse, ApiError> {
    let limit = page.limit()?;
    let me = caller.0.map(|claimant| claimant.player);
    let found = challenges::list(&db, me, page.after()?, limit + 1, clock.now()).await?;
    Ok(query::list_response(&request, page_of(found, limit, &url)))
}

/// One more than asked for tells that there is a next page.
fn page_of(mut found: Vec<Challenge>, limit: i64, url: &PublicUrl) -> List<ChallengeView> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| more).map(|last| last.id.to_string());
    List { items: found.into_iter().map(|challenge| ChallengeView::of(challenge, url)).collect(), next }
}

/// Show a challenge
///
/// One to a named player is shown to the two players only.
#[utoipa::path(
    tag = "Lobby", operation_id = "showChallenge",
    params(
        ("challenge_id" = ChallengeId, Path, description = "The challenge's id"),
        ("If-None-Match" = Option<String>, Header, description = "The ETag of an earlier answer"),
    ),
    responses(
        (status = 200, description = "The challenge", body = ChallengeView,
            headers(("etag" = String, description = "Changes when the challenge does"))),
        (status = 304, description = "Nothing has happened since the ETag sent"),
    ),
    security((), ("bearer" = [])),
    extensions(("x-problems" = json!(["not-found"]))),
)]
#[get("/v1/challenges/{challenge_id}")]
async fn show_challenge(
    caller: MaybeCaller,
    request: HttpRequest,
    id: Path<ChallengeId>,
    db: Data<PgPool>,
    clock: Data<WallClock>,
    url: Data<PublicUrl>,
) -> Result<HttpResponse, ApiError> {
    let me = caller.0.map(|claimant| claimant.player);
    let challenge = challenges::find(&db, *id, me, clock.now()).await?.ok_or_else(no_such_challenge)?;
    Ok(query::etag_response(&request, &ChallengeView::of(challenge, &url)))
}

/// What to change of a challenge.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"rules": {"hare_start": "random"}, "clock": {"kind": "per_turn", "turn_ms": 60000}}))]
struct ChangeRequest {
    /// The house rules to change.
    #[serde(default)]
    rules: Map<String, Value>,
    #[schema(nullable = false)]
    clock: Option<ClockSetting>,
    /// Your role.
    #[schema(nullable = false)]
    role: Option<RoleWish>,
    /// Whether a rematch swaps the roles.
    #[schema(nullable = false)]
    swap_roles: Option<bool>,
    /// What becomes of a side that has left.
    #[schema(nullable = false)]
    on_drop: Option<OnDrop>,
    /// After how long without a sign of life it has.
    #[schema(nullable = false, minimum = 30_000, maximum = 600_000, example = 60_000)]
    drop_after_ms: Option<i32>,
}

impl TryFrom<ChangeRequest> for Changes {
    type Error = ApiError;

    fn try_from(request: ChangeRequest) -> Result<Changes, ApiError> {
        let ChangeRequest { rules, clock, role, swap_roles, on_drop, drop_after_ms } = request;
        Ok(Changes { rules, clock, role, swap_roles, on_drop, drop_after: grace_of(drop_after_ms)? })
    }
}

/// Change a challenge
///
/// A casual one that you made, until somebody accepts it. What is left out stays as it is, each house rule too. Every
/// change gives it the next `version`, and its time until it expires begins anew; a change that changes nothing does
/// not.
#[utoipa::path(
    tag = "Lobby", operation_id = "changeChallenge",
    params(("challenge_id" = ChallengeId, Path, description = "The challenge's id")),
    request_body = ChangeRequest,
    responses((status = 200, description = "The challenge as it is now", body = ChallengeView)),
    security(("bearer" = [])),
    extensions(("x-problems" = json!(
        ["not-found", "invalid-fields", "not-your-challenge", "challenge-over", "challenge-is-rated"]
    ))),
)]
#[patch("/v1/challenges/{challenge_id}")]
async fn change_challenge(
    caller: Caller,
    id: Path<ChallengeId>,
    body: Json<ChangeRequest>,
    db: Data<PgPool>,
    events: Data<Events>,
    clock: Data<WallClock>,
    url: Data<PublicUrl>,
) -> Result<Json<ChallengeView>, ApiError> {
    let changes = body.into_inner().try_into()?;
    let challenge = challenges::change(&db, &events, caller.0.player, *id, &changes, clock.now()).await?;
    Ok(Json(ChallengeView::of(challenge, &url)))
}

impl From<ChangeError> for ApiError {
    fn from(err: ChangeError) -> ApiError {
        match err {
            ChangeError::Answer(err) => err.into(),
            ChangeError::Rated => ApiError::of(error::CHALLENGE_IS_RATED),
            ChangeError::Rules(err) => invalid_rule(&err, "/rules/"),
            ChangeError::Clock(member, allowed) => {
                ApiError::invalid_field(format!("/clock/{member}"), allowed)
            }
            ChangeError::OnDropClock => ApiError::invalid_field("/on_drop", err),
            ChangeError::Database(err) => err.into(),
        }
    }
}

fn no_such_challenge() -> ApiError {
    ApiError::new(error::NOT_FOUND, "there is no such challenge, or it is between two other players")
}

/// Which state of a challenge was seen.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Seen {
    /// The challenge's `version` that you have seen
    #[param(minimum = 1)]
    version: Option<i32>,
}

/// Accept a challenge
///
/// Makes the game. Accepting again answers the same game. With `version` a challenge that has been changed since is not
/// accepted.
#[utoipa::path(
    tag = "Lobby", operation_id = "acceptChallenge",
    params(("challenge_id" = ChallengeId, Path, description = "The challenge's id"), Seen),
    responses(
        (status = 201, description = "The game has begun", body = GameView,
            headers(("Location" = String, description = "The game's address"))),
        (status = 200, description = "You had accepted already; the game as it is now", body = GameView),
    ),
    security(("bearer" = [])),
    extensions(("x-problems" = json!(
        [
            "not-found", "not-your-challenge", "challenge-over", "challenge-changed", "account-needed", "pool-closed",
            "already-playing"
        ]
    ))),
)]
#[post("/v1/challenges/{challenge_id}/accept")]
async fn accept_challenge(
    caller: Caller,
    id: Path<ChallengeId>,
    seen: Query<Seen>,
    db: Data<PgPool>,
    events: Data<Events>,
    clock: Data<WallClock>,
) -> Result<HttpResponse, ApiError> {
    let (now, version) = (clock.now(), seen.version);
    let accepted =
        challenges::accept(&db, &events, caller.0.player, *id, version, now, roll(), roll()).await?;
    let (mut response, game) = match accepted {
        Accepted::Now(game) => (HttpResponse::Created(), game),
        Accepted::Already(game) => (HttpResponse::Ok(), game),
    };
    let game = games::find(&db, &events, now, game)
        .await?
        .ok_or_else(|| ApiError::internal("an accepted challenge has no game"))?;
    Ok(response.insert_header((LOCATION, format!("/v1/games/{}", game.id))).json(GameView::of(&game, now)))
}

impl From<AnswerError> for ApiError {
    fn from(err: AnswerError) -> ApiError {
        match err {
            AnswerError::NoSuchChallenge => no_such_challenge(),
            AnswerError::NotYours(_) => ApiError::new(error::NOT_YOUR_CHALLENGE, err),
            AnswerError::Over(ChallengeStatus::Accepted(game)) => {
                ApiError::new(error::CHALLENGE_OVER, err).game(game)
            }
            AnswerError::Over(_) => ApiError::new(error::CHALLENGE_OVER, err),
            AnswerError::Changed => ApiError::of(error::CHALLENGE_CHANGED),
            AnswerError::Guest => ApiError::of(error::ACCOUNT_NEEDED),
            AnswerError::PoolClosed(_) => ApiError::new(error::POOL_CLOSED, err),
            AnswerError::YouPlay(Some(game)) | AnswerError::TheyPlay(Some(game)) => {
                ApiError::new(error::ALREADY_PLAYING, err).game(game)
            }
            AnswerError::YouPlay(None) | AnswerError::TheyPlay(None) => {
                ApiError::new(error::ALREADY_PLAYING, err)
            }
            AnswerError::Database(err) => err.into(),
        }
    }
}

/// Decline a challenge
///
/// One that was sent to you. Declining again changes nothing.
#[utoipa::path(
    tag = "Lobby", operation_id = "declineChallenge",
    params(("challenge_id" = ChallengeId, Path, description = "The challenge's id")),
    responses((status = 200, description = "The challenge, declined", body = ChallengeView)),
    security(("bearer" = [])),
    extensions(("x-problems" = json!(["not-found", "not-your-challenge", "challenge-over"]))),
)]
#[post("/v1/challenges/{challenge_id}/decline")]
async fn decline_challenge(
    caller: Caller,
    id: Path<ChallengeId>,
    db: Data<PgPool>,
    events: Data<Events>,
    clock: Data<WallClock>,
    url: Data<PublicUrl>,
) -> Result<Json<ChallengeView>, ApiError> {
    let challenge = challenges::decline(&db, &events, caller.0.player, *id, clock.now()).await?;
    Ok(Json(ChallengeView::of(challenge, &url)))
}

/// Withdraw a challenge
///
/// One that you made. Withdrawing again changes nothing; once accepted it cannot be withdrawn.
#[utoipa::path(
    tag = "Lobby", operation_id = "withdrawChallenge",
    params(("challenge_id" = ChallengeId, Path, description = "The challenge's id")),
    responses((status = 200, description = "The challenge, withdrawn", body = ChallengeView)),
    security(("bearer" = [])),
    extensions(("x-problems" = json!(["not-found", "not-your-challenge", "challenge-over"]))),
)]
#[delete("/v1/challenges/{challenge_id}")]
async fn withdraw_challenge(
    caller: Caller,
    id: Path<ChallengeId>,
    db: Data<PgPool>,
    events: Data<Events>,
    clock: Data<WallClock>,
    url: Data<PublicUrl>,
) -> Result<Json<ChallengeView>, ApiError> {
    let challenge = challenges::withdraw(&db, &events, caller.0.player, *id, clock.now()).await?;
    Ok(Json(ChallengeView::of(challenge, &url)))
}
