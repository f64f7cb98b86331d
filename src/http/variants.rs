//! The games as data: enough for a client to draw and play a variant that it has never heard of.

use actix_web::{HttpRequest, HttpResponse, get, web::Path};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_actix_web::service_config::ServiceConfig;

use super::{
    error::{self, ApiError},
    query::{self, List},
};
use crate::rules::{
    Board, ByRole, Choice, GivenValue, HouseRule, Outcome, Reason, Role, RuleKind, RuleValue, Rules, Variant,
};

/// How many of the moves from a start position are shown.
const EXAMPLE_MOVES: usize = 5;

/// Adds the operations.
pub fn routes(cfg: &mut ServiceConfig<'_>) {
    cfg.service(list_variants).service(show_variant);
}

/// A game that can be played.
#[derive(Serialize, ToSchema)]
struct VariantView {
    /// Its id.
    #[schema(example = "hare-and-hounds")]
    id: &'static str,
    /// Its name, for people.
    #[schema(example = "Hare and Hounds")]
    name: &'static str,
    /// How it is played, in a few sentences.
    summary: &'static str,
    /// What it calls its sides, for people.
    role_names: RoleNamesView,
    /// The side that moves first.
    #[schema(example = "hounds")]
    first_to_move: &'static str,
    /// The board by the default rules.
    board: BoardView,
    /// Every board that it can be played on.
    boards: Vec<BoardChoiceView>,
    /// What a party may change. A pool fixes them.
    house_rules: Vec<HouseRuleView>,
    /// The positions that a game may start from, each as likely, and how house rules change them.
    starts: Vec<StartView>,
    /// How points, moves and positions are written.
    notation: NotationView,
    /// The ways in which it ends by the rules, in the order in which they are looked at after a move.
    ends: Vec<EndView>,
    /// What the traditional rules leave open, and how it is decided here.
    rulings: &'static [&'static str],
    /// A number of plies that no game by the default rules exceeds.
    #[schema(example = 59)]
    max_plies: u16,
}

/// The names of the two sides.
#[derive(Serialize, ToSchema)]
struct RoleNamesView {
    /// What the pack is called.
    #[schema(example = "Hounds")]
    hounds: &'static str,
    /// What the hunted one is called.
    #[schema(example = "Hare")]
    hare: &'static str,
}

/// Points, and the lines that pieces move along.
#[derive(Serialize, ToSchema)]
struct BoardView {
    /// The points.
    points: Vec<PointView>,
    /// Each line once, as the names of the two points that it joins.
    #[schema(value_type = Vec<Vec<String>>, example = json!([["a2", "b1"], ["a2", "b2"]]))]
    lines: Vec<[&'static str; 2]>,
}

/// A point of a board.
#[derive(Serialize, ToSchema)]
struct PointView {
    /// Its name.
    #[schema(example = "b1")]
    name: &'static str,
    /// Its column, from the left, the first being 0.
    #[schema(example = 1)]
    x: u8,
    /// Its row, from the bottom, the first being 0.
    #[schema(example = 0)]
    y: u8,
}

/// A board, and the house rules that it takes.
#[derive(Serialize, ToSchema)]
struct BoardChoiceView {
    /// The house rules with which it is this board; empty if the variant has one board only.
    #[schema(value_type = std::collections::BTreeMap<String, String>, example = json!({"board": "alquerque"}))]
    rules: serde_json::Map<String, serde_json::Value>,
    board: BoardView,
}

/// The value of a house rule: a word or a whole number.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum RuleValueView {
    /// One of some words.
    Text(&'static str),
    /// A whole number.
    Number(u8),
}

impl From<RuleValue> for RuleValueView {
    fn from(value: RuleValue) -> RuleValueView {
        match value {
            RuleValue::Text(word) => RuleValueView::Text(word),
            RuleValue::Number(number) => RuleValueView::Number(number),
        }
    }
}

/// What kind of value a house rule takes.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum RuleKindView {
    /// One of `values`.
    Choice,
    /// A whole number from `min` to `max`.
    Number,
}

