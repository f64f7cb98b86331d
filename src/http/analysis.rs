//! What positions and finished games are worth, over HTTP.

use actix_web::{
    HttpRequest, HttpResponse, get,
    web::{Data, Json, Path, Query},
};
use serde::{Deserialize, Serialize};
use serde_json::Map;
use sqlx::PgPool;
use utoipa::{IntoParams, ToSchema};
use utoipa_actix_web::service_config::ServiceConfig;

use super::{
    error::{self, ApiError},
    query,
    views::{BothRoles, ResultName, RoleName, VariantName, rules_of},
};
use crate::{
    games::{
        LivePositions,
        analysis::{self, Accuracy, AnalysisError, JudgedPly, Verdict},
        house_rules,
    },
    ids::GameId,
    rules::{Position, Rules, Variant},
    solver::{Solver, Value},
};

/// Adds the operations.
pub fn routes(config: &mut ServiceConfig) {
    config.service(analyse_position).service(analyse_game);
}

/// What a position is worth with best play.
#[derive(Clone, Copy, Serialize, ToSchema)]
struct ValueView {
    /// Who wins, or `draw`.
    value: ResultName,
    /// In how many plies, if the winner hurries and the loser delays. Null for a draw, and for a win whose length
    /// depends on the game's history: the hare evades until the hounds have run out of moves.
    #[schema(required = true, example = 23)]
    distance: Option<u16>,
}

impl From<Value> for ValueView {
    fn from(value: Value) -> ValueView {
        ValueView { value: value.result.into(), distance: value.plies }
    }
}

/// A move and what it leads to.
#[derive(Serialize, ToSchema)]
struct ValuedMoveView {
    /// The move.
    #[serde(rename = "move")]
    #[schema(example = "b1-b2")]
    text: String,
    #[serde(flatten)]
    leads_to: ValueView,
}

/// What a position is worth, and its moves, best first.
#[derive(Serialize, ToSchema)]
#[schema(as = PositionAnalysis)]
struct PositionAnalysisView {
    variant: VariantName,
    /// All house rules, spelled out.
    #[schema(example = json!({"getting_away": "thirty-moves", "hare_start": "right-end"}))]
    rules: Map<String, serde_json::Value>,
    #[schema(example = "a2b1b3/e2 hounds")]
    position: String,
    #[serde(flatten)]
    worth: ValueView,
    /// Each move with the value of the position after it, best first for the side to move; none when the position is
    /// an end.
    moves: Vec<ValuedMoveView>,
}

/// The position to analyse. House rules that are left out are as usual.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct AnalysisQuery {
    /// The position, as in a game's snapshot.
    #[param(example = "a2b1b3/e2 hounds")]
    position: String,
    /// Hare and Hounds: how the hare gets away.
    getting_away: Option<String>,
    /// Hare and Hounds: where the hare starts. It makes no difference to what a position is worth.
    hare_start: Option<String>,
    /// Catch the Hare: the board.
    board: Option<String>,
    /// Catch the Hare: how many hunters the game began with.
    hunters: Option<i64>,
    /// Catch the Hare: when the hunters are too few.
    too_few: Option<String>,
}

impl AnalysisQuery {
    fn rules(&self, variant: VariantName) -> Result<Rules, ApiError> {
        let texts = [
            ("getting_away", &self.getting_away),
            ("hare_start", &self.hare_start),
            ("board", &self.board),
            ("too_few", &self.too_few),
        ];
        let mut given: Map<String, serde_json::Value> = texts
            .into_iter()
            .filter_map(|(name, text)| Some((name.to_owned(), text.clone()?.into())))
            .collect();
        if let Some(hunters) = self.hunters {
            given.insert("hunters".to_owned(), hunters.into());
        }
        rules_of(variant, &given, "/")
    }
}

/// Analyses a position
///
/// The exact value of a position with best play, from a complete table, and of every move in it. The history of a game
/// is not looked at: in Hare and Hounds neither the ban on repetition nor the number of moves left, in Catch the Hare
/// neither draw rule. The analysis of a finished game looks at the former.
///
/// A position that stands in a live rated game at this moment, or whose mirror image does, is refused: its players
/// could ask. That keeps nobody from asking for the positions one move further on, from an answer that they kept, or
/// from solving the game themselves, as both games are small. `leveret fair-play` shows an operator who plays more
/// precisely than their rating explains.
#[utoipa::path(
    tag = "Analysis", operation_id = "analysePosition",
    params(("variant" = String, Path, description = "The variant", example = "hare-and-hounds"), AnalysisQuery),
    responses(
        (status = 200, description = "What it is worth", body = PositionAnalysisView, headers(
            ("etag" = String, description = "The same for the same answer"),
            ("cache-control" = String, description = "How long it may be kept"),
        )),
        (status = 304, description = "The answer that you have is still right"),
    ),
    security(()),
    extensions(("x-problems" = json!(["not-found", "invalid-fields", "position-in-play", "not-solved"]))),
)]
#[get("/v1/variants/{variant}/analysis")]
async fn analyse_position(
    request: HttpRequest,
    variant: Path<String>,
    query: Query<AnalysisQuery>,
    db: Data<PgPool>,
    solver: Data<Solver>,
    live: Data<LivePositions>,
) -> Result<HttpResponse, ApiError> {
    let variant: Variant = variant.parse().map_err(|_| {
        ApiError::new(error::NOT_FOUND, "no variant has this name; GET /v1/variants lists all")
    })?;
    let rules = query.rules(variant.into())?;
    let position =
        Position::parse(rules, &query.position).map_err(|err| ApiError::invalid_field("/position", err))?;
    if live.has(&db, variant, position).await? {
        return Err(ApiError::of(error::POSITION_IN_PLAY));
    }
    let (Some(worth), Some(moves)) = (solver.position(rules, position), solver.moves(rules, position)) else {
        return Err(not_solved());
    };
    let view = PositionAnalysisView {
        variant: variant.into(),
        rules: house_rules::to_json(&rules),
        position: position.to_string(),
        worth: worth.into(),
        moves: moves
            .into_iter()
            .map(|(mv, value)| ValuedMoveView { text: mv.to_string(), leads_to: value.into() })
            .collect(),
    };
    Ok(query::lasting_response(&request, &view))
}

