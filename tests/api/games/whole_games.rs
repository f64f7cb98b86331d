//! Whole games to every ending that the rules know, played over HTTP from the reference games.

use serde_json::Value;

use crate::harness::{Player, TestApp};

/// Reference games with their rules, moves, result and reason.
const HARE_AND_HOUNDS: &str = include_str!("../../rules/data/hare-and-hounds.jsonl");
const CATCH_THE_HARE: &str = include_str!("../../rules/data/catch-the-hare.jsonl");

/// The first reference game that starts as a new game surely does, for each reason that occurs.
fn one_of_each(games: &str) -> Vec<Value> {
    let mut chosen: Vec<Value> = Vec::new();
    for game in games.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")) {
        let is_drawn_by_lot = game["rules"]["hare_start"] == "random";
        let is_known = chosen.iter().any(|other| other["reason"] == game["reason"]);
        if !is_drawn_by_lot && !is_known {
            chosen.push(game);
        }
    }
    chosen
}

async fn is_played_to_its_end(app: &TestApp, hounds: &Player, hare: &Player, reference: &Value) {
    let terms = serde_json::json!({"variant": reference["variant"], "rules": reference["rules"]});
    let game = app.game_by(hounds, hare, terms).await;
    let moves = reference["moves"].as_array().expect("moves");
    let mut last = Value::Null;
    for (played, text) in moves.iter().enumerate() {
        let mover = if played % 2 == 0 { hounds } else { hare };
        let ply = u16::try_from(played + 1).expect("short games");
        last = mover.plays(&game, ply, text.as_str().expect("a move")).await.ok(201);
    }
    for member in ["result", "reason"] {
        assert_eq!(last[member], reference[member], "{reference}");
    }
    assert_eq!(last["position"], reference["final"]);
    assert_eq!(last["status"], "finished");
    assert_eq!(last["legal_moves"], serde_json::json!([]));
    assert!(last["turn"].is_null() && !last["ended_at"].is_null());
    let mut seen = app.anonymous().get(&format!("/v1/games/{game}")).await.ok(200);
    seen["server_now"] = last["server_now"].clone();
    assert_eq!(seen, last, "what is stored is what was answered");

    // The mover who lost the last answer sends the move again.
    let mover = if moves.len() % 2 == 1 { hounds } else { hare };
    let ply = u16::try_from(moves.len()).expect("short games");
    mover.plays(&game, ply, moves[moves.len() - 1].as_str().expect("a move")).await.ok(200);
    let next = if moves.len().is_multiple_of(2) { hounds } else { hare };
    next.plays(&game, ply + 1, "b1-b2").await.refused(409, "game-over");
}

#[tokio::test]
async fn hare_and_hounds_ends_in_every_way() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let games = one_of_each(HARE_AND_HOUNDS);

    for game in &games {
        is_played_to_its_end(&app, &ann, &ben, game).await;
    }

    assert!(games.len() >= 4, "only {} reasons", games.len());
}

#[tokio::test]
async fn catch_the_hare_ends_in_every_way() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let games = one_of_each(CATCH_THE_HARE);

    for game in &games {
        is_played_to_its_end(&app, &ben, &ann, game).await;
    }

    assert_eq!(games.len(), 4);
}
