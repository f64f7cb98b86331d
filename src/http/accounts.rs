//! Accounts and sessions over HTTP.

use actix_web::{
    HttpRequest, HttpResponse, delete, get,
    http::header::{LOCATION, USER_AGENT},
    patch, post, put,
    web::{Data, Json, Path},
};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use utoipa::ToSchema;
use utoipa_actix_web::service_config::ServiceConfig;

use super::{
    auth::Caller,
    error::{self, ApiError},
    query,
    views::Instant,
};
use crate::{
    accounts::{
        self, Accounts, AddressSource, ChangePasswordError, Client, CloseAccountError, DeclareBotError,
        Drawn, LogInError, Me, PasswordChange, ProfileError, RefreshError, RegisterError, SessionEntry,
        Tokens,
        access::{Claimant, KeyError},
        attempts::{self, TooManyAttempts},
        password::HashError,
    },
    dice::roll,
    events::Events,
    games,
    ids::{PlayerId, SessionId},
    lobby::tickets::{self, CoolDown},
    wall_clock::WallClock,
};

/// How much of a client's description of itself is kept.
const USER_AGENT_CHARS: usize = 200;

/// After what time to ask again when the queue of passwords is full.
const BUSY_RETRY_MS: u64 = 2000;

/// Adds the operations.
pub fn routes(cfg: &mut ServiceConfig<'_>) {
    cfg.service(register)
        .service(log_in)
        .service(refresh)
        .service(list_sessions)
        .service(end_all_sessions)
        .service(end_session)
        .service(show_me)
        .service(update_me)
        .service(close_account)
        .service(change_password)
        .service(declare_bot);
}

/// A name and a password.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"username": "moorhen", "password": "correct-horse-battery"}))]
struct RegisterRequest {
    /// 3 to 20 letters (A-Z, a-z), digits, `_` or `-`; unique without regard to case.
    #[schema(min_length = 3, max_length = 20, pattern = "^[A-Za-z0-9_-]{3,20}$")]
    username: String,
    /// 8 to 128 characters, any of them; refused when it is easy to guess or contains the username.
    #[schema(min_length = 8, max_length = 128, format = "password")]
    password: String,
}

/// An account, as its owner sees it.
#[derive(Serialize, ToSchema)]
pub struct MeView {
    /// The player's id.
    id: PlayerId,
    /// The name, as it was written at sign-up.
    #[schema(example = "moorhen")]
    username: String,
    /// What the player says of themselves.
    #[schema(example = "Hounds by day, hare by night.")]
    bio: String,
    /// Whether a program plays.
    #[schema(example = false)]
    is_bot: bool,
    /// Whether you play without having signed up.
    #[schema(example = false)]
    is_guest: bool,
    /// When the player signed up.
    created_at: Instant,
}

impl From<Me> for MeView {
    fn from(me: Me) -> MeView {
        MeView {
            id: me.player_id,
            username: me.username,
            bio: me.bio,
            is_bot: me.is_bot,
            is_guest: me.is_guest,
            created_at: me.created_at.into(),
        }
    }
}

/// What a pause before the next pool was earned by.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum CooldownReason {
    /// Rated games were aborted, the last one by you.
    Aborted,
    /// Rated games were aborted, the last one because you did not begin to play.
    NoShow,
}

/// A pause before the next pool.
#[derive(Serialize, ToSchema)]
#[schema(as = Cooldown)]
struct CooldownView {
    /// When it ends.
    until: Instant,
    reason: CooldownReason,
}

impl From<CoolDown> for CooldownView {
    fn from(pause: CoolDown) -> CooldownView {
        let reason = if pause.last.no_show { CooldownReason::NoShow } else { CooldownReason::Aborted };
        CooldownView { until: pause.until.into(), reason }
    }
}

/// One's own account, and what concerns nobody else.
#[derive(Serialize, ToSchema)]
#[schema(as = OwnAccount)]
struct OwnView {
    #[serde(flatten)]
    account: MeView,
    /// Until when you cannot join a pool, since rated games were aborted; null if you can.
    #[schema(required = true)]
    cooldown: Option<CooldownView>,
}

