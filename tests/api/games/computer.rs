//! Games against the computer.

use futures_util::FutureExt;
use serde_json::{Value, json};

use crate::harness::{Player, TestApp, holding};

fn id(game: &Value) -> &str {
    game["id"].as_str().expect("a game has an id")
}

/// Plays the first legal move of a snapshot.
async fn plays_anything(player: &Player, game: &Value) -> Value {
    let ply = u16::try_from(game["ply"].as_u64().expect("a ply") + 1).expect("a small ply");
    player.plays(id(game), ply, game["legal_moves"][0].as_str().expect("a legal move")).await.ok(201)
}

#[tokio::test]
async fn the_computer_answers_every_move_until_the_game_is_over() {
    let app = TestApp::start().await;
    let ann = app.player("ann").await;
    let mut game =
        app.game_with_computer(&ann, 8, json!({"variant": "hare-and-hounds", "role": "hare"})).await;
    assert_eq!(game["rated"], false);
    assert_eq!(game["players"]["hounds"]["username"], "computer");
    assert_eq!(game["players"]["hounds"]["controller"], "computer");
    assert_eq!(game["players"]["hounds"]["computer_level"], 8);
    assert_eq!(game["players"]["hare"]["controller"], "player");
    assert!(game["players"]["hare"]["computer_level"].is_null());

    while game["status"] == "ongoing" {
        if game["turn"] == "hare" {
            plays_anything(&ann, &game).await;
        } else {
            assert_eq!(app.let_computer_play().await, 1);
        }
        game = ann.sees(id(&game)).await;
    }

    assert_eq!((&game["result"], &game["reason"]), (&"hounds".into(), &"cornered".into()));
    assert!(game["ply"].as_u64().expect("a ply") <= 23, "twelve moves at most: {game}");
    assert_eq!(app.let_computer_play().await, 0, "there is nothing left to do");
}

#[tokio::test]
async fn every_level_plays_both_roles_of_both_games_by_any_house_rules() {
    let app = TestApp::start().await;
    let ann = app.player("ann").await;
    let terms = [
        json!({"variant": "hare-and-hounds", "rules": {"getting_away": "ten-vertical", "hare_start": "centre"}}),
        json!({"variant": "catch-the-hare"}),
        json!({"variant": "catch-the-hare",
               "rules": {"board": "no-diagonals", "hunters": 9, "too_few": "cannot-enclose"}}),
    ];
    for (terms, level) in terms.iter().cycle().zip(1..=8) {
        for role in ["hounds", "hare"] {
            let mut terms = terms.clone();
            terms["role"] = role.into();
            let game = app.game_with_computer(&ann, level, terms).await;
            app.let_computer_play().await;
            let mut game = ann.sees(id(&game)).await;
            assert_eq!(game["turn"], role, "the computer has moved if it was to");
            game = plays_anything(&ann, &game).await;
            app.let_computer_play().await;
            let after = ann.sees(id(&game)).await;
            assert!(after["turn"] == role || after["status"] == "finished", "{after}");
            ann.post(&format!("/v1/games/{}/resignation", id(&game)), Value::Null).await;
        }
    }
}

#[tokio::test]
async fn a_role_that_is_not_chosen_is_either() {
    let app = TestApp::start().await;
    let ann = app.player("ann").await;
    let mut roles = std::collections::BTreeSet::new();
    for _ in 0..60 {
        let game = app.game_with_computer(&ann, 1, json!({"variant": "hare-and-hounds"})).await;
        roles.insert(game["players"]["hare"]["username"].to_string());
        ann.post(&format!("/v1/games/{}/abort", id(&game)), Value::Null).await.ok(200);
        if roles.len() == 2 {
            return;
        }
    }
    panic!("sixty times the same role");
}

#[tokio::test]
async fn two_processes_make_the_computers_move_once() {
    let app = TestApp::start().await;
    let other = app.second_process().await;
    let ann = app.player("ann").await;
    for _ in 0..5 {
        let game =
            app.game_with_computer(&ann, 1, json!({"variant": "catch-the-hare", "role": "hare"})).await;
        tokio::join!(app.let_computer_play(), other.let_computer_play());
        let after = ann.sees(id(&game)).await;
        assert_eq!(after["ply"], 1, "{after}");
        ann.post(&format!("/v1/games/{}/resignation", id(&game)), Value::Null).await.ok(200);
    }
}

#[tokio::test]
async fn a_computer_that_stands_lost_accepts_a_draw_and_one_that_wins_declines() {
    let app = TestApp::start().await;
    let ann = app.player("ann").await;

    let lost = app.game_with_computer(&ann, 3, json!({"variant": "hare-and-hounds", "role": "hounds"})).await;
    ann.put(&format!("/v1/games/{}/draw-offer", id(&lost)), Value::Null).await.ok(200);
    app.let_computer_play().await;
    let drawn = ann.sees(id(&lost)).await;
    assert_eq!((&drawn["result"], &drawn["reason"]), (&"draw".into(), &"agreement".into()));

    let won = app.game_with_computer(&ann, 8, json!({"variant": "hare-and-hounds", "role": "hare"})).await;
    app.let_computer_play().await;
    ann.put(&format!("/v1/games/{}/draw-offer", id(&won)), Value::Null).await.ok(200);
    app.let_computer_play().await;
    let goes_on = ann.sees(id(&won)).await;
    assert_eq!(goes_on["status"], "ongoing");
    assert!(goes_on["draw_offer"].is_null(), "declined: {goes_on}");
}