/// An option that a party may change.
#[derive(Serialize, ToSchema)]
struct HouseRuleView {
    /// Its name in `rules`.
    #[schema(example = "getting_away")]
    name: &'static str,
    /// What it is about.
    #[schema(example = "How the hare gets away from hounds that only wait.")]
    explanation: &'static str,
    /// What kind of value it takes.
    #[serde(rename = "type")]
    kind: RuleKindView,
    /// The value that it has if nobody says otherwise.
    #[schema(example = "thirty-moves")]
    default: RuleValueView,
    /// The values that a choice can have.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    values: Option<Vec<ChoiceView>>,
    /// The least that a number can be.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 9)]
    min: Option<u8>,
    /// The greatest that a number can be.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 14)]
    max: Option<u8>,
}

/// A word, and what it means.
#[derive(Serialize, ToSchema)]
struct ChoiceView {
    /// The word.
    #[schema(example = "thirty-moves")]
    value: &'static str,
    /// What it means.
    explanation: &'static str,
}

impl From<&Choice> for ChoiceView {
    fn from(choice: &Choice) -> ChoiceView {
        ChoiceView { value: choice.value, explanation: choice.explanation }
    }
}

/// Where a game may start.
#[derive(Serialize, ToSchema)]
struct StartView {
    /// What differs from the default rules.
    #[schema(value_type = Object, example = json!({"hare_start": "centre"}))]
    rules: serde_json::Map<String, serde_json::Value>,
    /// The positions, each as likely.
    #[schema(example = json!(["a2b1b3/c2 hounds"]))]
    positions: Vec<String>,
}

/// How things are written.
#[derive(Serialize, ToSchema)]
struct NotationView {
    /// In words.
    explanation: &'static str,
    /// A position: where a game by the default rules starts.
    #[schema(example = "a2b1b3/e2 hounds")]
    position: String,
    /// Some of the moves that can be made there.
    #[schema(example = json!(["a2-b2", "b1-b2", "b1-c1"]))]
    moves: Vec<String>,
}

/// A way to end by the rules.
#[derive(Serialize, ToSchema)]
struct EndView {
    /// Why the game is over.
    #[schema(example = "cornered")]
    reason: &'static str,
    /// Who wins: `hounds`, `hare`, or nobody (`draw`).
    #[schema(example = "hounds")]
    result: &'static str,
    /// In words.
    explanation: &'static str,
}

impl From<Reason> for EndView {
    fn from(reason: Reason) -> EndView {
        let outcome = Outcome::from(reason);
        EndView { reason: reason.word(), result: outcome.result.word(), explanation: reason.explanation() }
    }
}

impl From<&Board> for BoardView {
    fn from(board: &Board) -> BoardView {
        let point =
            |point: &crate::rules::Point| PointView { name: point.name(), x: point.x(), y: point.y() };
        BoardView {
            points: board.points().iter().map(point).collect(),
            lines: board.lines().iter().map(|(from, to)| [from.name(), to.name()]).collect(),
        }
    }
}

impl From<&HouseRule> for HouseRuleView {
    fn from(rule: &HouseRule) -> HouseRuleView {
        let (kind, values, min, max) = match rule.kind {
            RuleKind::Choice(choices) => {
                (RuleKindView::Choice, Some(choices.iter().map(ChoiceView::from).collect()), None, None)
            }
            RuleKind::Number { min, max } => (RuleKindView::Number, None, Some(min), Some(max)),
        };
        HouseRuleView {
            name: rule.name,
            explanation: rule.explanation,
            kind,
            default: rule.default.into(),
            values,
            min,
            max,
        }
    }
}

impl From<Variant> for VariantView {
    fn from(variant: Variant) -> VariantView {
        let descriptor = variant.descriptor();
        let rules = Rules::default_for(variant);
        let start = rules.starts()[0];
        let ByRole { hounds, hare } = descriptor.role_names;
        VariantView {
            id: variant.word(),
            name: descriptor.name,
            summary: descriptor.summary,
            role_names: RoleNamesView { hounds, hare },
            first_to_move: Role::Hounds.word(),
            board: rules.board().into(),
            boards: boards(rules),
            house_rules: descriptor.house_rules.iter().map(HouseRuleView::from).collect(),
            starts: starts(rules),
            notation: NotationView {
                explanation: descriptor.notation,
                position: start.to_string(),
                moves: rules.moves(start).iter().take(EXAMPLE_MOVES).map(ToString::to_string).collect(),
            },
            ends: descriptor.reasons.iter().copied().map(EndView::from).collect(),
            rulings: descriptor.rulings,
            max_plies: rules.max_plies(),
        }
    }
}