/// How to send the access token.
#[derive(Serialize, ToSchema)]
enum TokenType {
    Bearer,
}

/// An account and the tokens of a session in it.
#[derive(Serialize, ToSchema)]
pub struct LoggedInView {
    /// Who is logged in.
    account: MeView,
    /// The session's id.
    session: SessionId,
    /// For the Authorization header.
    #[schema(example = "eyJ0eXAiOiJhdCtqd3QiLCJhbGciOiJIUzI1NiIsImtpZCI6Ii…")]
    access_token: String,
    token_type: TokenType,
    /// How long the access token is good for.
    #[schema(example = 900_000)]
    expires_in_ms: i64,
    /// For `POST /v1/sessions/refresh`, once.
    #[schema(example = "lvr_q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA")]
    refresh_token: String,
}

impl From<(Me, Tokens)> for LoggedInView {
    fn from((me, tokens): (Me, Tokens)) -> LoggedInView {
        let TokensView { session, access_token, token_type, expires_in_ms, refresh_token } = tokens.into();
        LoggedInView { account: me.into(), session, access_token, token_type, expires_in_ms, refresh_token }
    }
}

/// The tokens of a session.
#[derive(Serialize, ToSchema)]
struct TokensView {
    /// The session's id.
    session: SessionId,
    /// For the Authorization header.
    #[schema(example = "eyJ0eXAiOiJhdCtqd3QiLCJhbGciOiJIUzI1NiIsImtpZCI6Ii…")]
    access_token: String,
    token_type: TokenType,
    /// How long the access token is good for.
    #[schema(example = 900_000)]
    expires_in_ms: i64,
    /// For `POST /v1/sessions/refresh`, once.
    #[schema(example = "lvr_q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA")]
    refresh_token: String,
}

impl From<Tokens> for TokensView {
    fn from(tokens: Tokens) -> TokensView {
        TokensView {
            session: tokens.claimant.session,
            access_token: tokens.access_token,
            token_type: TokenType::Bearer,
            expires_in_ms: tokens.access_lifetime.num_milliseconds(),
            refresh_token: tokens.refresh_token.reveal().to_owned(),
        }
    }
}

/// Sign up
///
/// Makes an account and logs in. A repeat with the same `Idempotency-Key`, username and password answers for the
/// same account and session, with new tokens.
#[utoipa::path(
    operation_id = "register",
    tag = "Accounts",
    params(("Idempotency-Key" = Option<String>, Header, description = "Makes a repeat safe: 1 to 100 visible ASCII characters")),
    request_body = RegisterRequest,
    responses((status = 201, description = "Signed up and logged in", body = LoggedInView,
        headers(("Location" = String, description = "The player's public page")))),
    security(()),
    extensions(("x-problems" = json!(["invalid-fields", "username-taken"]))),
)]
#[post("/v1/accounts")]
async fn register(
    request: HttpRequest,
    body: Json<RegisterRequest>,
    db: Data<PgPool>,
    clock: Data<WallClock>,
    accounts: Data<Accounts>,
) -> Result<HttpResponse, ApiError> {
    let RegisterRequest { username, password } = body.into_inner();
    let client = client(&request)?;
    let registered = accounts.register(&db, clock.now(), draw(), client, &username, password).await?;
    let location = format!("/v1/players/{}", registered.0.username);
    Ok(HttpResponse::Created().insert_header((LOCATION, location)).json(LoggedInView::from(registered)))
}

/// The name and password of an account.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"username": "moorhen", "password": "correct-horse-battery"}))]
struct LogInRequest {
    /// The username, without regard to case.
    username: String,
    /// The password.
    #[schema(format = "password")]
    password: String,
}

