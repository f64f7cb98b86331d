//! What more than one endpoint shows, and the words that the API uses for it.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{clock_view::ClockView, error::ApiError};
use crate::{
    games::{ClockSetting, Ending, Game, OnDrop, house_rules},
    ids::GameId,
    ratings::RatingChange,
    rules::{ByRole, GameResult, Role, RuleError, Rules, Variant},
    solver::computer::Level,
    wall_clock::Timestamp,
};

/// An instant on the wire: RFC 3339, UTC, always with milliseconds.
#[derive(Clone, Copy, Debug, ToSchema)]
#[schema(value_type = String, format = "date-time", example = "2026-12-01T10:00:00.000Z")]
pub struct Instant(pub Timestamp);

impl From<Timestamp> for Instant {
    fn from(at: Timestamp) -> Instant {
        Instant(at)
    }
}

impl Serialize for Instant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.to_rfc3339_opts(chrono::SecondsFormat::Millis, true))
    }
}

/// The name of a closed account, which is nobody's.
pub const CLOSED: &str = "closed";

/// What to call somebody whose account may be closed.
pub fn name_or_closed(username: Option<String>) -> String {
    username.unwrap_or_else(|| CLOSED.to_owned())
}

/// A role. The pack is called `hounds` in both games.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Role)]
pub enum RoleName {
    /// The pack: three hounds, or the hunters.
    Hounds,
    /// The hare.
    Hare,
}

impl From<Role> for RoleName {
    fn from(role: Role) -> RoleName {
        match role {
            Role::Hounds => RoleName::Hounds,
            Role::Hare => RoleName::Hare,
        }
    }
}

impl From<RoleName> for Role {
    fn from(role: RoleName) -> Role {
        match role {
            RoleName::Hounds => Role::Hounds,
            RoleName::Hare => Role::Hare,
        }
    }
}

/// No clock, where a request leaves it out.
pub fn no_clock() -> ClockSetting {
    ClockSetting::None
}

/// What a request leaves out is on.
pub fn yes() -> bool {
    true
}

/// The house rules that a request asks for; `pointer` leads to where they stand.
///
/// # Errors
///
/// Which rule is unknown or has a value that is not allowed.
pub fn rules_of(variant: VariantName, given: &Map<String, Value>, pointer: &str) -> Result<Rules, ApiError> {
    house_rules::from_json(variant.into(), given).map_err(|err| invalid_rule(&err, pointer))
}

/// A house rule that is not allowed.
pub fn invalid_rule(err: &RuleError, pointer: &str) -> ApiError {
    let member = err.name().replace('~', "~0").replace('/', "~1");
    ApiError::invalid_field(format!("{pointer}{member}"), err)
}

/// Which game is played.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[schema(as = Variant)]
pub enum VariantName {
    /// Three hounds corner a hare on eleven points.
    HareAndHounds,
    /// Hunters enclose a leaping hare on the alquerque board.
    CatchTheHare,
}

impl From<Variant> for VariantName {
    fn from(variant: Variant) -> VariantName {
        match variant {
            Variant::HareAndHounds => VariantName::HareAndHounds,
            Variant::CatchTheHare => VariantName::CatchTheHare,
        }
    }
}

impl From<VariantName> for Variant {
    fn from(variant: VariantName) -> Variant {
        match variant {
            VariantName::HareAndHounds => Variant::HareAndHounds,
            VariantName::CatchTheHare => Variant::CatchTheHare,
        }
    }
}

/// Who won.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Result)]
pub enum ResultName {
    /// The pack.
    Hounds,
    /// The hare.
    Hare,
    /// Nobody.
    Draw,
}

impl From<GameResult> for ResultName {
    fn from(result: GameResult) -> ResultName {
        match result {
            GameResult::Hounds => ResultName::Hounds,
            GameResult::Hare => ResultName::Hare,
            GameResult::Draw => ResultName::Draw,
        }
    }
}

