//! Games against the computer over HTTP.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::LOCATION,
    post,
    web::{Data, Json},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sqlx::PgPool;
use utoipa::ToSchema;
use utoipa_actix_web::service_config::ServiceConfig;

use super::{
    auth::Caller,
    error::{self, ApiError},
    query,
    views::{GameView, VariantName, no_clock, rules_of, yes},
};
use crate::{
    dice::roll,
    events::Events,
    games::{
        ClockSetting,
        computer::{self, BeginError, ComputerPlayer, NewComputerGame},
    },
    ids::GameId,
    lobby::challenges::RoleWish,
    wall_clock::WallClock,
};

/// Adds the operations.
pub fn routes(config: &mut ServiceConfig) {
    config.service(create_game);
}

/// Who plays against you.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ComputerOpponent {
    /// How strong the computer plays: 1 errs most often, 8 is perfect where the server has a table for the rules.
    #[schema(minimum = 1, maximum = 8, example = 4)]
    computer: i64,
}

/// A game against the computer. What is left out is as usual.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"variant": "hare-and-hounds", "opponent": {"computer": 4}, "role": "hounds"}))]
struct GameRequest {
    variant: VariantName,
    opponent: ComputerOpponent,
    /// The house rules that differ from the usual ones.
    #[serde(default)]
    rules: Map<String, Value>,
    /// No clock, if left out.
    #[serde(default = "no_clock")]
    clock: ClockSetting,
    /// Your role; a coin decides if left out.
    #[serde(default)]
    role: RoleWish,
    /// Whether a rematch swaps the roles; it does if left out.
    #[serde(default = "yes")]
    swap_roles: bool,
}

impl GameRequest {
    fn read(&self, request: &HttpRequest) -> Result<NewComputerGame, ApiError> {
        let level = self.opponent.computer.try_into();
        Ok(NewComputerGame {
            rules: rules_of(self.variant, &self.rules, "/rules/")?,
            clock: self.clock,
            role: self.role.chosen(),
            level: level.map_err(|err| ApiError::invalid_field("/opponent/computer", err))?,
            swap_roles: self.swap_roles,
            repeatable: query::repeatable(request, self)?,
        })
    }
}

impl From<BeginError> for ApiError {
    fn from(err: BeginError) -> ApiError {
        match err {
            BeginError::Clock(member, allowed) => {
                ApiError::invalid_field(format!("/clock/{member}"), allowed)
            }
            BeginError::TooMany => ApiError::new(error::TOO_MANY_GAMES, err),
            BeginError::KeyReused => ApiError::of(error::IDEMPOTENCY_KEY_REUSED),
            BeginError::Database(err) => err.into(),
        }
    }
}

/// Plays against the computer
///
/// Begins a game against the computer, at once and never rated. It answers your moves by itself, accepts a draw when
/// the tables say that it cannot hope for more, and any rematch. At every turn a level misses the best move with a
/// fixed chance: 60, 45, 33, 23, 15, 9 and 4 in a hundred from level 1 to 7, and never at level 8. What it misses is
/// rarely a plain blunder. Rules that the server has no table for (see `leveret solve`) are played by a search,
/// which is decent and not perfect, at every level.
///
/// A repeat with the same `Idempotency-Key` and body answers the game that the first one made, as it is by now.
#[utoipa::path(
    tag = "Games", operation_id = "createGame",
    params(("Idempotency-Key" = Option<String>, Header,
        description = "Makes a repeat safe: 1 to 64 printable ASCII characters")),
    request_body = GameRequest,
    responses((status = 201, description = "The game", body = GameView,
        headers(("Location" = String, description = "The game's address")))),
    security(("bearer" = [])),
    extensions(("x-problems" = json!(["invalid-fields", "idempotency-key-reused", "too-many-games"]))),
)]
#[post("/v1/games")]
async fn create_game(
    caller: Caller,
    request: HttpRequest,
    body: Json<GameRequest>,
    db: Data<PgPool>,
    clock: Data<WallClock>,
    computer: Data<ComputerPlayer>,
    events: Data<Events>,
) -> Result<HttpResponse, ApiError> {
    let now = clock.now();
    let wanted = body.read(&request)?;
    let id = GameId::new(now, roll());
    let game = computer::begin(&db, caller.0.player, &events, &wanted, now, id, roll()).await?;
    computer.look_at(&game);
    Ok(HttpResponse::Created()
        .insert_header((LOCATION, format!("/v1/games/{}", game.id)))
        .json(GameView::of(&game, now)))
}