/// Log in
///
/// Opens a session. A repeat with the same `Idempotency-Key` answers for the same session, with new tokens.
#[utoipa::path(
    operation_id = "logIn",
    tag = "Accounts",
    params(("Idempotency-Key" = Option<String>, Header, description = "Makes a repeat safe: 1 to 100 visible ASCII characters")),
    request_body = LogInRequest,
    responses((status = 201, description = "Logged in", body = LoggedInView)),
    security(()),
    extensions(("x-problems" = json!(["wrong-credentials", "account-banned"]))),
)]
#[post("/v1/sessions")]
async fn log_in(
    request: HttpRequest,
    body: Json<LogInRequest>,
    db: Data<PgPool>,
    clock: Data<WallClock>,
    accounts: Data<Accounts>,
) -> Result<HttpResponse, ApiError> {
    let LogInRequest { username, password } = body.into_inner();
    let client = client(&request)?;
    let logged_in = accounts.log_in(&db, clock.now(), draw(), client, &username, password).await?;
    Ok(HttpResponse::Created().json(LoggedInView::from(logged_in)))
}

/// A refresh token.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"refresh_token": "lvr_q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA"}))]
struct RefreshRequest {
    /// The last one that was given out for the session.
    refresh_token: String,
}

/// Refresh the tokens
///
/// Spends the refresh token for new tokens of the same session. If the answer was lost, the same refresh token gives
/// the same successor once more within 10 seconds; a reuse beyond that ends the session.
#[utoipa::path(
    operation_id = "refresh",
    tag = "Accounts",
    request_body = RefreshRequest,
    responses((status = 200, description = "The next tokens", body = TokensView)),
    security(()),
    extensions(("x-problems" = json!(["refresh-token-invalid", "refresh-token-reused"]))),
)]
#[post("/v1/sessions/refresh")]
async fn refresh(
    request: HttpRequest,
    body: Json<RefreshRequest>,
    db: Data<PgPool>,
    clock: Data<WallClock>,
    accounts: Data<Accounts>,
) -> Result<Json<TokensView>, ApiError> {
    let address = client_address(&request);
    let tokens = accounts.refresh(&db, clock.now(), roll(), &address, &body.refresh_token).await?;
    Ok(Json(tokens.into()))
}

/// A session that can still be refreshed.
#[derive(Serialize, ToSchema)]
struct SessionView {
    /// The session's id.
    id: SessionId,
    /// When it began.
    created_at: Instant,
    /// When it was last refreshed.
    last_used_at: Instant,
    /// What the client said it is.
    #[schema(example = "leveret-client/1.0")]
    user_agent: String,
    /// From where it was last refreshed: an IPv4 address, or the first 64 bits of an IPv6 address.
    #[schema(example = "192.0.2.7")]
    address: String,
    /// Whether it is the one that asks.
    #[schema(example = true)]
    current: bool,
}

/// The sessions of an account.
#[derive(Serialize, ToSchema)]
struct SessionList {
    items: Vec<SessionView>,
    /// Always null: the list is never longer than a page.
    next: Option<String>,
}

impl SessionList {
    fn new(entries: Vec<SessionEntry>, caller: Claimant) -> SessionList {
        let view = |entry: SessionEntry| SessionView {
            id: entry.session_id,
            created_at: entry.created_at.into(),
            last_used_at: entry.last_used_at.into(),
            user_agent: entry.user_agent,
            address: entry.address,
            current: entry.session_id == caller.session,
        };
        SessionList { items: entries.into_iter().map(view).collect(), next: None }
    }
}

/// List your sessions
///
/// Those that can still be refreshed, the last used first, up to 200.
#[utoipa::path(
    operation_id = "listSessions",
    tag = "Accounts",
    responses((status = 200, description = "The sessions", body = SessionList)),
    security(("bearer" = [])),
)]
#[get("/v1/me/sessions")]
async fn list_sessions(
    caller: Caller,
    db: Data<PgPool>,
    clock: Data<WallClock>,
) -> Result<Json<SessionList>, ApiError> {
    let entries = accounts::list_sessions(&db, clock.now(), caller.0.player).await?;
    Ok(Json(SessionList::new(entries, caller.0)))
}

