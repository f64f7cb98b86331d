//! Complete counts of move sequences, against those of an independent engine.

use crate::rules;
use leveret::rules::{GivenValue, Play, Variant, perft};
use serde_json::Value;

/// Checks every entry of a variant; `start` picks the one of its rules' starts that the entry is about.
fn check(variant: Variant, options: &[&str]) {
    let data: Value = serde_json::from_str(include_str!("data/perft.json")).unwrap();
    let entries = data[variant.word()].as_array().unwrap();
    assert!(!entries.is_empty());
    let check_entry = |entry: &Value| {
        let mut given: Vec<(&str, GivenValue<'_>)> = options
            .iter()
            .map(|&name| match &entry[name] {
                Value::String(word) => (name, GivenValue::Text(word)),
                number => (name, GivenValue::Number(number.as_i64().unwrap())),
            })
            .collect();
        if variant == Variant::HareAndHounds {
            let start = if entry["hare"] == "c2" { "centre" } else { "random" };
            given.push(("hare_start", GivenValue::Text(start)));
        }
        let rules = rules(variant, &given);
        let starts = rules.starts();
        let start =
            starts.iter().find(|start| entry["hare"].as_str().is_none_or(|at| start.hare().name() == at));
        let play = Play::begin(rules, *start.unwrap()).unwrap();
        for (depth, expected) in (1..).zip(entry["perft"].as_array().unwrap()) {
            assert_eq!(perft(&play, depth), expected.as_u64().unwrap(), "depth {depth} of {entry}");
        }
    };
    // Each core takes its share: these are millions of games.
    let share = entries.len().div_ceil(std::thread::available_parallelism().map_or(1, usize::from));
    std::thread::scope(|threads| {
        for entries in entries.chunks(share) {
            threads.spawn(move || entries.iter().for_each(check_entry));
        }
    });
}

#[test]
fn hare_and_hounds_has_as_many_games_as_an_independent_engine_counts() {
    check(Variant::HareAndHounds, &["getting_away"]);
}

#[test]
fn catch_the_hare_has_as_many_games_as_an_independent_engine_counts() {
    check(Variant::CatchTheHare, &["board", "hunters", "too_few"]);
}

#[test]
fn there_is_one_game_of_no_moves() {
    for rules in crate::all_rules() {
        assert_eq!(perft(&Play::begin(rules, rules.starts()[0]).unwrap(), 0), 1);
    }
}
