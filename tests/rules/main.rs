//! The rules engines, checked against complete counts, whole games, laws, and one case for every ruling.

mod board;
mod catch_the_hare;
mod games;
mod hare_and_hounds;
mod house_rules;
mod perft;
mod properties;
mod solver;
mod text;

use leveret::rules::{GivenValue, Move, Play, Position, Rules, Variant};

/// Rules with these house rules, which must go together.
fn rules(variant: Variant, options: &[(&str, GivenValue<'_>)]) -> Rules {
    let rules = options.iter().fold(Rules::default_for(variant), |rules, &(name, value)| {
        rules.with(name, value).unwrap_or_else(|error| panic!("{error}"))
    });
    rules.check().unwrap_or_else(|error| panic!("{error}"));
    rules
}

/// Every combination of house rules that can be played by.
fn all_rules() -> Vec<Rules> {
    use leveret::rules::RuleKind;

    let mut all = Vec::new();
    for variant in Variant::ALL {
        let mut combinations = vec![Rules::default_for(variant)];
        for rule in variant.house_rules() {
            let values: Vec<GivenValue<'_>> = match rule.kind {
                RuleKind::Choice(choices) => choices.iter().map(|c| GivenValue::Text(c.value)).collect(),
                RuleKind::Number { min, max } => (min..=max).map(|n| GivenValue::Number(n.into())).collect(),
            };
            combinations = combinations
                .iter()
                .flat_map(|rules| values.iter().map(|&value| rules.with(rule.name, value).unwrap()))
                .collect();
        }
        all.extend(combinations.into_iter().filter(|rules| rules.check().is_ok()));
    }
    all
}

/// A game from the first of the rules' starts after these moves, written with spaces between.
#[track_caller]
fn after(rules: Rules, moves: &str) -> Play {
    Play::replay(rules, rules.starts()[0], moves.split_whitespace()).unwrap_or_else(|error| panic!("{error}"))
}

/// How a game ended, as `result reason`, or `going on`.
fn ending(play: &Play) -> String {
    match play.outcome() {
        Some(outcome) => format!("{} {}", outcome.result, outcome.reason),
        None => "going on".to_owned(),
    }
}

/// The position with this text.
#[track_caller]
fn position(rules: Rules, text: &str) -> Position {
    Position::parse(rules, text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Moves as texts.
fn texts(moves: &[Move]) -> Vec<String> {
    moves.iter().map(Move::to_string).collect()
}