/// End all your sessions
///
/// Logs out everywhere, here too.
#[utoipa::path(
    operation_id = "endAllSessions",
    tag = "Accounts",
    responses((status = 204, description = "All sessions have ended")),
    security(("bearer" = [])),
)]
#[delete("/v1/me/sessions")]
async fn end_all_sessions(
    caller: Caller,
    db: Data<PgPool>,
    clock: Data<WallClock>,
    accounts: Data<Accounts>,
) -> Result<HttpResponse, ApiError> {
    accounts.end_all_sessions(&db, clock.now(), caller.0).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// End a session, or log out
///
/// `current` stands for the session that asks. Ending a session that has ended, or that is not yours, changes
/// nothing and succeeds.
#[utoipa::path(
    operation_id = "endSession",
    tag = "Accounts",
    params(("id" = String, Path, description = "The session's id, or `current`", example = "current")),
    responses((status = 204, description = "The session has ended")),
    security(("bearer" = [])),
    extensions(("x-problems" = json!(["not-found"]))),
)]
#[delete("/v1/me/sessions/{id}")]
async fn end_session(
    caller: Caller,
    path: Path<String>,
    db: Data<PgPool>,
    clock: Data<WallClock>,
    accounts: Data<Accounts>,
) -> Result<HttpResponse, ApiError> {
    let session = session_of(&path, caller.0)?;
    accounts.end_session(&db, clock.now(), caller.0, session).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Show your account
#[utoipa::path(
    operation_id = "showMe",
    tag = "Accounts",
    responses((status = 200, description = "The account", body = OwnView)),
    security(("bearer" = [])),
)]
#[get("/v1/me")]
async fn show_me(
    caller: Caller,
    db: Data<PgPool>,
    clock: Data<WallClock>,
) -> Result<Json<OwnView>, ApiError> {
    let account = accounts::find_me(&db, caller.0.player).await?.into();
    let cooldown = tickets::cool_down_of(&db, caller.0.player, clock.now()).await?;
    Ok(Json(OwnView { account, cooldown: cooldown.map(CooldownView::from) }))
}

/// What to change of the profile.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"bio": "Hounds by day, hare by night."}))]
struct UpdateMeRequest {
    /// What you say of yourself: up to 400 characters.
    #[schema(max_length = 400, nullable = false)]
    bio: Option<String>,
}

/// Change your profile
///
/// What is left out stays as it is.
#[utoipa::path(
    operation_id = "updateMe",
    tag = "Accounts",
    request_body = UpdateMeRequest,
    responses((status = 200, description = "The account as it is now", body = MeView)),
    security(("bearer" = [])),
    extensions(("x-problems" = json!(["invalid-fields", "account-needed"]))),
)]
#[patch("/v1/me")]
async fn update_me(
    caller: Caller,
    body: Json<UpdateMeRequest>,
    db: Data<PgPool>,
) -> Result<Json<MeView>, ApiError> {
    Ok(Json(accounts::update_profile(&db, caller.0.player, body.bio.as_deref()).await?.into()))
}

/// Your password, once more.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"password": "correct-horse-battery"}))]
struct CloseAccountRequest {
    /// The password. A guest has none and leaves it out.
    #[schema(format = "password", nullable = false)]
    password: Option<String>,
}

