//! Guests over HTTP: playing at once, and signing up later.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::LOCATION,
    post,
    web::{Data, Json},
};
use serde::Deserialize;
use sqlx::PgPool;
use utoipa::ToSchema;
use utoipa_actix_web::service_config::ServiceConfig;

use super::{
    accounts::{LoggedInView, MeView, client, client_address, draw},
    auth::Caller,
    error::{self, ApiError},
};
use crate::{
    accounts::{Accounts, Claim, ClaimError, GuestError},
    dice::roll,
    games::HotGames,
    wall_clock::WallClock,
};

/// Adds the operations.
pub fn routes(config: &mut ServiceConfig) {
    config.service(welcome_guest).service(claim_guest);
}

/// Play as a guest
///
/// Makes a guest with a made-up name and answers the tokens of its session, which are used and refreshed like those of
/// an account. Guests play casual games and the computer. A guest that has shown no sign of life for 30 days is removed;
/// its games stay, played by `guest`.
///
/// A repeat with the same `Idempotency-Key` within 24 hours answers for the same guest and session, with new tokens.
/// Whoever knows the key has the guest: make it at random.
#[utoipa::path(
    operation_id = "createGuest",
    tag = "Accounts",
    params(("Idempotency-Key" = Option<String>, Header, description = "Makes a repeat safe: 22 to 64 visible ASCII characters, hard to guess")),
    responses((status = 201, description = "The guest, logged in", body = LoggedInView,
        headers(("Location" = String, description = "The guest's public page")))),
    security(()),
    extensions(("x-problems" = json!(["account-banned"]))),
)]
#[post("/v1/guests")]
async fn welcome_guest(
    request: HttpRequest,
    db: Data<PgPool>,
    clock: Data<WallClock>,
    accounts: Data<Accounts>,
) -> Result<HttpResponse, ApiError> {
    let welcomed = accounts.welcome_guest(&db, clock.now(), draw(), client(&request)?).await?;
    let location = format!("/v1/players/{}", welcomed.0.username);
    Ok(HttpResponse::Created().insert_header((LOCATION, location)).json(LoggedInView::from(welcomed)))
}

impl From<GuestError> for ApiError {
    fn from(err: GuestError) -> ApiError {
        match err {
            GuestError::TooManyAttempts(err) => err.into(),
            GuestError::WeakKey => ApiError::new(error::MALFORMED_REQUEST, err),
            GuestError::Banned => ApiError::of(error::ACCOUNT_BANNED),
            GuestError::Key(err) => err.into(),
            GuestError::Database(err) => err.into(),
        }
    }
}

/// The name and password that a guest wants.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"username": "moorhen", "password": "correct-horse-battery"}))]
struct ClaimRequest {
    /// 3 to 20 letters (A-Z, a-z), digits, `_` or `-`; unique without regard to case.
    #[schema(min_length = 3, max_length = 20, pattern = "^[A-Za-z0-9_-]{3,20}$")]
    username: String,
    /// 8 to 128 characters, any of them; refused when it is easy to guess or contains the username.
    #[schema(min_length = 8, max_length = 128, format = "password")]
    password: String,
}

impl From<ClaimRequest> for Claim {
    fn from(ClaimRequest { username, password }: ClaimRequest) -> Claim {
        Claim { username, password }
    }
}

/// Make your guest an account
///
/// It keeps its games, those that are going too, and its sessions. Claiming the same again changes nothing.
#[utoipa::path(
    operation_id = "claimGuest",
    tag = "Accounts",
    request_body = ClaimRequest,
    responses((status = 200, description = "The account", body = MeView)),
    security(("bearer" = [])),
    extensions(("x-problems" = json!(["invalid-fields", "username-taken", "no-guest"]))),
)]
#[post("/v1/me/claim")]
async fn claim_guest(
    caller: Caller,
    request: HttpRequest,
    body: Json<ClaimRequest>,
    db: Data<PgPool>,
    clock: Data<WallClock>,
    accounts: Data<Accounts>,
    hot: Data<HotGames>,
) -> Result<Json<MeView>, ApiError> {
    let (claim, address) = (body.into_inner().into(), client_address(&request));
    let claimed = accounts.claim_guest(&db, clock.now(), roll(), &address, caller.0, claim).await?;
    hot.forget_games_of(caller.0.player);
    Ok(Json(claimed.into()))
}

impl From<ClaimError> for ApiError {
    fn from(err: ClaimError) -> ApiError {
        match err {
            ClaimError::TooManyAttempts(err) => err.into(),
            ClaimError::Username(err) => ApiError::invalid_field("/username", err),
            ClaimError::Password(err) => ApiError::invalid_field("/password", err),
            ClaimError::UsernameTaken => ApiError::of(error::USERNAME_TAKEN),
            ClaimError::NoGuest => ApiError::of(error::NO_GUEST),
            ClaimError::Hash(err) => err.into(),
            ClaimError::Database(err) => err.into(),
        }
    }
}