/// The rules with each single house rule at each of its values, and what then differs from the rules given.
fn single_changes(rules: Rules) -> impl Iterator<Item = (&'static str, RuleValue, Rules)> {
    rules.variant().house_rules().iter().flat_map(move |rule| {
        let values: Vec<RuleValue> = match rule.kind {
            RuleKind::Choice(choices) => choices.iter().map(|choice| RuleValue::Text(choice.value)).collect(),
            RuleKind::Number { min, max } => (min..=max).map(RuleValue::Number).collect(),
        };
        values.into_iter().filter_map(move |value| {
            let changed = rules.with(rule.name, GivenValue::from(value)).ok()?;
            Some((rule.name, value, changed))
        })
    })
}

/// The boards: of every value of the house rule that changes the board, or the only one.
fn boards(rules: Rules) -> Vec<BoardChoiceView> {
    let changing: Vec<&'static str> = single_changes(rules)
        .filter(|(_, _, changed)| !std::ptr::eq(changed.board(), rules.board()))
        .map(|(name, _, _)| name)
        .collect();
    let boards: Vec<BoardChoiceView> = single_changes(rules)
        .filter(|(name, _, _)| changing.contains(name))
        .map(|(name, value, changed)| BoardChoiceView {
            rules: given(name, value),
            board: changed.board().into(),
        })
        .collect();
    if boards.is_empty() {
        vec![BoardChoiceView { rules: serde_json::Map::new(), board: rules.board().into() }]
    } else {
        boards
    }
}

/// Where games start: by the default rules, and with each value of a house rule that changes it.
fn starts(rules: Rules) -> Vec<StartView> {
    let view = |map, rules: Rules| StartView {
        rules: map,
        positions: rules.starts().iter().map(ToString::to_string).collect(),
    };
    let changed = single_changes(rules).filter(|(_, _, changed)| changed.starts() != rules.starts());
    std::iter::once(view(serde_json::Map::new(), rules))
        .chain(changed.map(|(name, value, changed)| view(given(name, value), changed)))
        .collect()
}

/// One house rule as it is given in `rules`.
fn given(name: &str, value: RuleValue) -> serde_json::Map<String, serde_json::Value> {
    let value = match value {
        RuleValue::Text(word) => word.into(),
        RuleValue::Number(number) => number.into(),
    };
    serde_json::Map::from_iter([(name.to_owned(), value)])
}

/// List the variants
///
/// Every game that can be played, on one page.
#[utoipa::path(
    operation_id = "listVariants",
    tag = "Variants",
    responses(
        (status = 200, description = "The variants", body = List<VariantView>),
        (status = 304, description = "They are what you have"),
    ),
    security(()),
)]
#[get("/v1/variants")]
async fn list_variants(request: HttpRequest) -> HttpResponse {
    let items = Variant::ALL.into_iter().map(VariantView::from).collect();
    query::static_response(&request, &List { items, next: None })
}

/// Show a variant
///
/// The board as data, the roles, the house rules with their defaults and meanings, where games start, and how moves
/// and positions are written: enough to draw and play it.
#[utoipa::path(
    operation_id = "showVariant",
    tag = "Variants",
    params(("variant" = String, Path, description = "The variant's id", example = "hare-and-hounds")),
    responses(
        (status = 200, description = "The variant", body = VariantView),
        (status = 304, description = "It is what you have"),
    ),
    security(()),
)]
#[get("/v1/variants/{variant}")]
async fn show_variant(request: HttpRequest, variant: Path<String>) -> Result<HttpResponse, ApiError> {
    let variant: Variant = variant.parse().map_err(|err| ApiError::new(error::NOT_FOUND, err))?;
    Ok(query::static_response(&request, &VariantView::from(variant)))
}