/// Close your account
///
/// For good. Games that go on are resigned. The name, the profile, the password and all sessions go; the games stay,
/// played by `closed`, and nobody else can take the name.
#[utoipa::path(
    operation_id = "closeAccount",
    tag = "Accounts",
    request_body = CloseAccountRequest,
    responses((status = 204, description = "The account is closed")),
    security(("bearer" = [])),
    extensions(("x-problems" = json!(["wrong-credentials", "invalid-fields"]))),
)]
#[delete("/v1/me")]
async fn close_account(
    caller: Caller,
    request: HttpRequest,
    body: Json<CloseAccountRequest>,
    db: Data<PgPool>,
    events: Data<Events>,
    clock: Data<WallClock>,
    accounts: Data<Accounts>,
) -> Result<HttpResponse, ApiError> {
    let (password, now) = (body.into_inner().password, clock.now());
    accounts.close_account(&db, now, &client_address(&request), caller.0, password).await?;
    games::resign_all(&db, &events, now, caller.0.player).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// The password that is, and the one that shall be.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"current_password": "correct-horse-battery", "new_password": "seven hounds, one moor"}))]
struct ChangePasswordRequest {
    /// The password as it is.
    #[schema(format = "password")]
    current_password: String,
    /// 8 to 128 characters, any of them; refused when it is easy to guess or contains the username.
    #[schema(min_length = 8, max_length = 128, format = "password")]
    new_password: String,
}

impl From<ChangePasswordRequest> for PasswordChange {
    fn from(request: ChangePasswordRequest) -> PasswordChange {
        PasswordChange { current: request.current_password, new: request.new_password }
    }
}

/// Change your password
///
/// Ends all sessions but the one that asks.
#[utoipa::path(
    operation_id = "changePassword",
    tag = "Accounts",
    request_body = ChangePasswordRequest,
    responses((status = 204, description = "The password is changed")),
    security(("bearer" = [])),
    extensions(("x-problems" = json!(["wrong-credentials", "invalid-fields", "account-needed"]))),
)]
#[put("/v1/me/password")]
async fn change_password(
    caller: Caller,
    request: HttpRequest,
    body: Json<ChangePasswordRequest>,
    db: Data<PgPool>,
    clock: Data<WallClock>,
    accounts: Data<Accounts>,
) -> Result<HttpResponse, ApiError> {
    let change = body.into_inner().into();
    accounts.change_password(&db, clock.now(), roll(), &client_address(&request), caller.0, change).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Declare that a program plays
///
/// Only before the first rated game, and for good.
#[utoipa::path(
    operation_id = "declareBot",
    tag = "Accounts",
    responses((status = 200, description = "The account as it is now", body = MeView)),
    security(("bearer" = [])),
    extensions(("x-problems" = json!(["bot-too-late", "account-needed"]))),
)]
#[put("/v1/me/bot")]
async fn declare_bot(caller: Caller, db: Data<PgPool>) -> Result<Json<MeView>, ApiError> {
    Ok(Json(accounts::declare_bot(&db, caller.0.player).await?.into()))
}

/// The address that a request comes from, as limits count it.
pub fn client_address(request: &HttpRequest) -> String {
    let source = request.app_data::<Data<Accounts>>().map_or(AddressSource::Peer, |it| it.address_source());
    let info = request.connection_info();
    let address = match source {
        AddressSource::Peer => info.peer_addr(),
        AddressSource::Proxy => info.realip_remote_addr(),
    };
    attempts::network_of(address.unwrap_or_default())
}

/// Where a request that opens a session comes from.
///
/// # Errors
///
/// When its Idempotency-Key is malformed.
pub fn client(request: &HttpRequest) -> Result<Client, ApiError> {
    let user_agent =
        request.headers().get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    Ok(Client {
        address: client_address(request),
        user_agent: user_agent.chars().filter(|c| !c.is_control()).take(USER_AGENT_CHARS).collect(),
        idempotency_key: query::idempotency_key(request)?,
    })
}

fn session_of(text: &str, caller: Claimant) -> Result<SessionId, ApiError> {
    if text == "current" {
        return Ok(caller.session);
    }
    let detail = "the session must be an id or the word 'current'";
    text.parse().map_err(|_| ApiError::new(error::NOT_FOUND, detail))
}

/// What an operation that opens a session draws.
pub fn draw() -> Drawn {
    Drawn { player: roll(), session: roll(), refresh_token: roll(), salt: roll() }
}

impl From<TooManyAttempts> for ApiError {
    fn from(err: TooManyAttempts) -> ApiError {
        ApiError::of(error::TOO_MANY_REQUESTS).retry_after_ms(err.retry_after_ms)
    }
}

