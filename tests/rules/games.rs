//! Whole games, every ply of them, as an independent engine has played them.

use crate::{rules, texts};
use leveret::rules::{GivenValue, Play, Position, Reason, Variant};
use serde_json::Value;
use std::collections::BTreeSet;

/// Plays every game of a file, and says which endings were seen.
fn check(variant: Variant, file: &str) -> BTreeSet<String> {
    let mut reasons = BTreeSet::new();
    for (number, line) in (1..).zip(file.lines()) {
        let game: Value = serde_json::from_str(line).unwrap();
        let play = replay(variant, &game, &format!("line {number}: {line}"));
        let outcome = play.outcome().unwrap();
        assert_eq!(outcome.result.word(), game["result"].as_str().unwrap(), "line {number}: {line}");
        assert_eq!(outcome.reason.word(), game["reason"].as_str().unwrap(), "line {number}: {line}");
        assert_eq!(play.position().to_string(), game["final"].as_str().unwrap(), "line {number}: {line}");
        assert!(play.ply() <= play.rules().max_plies(), "line {number}: {line}");
        assert!(play.legal_moves().is_empty(), "line {number}: {line}");
        if outcome.reason == Reason::NoProgress {
            let moves = game["moves"].as_array().unwrap();
            let quiet = moves.iter().rev().take_while(|mv| !mv.as_str().unwrap().contains('x')).count();
            assert_eq!(quiet, 100, "line {number}: {line}");
        }
        reasons.insert(outcome.reason.to_string());
    }
    reasons
}

/// Plays one game, comparing the legal moves at every ply.
fn replay(variant: Variant, game: &Value, told: &str) -> Play {
    let options: Vec<(&str, GivenValue<'_>)> = game["rules"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| match value {
            Value::String(word) => (name.as_str(), GivenValue::Text(word)),
            number => (name.as_str(), GivenValue::Number(number.as_i64().unwrap())),
        })
        .collect();
    let rules = rules(variant, &options);
    let start = Position::parse(rules, game["start"].as_str().unwrap()).expect(told);
    let mut play = Play::begin(rules, start).expect(told);
    let legal = game["legal"].as_array().unwrap();
    let moves = game["moves"].as_array().unwrap();
    assert_eq!(legal.len(), moves.len(), "{told}");
    for (legal, mv) in legal.iter().zip(moves) {
        let legal: Vec<&str> = legal.as_array().unwrap().iter().map(|mv| mv.as_str().unwrap()).collect();
        assert_eq!(texts(&play.legal_moves()), legal, "ply {} of {told}", play.ply() + 1);
        assert_eq!(play.outcome(), None, "ply {} of {told}", play.ply() + 1);
        play.play(mv.as_str().unwrap()).expect(told);
    }
    assert_eq!(usize::from(play.ply()), moves.len(), "{told}");
    play
}

#[test]
fn games_of_hare_and_hounds_go_as_an_independent_engine_played_them() {
    let seen = check(Variant::HareAndHounds, include_str!("data/hare-and-hounds.jsonl"));
    let all = Variant::HareAndHounds.descriptor().reasons.iter().map(Reason::to_string);
    assert_eq!(seen, all.collect(), "the games show every ending");
}

#[test]
fn games_of_catch_the_hare_go_as_an_independent_engine_played_them() {
    let seen = check(Variant::CatchTheHare, include_str!("data/catch-the-hare.jsonl"));
    let all =
        Variant::CatchTheHare.descriptor().reasons.iter().filter(|&&reason| reason != Reason::HoundsStuck);
    assert_eq!(seen, all.map(Reason::to_string).collect(), "the games show every ending that can come about");
}