impl From<ResultName> for GameResult {
    fn from(result: ResultName) -> GameResult {
        match result {
            ResultName::Hounds => GameResult::Hounds,
            ResultName::Hare => GameResult::Hare,
            ResultName::Draw => GameResult::Draw,
        }
    }
}

/// Whether a game goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = GameStatus)]
pub enum StatusName {
    /// It goes on.
    Ongoing,
    /// It has a result.
    Finished,
    /// It was called off and has none.
    Aborted,
}

/// One value for each role.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct BothRoles<T> {
    /// The pack's.
    pub hounds: T,
    /// The hare's.
    pub hare: T,
}

impl<T> From<ByRole<T>> for BothRoles<T> {
    fn from(both: ByRole<T>) -> BothRoles<T> {
        BothRoles { hounds: both.hounds, hare: both.hare }
    }
}

/// Who moves a side's pieces.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Controller {
    /// The player.
    Player,
    /// The computer.
    Computer,
}

/// One side of a game.
#[derive(Debug, Serialize, ToSchema)]
pub struct SideView {
    /// Who plays it; `closed` when the account is gone, `guest` when a guest is.
    #[schema(example = "moorhen")]
    username: String,
    /// The rating in the pool when the game began; null for a game without a pool.
    #[schema(example = 1532.4)]
    rating: Option<f64>,
    /// Whether that rating was still provisional.
    provisional: bool,
    /// Who moves its pieces.
    controller: Controller,
    /// How strong the computer plays, 1 to 8, when it moves them.
    #[schema(required = true, example = json!(null))]
    computer_level: Option<u8>,
    /// Whether the player has shown a sign of life in the last 30 seconds: a call with their token, or an open stream.
    present: bool,
    /// From when on the other side may claim the game, if this one stays away; null while it is present, and in games
    /// that cannot be claimed.
    #[schema(required = true)]
    claimable_at: Option<Instant>,
}

impl SideView {
    fn of(game: &Game, role: Role, now: Timestamp) -> SideView {
        let seat = &game.seats[role];
        let present = game.away_since(role, now).is_none();
        SideView {
            username: name_or_closed(seat.username.clone()),
            rating: seat.rating,
            provisional: seat.provisional,
            controller: if seat.computer.is_some() { Controller::Computer } else { Controller::Player },
            computer_level: seat.computer.map(Level::number),
            present,
            claimable_at: game.claimable_at(role).filter(|_| !present).map(Instant::from),
        }
    }
}

/// Where a rematch stands.
#[derive(Debug, Serialize, ToSchema)]
pub struct RematchView {
    /// The roles of those who want one.
    offered_by: Vec<RoleName>,
    /// The rematch, when both wanted it.
    game: Option<GameId>,
}

/// What a game did to one rating.
#[derive(Debug, Serialize, ToSchema)]
pub struct RatingChangeView {
    /// Rating before, idle time counted.
    #[schema(example = 1500.0)]
    before: f64,
    /// Rating after.
    #[schema(example = 1662.310894)]
    after: f64,
    /// RD before, idle time counted.
    #[schema(example = 350.0)]
    rd_before: f64,
    /// RD after.
    #[schema(example = 290.318964)]
    rd_after: f64,
    /// What this side was expected to score, 0 to 1.
    #[schema(example = 0.5)]
    expected_score: f64,
    /// What the hounds were worth in this game, in rating points: the pool's published role offset.
    #[schema(example = 0.0)]
    role_offset: f64,
}

impl From<RatingChange> for RatingChangeView {
    fn from(change: RatingChange) -> RatingChangeView {
        let RatingChange { before, after, rd_before, rd_after, expected_score, role_offset } = change;
        RatingChangeView { before, after, rd_before, rd_after, expected_score, role_offset }
    }
}