impl From<HashError> for ApiError {
    fn from(err: HashError) -> ApiError {
        match err {
            HashError::Busy => ApiError::unavailable(BUSY_RETRY_MS),
            HashError::Failed(_) => ApiError::internal(err),
        }
    }
}

impl From<KeyError> for ApiError {
    fn from(err: KeyError) -> ApiError {
        match err {
            KeyError::Database(err) => err.into(),
            KeyError::Configured | KeyError::NoKey | KeyError::Signing(_) => ApiError::internal(err),
        }
    }
}

impl From<RegisterError> for ApiError {
    fn from(err: RegisterError) -> ApiError {
        match err {
            RegisterError::TooManyAttempts(err) => err.into(),
            RegisterError::Username(err) => ApiError::invalid_field("/username", err),
            RegisterError::Password(err) => ApiError::invalid_field("/password", err),
            RegisterError::UsernameTaken => ApiError::of(error::USERNAME_TAKEN),
            RegisterError::Hash(err) => err.into(),
            RegisterError::Key(err) => err.into(),
            RegisterError::Database(err) => err.into(),
        }
    }
}

impl From<LogInError> for ApiError {
    fn from(err: LogInError) -> ApiError {
        match err {
            LogInError::TooManyAttempts(err) => err.into(),
            LogInError::WrongCredentials => ApiError::of(error::WRONG_CREDENTIALS),
            LogInError::Banned => ApiError::of(error::ACCOUNT_BANNED),
            LogInError::Hash(err) => err.into(),
            LogInError::Key(err) => err.into(),
            LogInError::Database(err) => err.into(),
        }
    }
}

impl From<RefreshError> for ApiError {
    fn from(err: RefreshError) -> ApiError {
        match err {
            RefreshError::Invalid => ApiError::of(error::REFRESH_TOKEN_INVALID),
            RefreshError::Reused => ApiError::of(error::REFRESH_TOKEN_REUSED),
            RefreshError::Key(err) => err.into(),
            RefreshError::Database(err) => err.into(),
        }
    }
}

impl From<ChangePasswordError> for ApiError {
    fn from(err: ChangePasswordError) -> ApiError {
        match err {
            ChangePasswordError::TooManyAttempts(err) => err.into(),
            ChangePasswordError::Guest => ApiError::of(error::ACCOUNT_NEEDED),
            ChangePasswordError::WrongPassword => {
                ApiError::new(error::WRONG_CREDENTIALS, "the current password is wrong")
            }
            ChangePasswordError::Password(err) => ApiError::invalid_field("/new_password", err),
            ChangePasswordError::Hash(err) => err.into(),
            ChangePasswordError::Database(err) => err.into(),
        }
    }
}

impl From<CloseAccountError> for ApiError {
    fn from(err: CloseAccountError) -> ApiError {
        match err {
            CloseAccountError::TooManyAttempts(err) => err.into(),
            CloseAccountError::PasswordMissing => ApiError::invalid_field("/password", err),
            CloseAccountError::WrongPassword => {
                ApiError::new(error::WRONG_CREDENTIALS, "the password is wrong")
            }
            CloseAccountError::Hash(err) => err.into(),
            CloseAccountError::Database(err) => err.into(),
        }
    }
}

impl From<ProfileError> for ApiError {
    fn from(err: ProfileError) -> ApiError {
        match err {
            ProfileError::Closed => ApiError::of(error::TOKEN_INVALID),
            ProfileError::Guest => ApiError::of(error::ACCOUNT_NEEDED),
            ProfileError::Bio(err) => ApiError::invalid_field("/bio", err),
            ProfileError::Database(err) => err.into(),
        }
    }
}

impl From<DeclareBotError> for ApiError {
    fn from(err: DeclareBotError) -> ApiError {
        match err {
            DeclareBotError::Closed => ApiError::of(error::TOKEN_INVALID),
            DeclareBotError::Guest => ApiError::of(error::ACCOUNT_NEEDED),
            DeclareBotError::TooLate => ApiError::of(error::BOT_TOO_LATE),
            DeclareBotError::Database(err) => err.into(),
        }
    }
}