fn not_solved() -> ApiError {
    ApiError::of(error::NOT_SOLVED)
}

/// What a move was.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Verdict)]
enum VerdictName {
    /// Every legal move was worth the same.
    NoChoice,
    /// None was better.
    Best,
    /// It keeps the result, but the win takes longer or the loss comes sooner.
    Slower,
    /// It gives the result away.
    ThrewAway,
}

/// One ply of a game, judged.
#[derive(Serialize, ToSchema)]
#[schema(as = JudgedPly)]
struct JudgedPlyView {
    /// Its number, from 1.
    #[schema(example = 1)]
    ply: u16,
    role: RoleName,
    /// The move.
    #[serde(rename = "move")]
    #[schema(example = "b1-b2")]
    text: String,
    /// What the game was worth before it.
    before: ValueView,
    /// What it was worth after it.
    after: ValueView,
    /// The moves of which none was better.
    #[schema(example = json!(["b1-b2"]))]
    best: Vec<String>,
    verdict: VerdictName,
    /// 0 to 100; null where there was no choice.
    #[schema(required = true, example = 90.5)]
    score: Option<f64>,
}

impl From<JudgedPly> for JudgedPlyView {
    fn from(judged: JudgedPly) -> JudgedPlyView {
        JudgedPlyView {
            ply: judged.ply,
            role: judged.role.into(),
            text: judged.text,
            before: judged.before.into(),
            after: judged.after.into(),
            best: judged.best,
            verdict: match judged.verdict {
                Verdict::NoChoice => VerdictName::NoChoice,
                Verdict::Best => VerdictName::Best,
                Verdict::Slower => VerdictName::Slower,
                Verdict::ThrewAway => VerdictName::ThrewAway,
            },
            score: judged.score,
        }
    }
}

/// How one side played.
#[derive(Serialize, ToSchema)]
#[schema(as = Accuracy)]
struct AccuracyView {
    /// The mean of its moves' scores, 0 to 100; null when it never had a choice.
    #[schema(required = true, example = 93.2)]
    accuracy: Option<f64>,
    /// How often its moves were not all worth the same.
    #[schema(example = 11)]
    choices: u32,
    /// How often one move only kept the result, with others to choose from.
    #[schema(example = 5)]
    tests: u32,
    /// How often that one was played.
    #[schema(example = 4)]
    passed: u32,
}

impl From<Accuracy> for AccuracyView {
    fn from(side: Accuracy) -> AccuracyView {
        let Accuracy { accuracy, choices, tests, passed } = side;
        AccuracyView { accuracy, choices, tests, passed }
    }
}

/// A finished game, judged ply by ply.
#[derive(Serialize, ToSchema)]
#[schema(as = GameAnalysis)]
struct GameAnalysisView {
    game: GameId,
    /// How precisely both sides played.
    accuracy: BothRoles<AccuracyView>,
    /// The ply that lost it: the last by which the side that lost gave away a result that it still had. Null when it
    /// was lost from the start, and when nobody lost.
    #[schema(required = true, example = 13)]
    lost_by: Option<u16>,
    /// Every ply, in order.
    plies: Vec<JudgedPlyView>,
}

impl From<AnalysisError> for ApiError {
    fn from(err: AnalysisError) -> ApiError {
        match err {
            AnalysisError::NoSuchGame => ApiError::new(error::NOT_FOUND, "no game has this id"),
            AnalysisError::GameNotOver => ApiError::of(error::GAME_NOT_OVER),
            AnalysisError::NotSolved => not_solved(),
            AnalysisError::BrokeOff(err) => ApiError::internal(err),
            AnalysisError::Database(err) => err.into(),
        }
    }
}

/// Analyses a finished game
///
/// What the game was worth before and after every ply, from the exact tables, and how precisely both sides played.
///
/// A move scores `100 · e^(−w / 20)` when it keeps the result, where `w` is by how many plies it puts off a win or
/// hastens a loss; 25 when it turns a win into a draw; 0 when it gives the result away otherwise. A side's accuracy is
/// the mean over the moves at which it had a choice, that is, where its legal moves were not all worth the same. In
/// Hare and Hounds the values look at the game's history (the ban on repetition, the moves left); in Catch the Hare
/// the two draw rules are left out.
#[utoipa::path(
    tag = "Analysis", operation_id = "analyseGame",
    params(("game_id" = GameId, Path, description = "The game's id")),
    responses((status = 200, description = "The game, judged", body = GameAnalysisView)),
    security(()),
    extensions(("x-problems" = json!(["not-found", "game-not-over", "not-solved"]))),
)]
#[get("/v1/games/{game_id}/analysis")]
async fn analyse_game(
    id: Path<GameId>,
    db: Data<PgPool>,
    solver: Data<Solver>,
) -> Result<Json<GameAnalysisView>, ApiError> {
    let (game, analysis) = analysis::of_game(&db, &solver, *id).await?;
    Ok(Json(GameAnalysisView {
        game: game.id,
        accuracy: analysis.sides.map(AccuracyView::from).into(),
        lost_by: analysis.lost_by,
        plies: analysis.plies.into_iter().map(JudgedPlyView::from).collect(),
    }))
}