#[tokio::test]
async fn the_computer_accepts_any_rematch_with_the_roles_swapped() {
    let app = TestApp::start().await;
    let ann = app.player("ann").await;
    let game = app.game_with_computer(&ann, 5, json!({"variant": "hare-and-hounds", "role": "hounds"})).await;
    ann.post(&format!("/v1/games/{}/resignation", id(&game)), Value::Null).await.ok(200);

    let old = ann.put(&format!("/v1/games/{}/rematch", id(&game)), Value::Null).await.ok(200);

    let rematch = old["rematch"]["game"].as_str().expect("a rematch at once");
    app.let_computer_play().await;
    let rematch = ann.sees(rematch).await;
    assert_eq!(rematch["players"]["hounds"]["computer_level"], 5);
    assert_eq!(rematch["players"]["hare"]["username"], "ann");
    assert_eq!(rematch["ply"], 1, "the computer has begun");
}

#[tokio::test]
async fn what_is_asked_for_wrongly_is_refused_with_the_reason() {
    let app = TestApp::start().await;
    let ann = app.player("ann").await;
    let begin = async |body: Value| ann.post("/v1/games", body).await;

    for level in [0, 9, -1, 1000] {
        let refused = begin(json!({"variant": "hare-and-hounds", "opponent": {"computer": level}})).await;
        assert_eq!(refused.refused(422, "invalid-fields")["errors"][0]["pointer"], "/opponent/computer");
    }
    let computer = json!({"computer": 1});
    let rules = json!({"variant": "hare-and-hounds", "opponent": computer, "rules": {"board": "alquerque"}});
    assert_eq!(begin(rules).await.refused(422, "invalid-fields")["errors"][0]["pointer"], "/rules/board");
    let clock = json!({"kind": "per_turn", "turn_ms": 1});
    let clock = json!({"variant": "hare-and-hounds", "opponent": computer, "clock": clock});
    assert_eq!(begin(clock).await.refused(422, "invalid-fields")["errors"][0]["pointer"], "/clock/turn_ms");
    begin(json!({"variant": "hare-and-hounds", "opponent": computer, "rated": true}))
        .await
        .refused(400, "malformed-request");
    app.anonymous()
        .post("/v1/games", json!({"variant": "hare-and-hounds", "opponent": computer}))
        .await
        .refused(401, "token-missing");
    let challenge = json!({"variant": "hare-and-hounds", "opponent": "Computer"});
    let told = ann.post("/v1/challenges", challenge).await.refused(422, "invalid-fields");
    assert!(told["detail"].as_str().is_some_and(|detail| detail.contains("POST /v1/games")), "{told}");
    app.anonymous()
        .post("/v1/sessions", json!({"username": "computer", "password": "correct-horse-battery"}))
        .await
        .refused(401, "wrong-credentials");
}

#[tokio::test]
async fn a_repeated_request_begins_one_game() {
    let app = TestApp::start().await;
    let ann = app.player("ann").await;
    let keyed = ann.with_header("idempotency-key", "again");
    let terms = json!({"variant": "hare-and-hounds", "opponent": {"computer": 2}});

    let (first, again) = tokio::join!(keyed.post("/v1/games", terms.clone()), keyed.post("/v1/games", terms));

    assert_eq!(first.ok(201)["id"], again.ok(201)["id"]);
    let other = json!({"variant": "catch-the-hare", "opponent": {"computer": 2}});
    keyed.post("/v1/games", other).await.refused(409, "idempotency-key-reused");
}

#[tokio::test]
async fn twenty_games_at_once_are_enough() {
    let app = TestApp::start().await;
    let ann = app.player("ann").await;
    let mut first = Value::Null;
    for _ in 0..20 {
        first = app.game_with_computer(&ann, 1, json!({"variant": "hare-and-hounds"})).await;
    }
    let one_more = json!({"variant": "hare-and-hounds", "opponent": {"computer": 1}});
    ann.post("/v1/games", one_more.clone()).await.refused(409, "too-many-games");
    ann.post(&format!("/v1/games/{}/resignation", id(&first)), Value::Null).await.ok(200);
    ann.post("/v1/games", one_more).await.ok(201);
}

#[tokio::test]
async fn a_draw_that_the_computer_accepts_and_a_resignation_at_once_leave_one_ending() {
    let app = TestApp::start().await;
    let ann = app.player("ann").await;
    for _ in 0..5 {
        let terms = json!({"variant": "hare-and-hounds", "role": "hounds"});
        let game = app.game_with_computer(&ann, 8, terms).await;
        ann.put(&format!("/v1/games/{}/draw-offer", id(&game)), Value::Null).await.ok(200);
        let resigns = async {
            ann.post(&format!("/v1/games/{}/resignation", id(&game)), Value::Null).await;
        };
        let answers = async {
            app.let_computer_play().await;
        };
        let held = format!("select from game where game_id = '{}' for update", id(&game));

        holding(&app.db, &held, [resigns.boxed(), answers.boxed()]).await;

        let after = ann.sees(id(&game)).await;
        assert!(after["reason"] == "resignation" || after["reason"] == "agreement", "{after}");
        assert_eq!(app.let_computer_play().await, 0, "nothing is done after the end");
    }
}