/// A game: everything that is needed to play and to draw it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Game)]
pub struct GameView {
    /// Its id.
    id: GameId,
    variant: VariantName,
    /// All house rules, spelled out.
    #[schema(example = json!({"getting_away": "thirty-moves", "hare_start": "right-end"}))]
    rules: Map<String, Value>,
    /// The pool it counts for; null for a game without one.
    #[schema(example = "hare-and-hounds")]
    pool: Option<String>,
    /// Whether it changes ratings.
    rated: bool,
    status: StatusName,
    players: BothRoles<SideView>,
    /// The position before the first move.
    #[schema(example = "a2b1b3/e2 hounds")]
    start: String,
    /// The position now: the pack's points, the hare's point, and whose turn it is.
    #[schema(example = "a2b2b3/d2 hounds")]
    position: String,
    /// How many plies are played. The next move is ply + 1.
    #[schema(example = 2)]
    ply: u16,
    /// Whose turn it is; null when the game is over.
    turn: Option<RoleName>,
    /// The moves that are allowed now, as they must be sent; none when the game is over.
    #[schema(example = json!(["a2-b1", "b2-b1", "b2-c2", "b3-c2", "b3-c3"]))]
    legal_moves: Vec<String>,
    /// The moves so far.
    #[schema(example = json!(["b1-b2", "e2-d2"]))]
    moves: Vec<String>,
    clock: ClockView,
    on_drop: OnDrop,
    /// After how long without a sign of life a side has left.
    #[schema(example = 60_000)]
    drop_after_ms: i32,
    /// The server's time when it answered.
    server_now: Instant,
    created_at: Instant,
    ended_at: Option<Instant>,
    /// The role whose draw offer stands.
    draw_offer: Option<RoleName>,
    rematch: RematchView,
    /// The game that this one is the rematch of.
    rematch_of: Option<GameId>,
    /// Who won; null while it goes on and when it was aborted.
    result: Option<ResultName>,
    /// Why it ended: `cornered`, `escaped`, `move-limit`, `stalling`, `hounds-stuck`, `enclosed`,
    /// `hunters-too-few`, `repetition`, `no-progress`, `resignation`, `timeout`, `abandonment`, `agreement` or `aborted`.
    #[schema(example = "cornered")]
    reason: Option<String>,
    /// What it did to the ratings; null while it goes on and when it was not rated.
    rating_changes: Option<BothRoles<RatingChangeView>>,
}

impl GameView {
    /// The snapshot of a game at `now`.
    pub fn of(game: &Game, now: Timestamp) -> GameView {
        let ending = game.ended.map(|(ending, _)| ending);
        GameView {
            id: game.id,
            variant: game.variant().into(),
            rules: house_rules::to_json(&game.play.rules()),
            pool: game.pool.clone(),
            rated: game.rated,
            status: match ending {
                None => StatusName::Ongoing,
                Some(Ending::Aborted) => StatusName::Aborted,
                Some(_) => StatusName::Finished,
            },
            players: ByRole::from_fn(|role| SideView::of(game, role, now)).into(),
            start: game.play.start().to_string(),
            position: game.play.position().to_string(),
            ply: game.ply(),
            turn: game.is_ongoing().then(|| game.play.turn().into()),
            legal_moves: game.legal_moves(),
            moves: game.moves.clone(),
            clock: ClockView::of(&game.clock, now),
            on_drop: game.on_drop,
            drop_after_ms: game.drop_after.ms(),
            server_now: now.into(),
            created_at: game.created_at.into(),
            ended_at: game.ended.map(|(_, at)| at.into()),
            draw_offer: game.draw_offer.map(RoleName::from),
            rematch: RematchView {
                offered_by: game
                    .rematch_wanted
                    .iter()
                    .filter(|(role, wanted)| {
                        **wanted && (game.rematch.is_some() || game.is_around(*role, now))
                    })
                    .map(|(role, _)| role.into())
                    .collect(),
                game: game.rematch,
            },
            rematch_of: game.rematch_of,
            result: ending.and_then(Ending::result).map(ResultName::from),
            reason: ending.map(Ending::reason),
            rating_changes: game.rating_changes.map(|both| both.map(RatingChangeView::from).into()),
        }
    }

    /// Its id, for a Location header.
    pub fn id(&self) -> GameId {
        self.id
    }
}
