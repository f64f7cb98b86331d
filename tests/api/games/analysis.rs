//! What positions and finished games are worth.

use serde_json::{Value, json};

use crate::harness::{Player, TestApp};

const START: &str = "a2b1b3/e2%20hounds";

fn analysis_of(position: &str) -> String {
    format!("/v1/variants/hare-and-hounds/analysis?position={position}")
}

/// A game of ann with the hounds against ben, with these moves.
async fn game_with(app: &TestApp, ann: &Player, ben: &Player, moves: &[&str]) -> String {
    let game = app.game(ann, ben, "hare-and-hounds").await;
    for (ply, text) in (1..).zip(moves) {
        let mover = if ply % 2 == 1 { ann } else { ben };
        mover.plays(&game, ply, text).await.ok(201);
    }
    game
}

#[tokio::test]
async fn the_start_is_won_for_the_hounds_and_its_moves_come_best_first() {
    let app = TestApp::start().await;

    let start = app.anonymous().get(&analysis_of(START)).await.ok(200);

    assert_eq!(start["value"], "hounds");
    let moves = start["moves"].as_array().expect("moves");
    assert_eq!(moves.len(), 7, "every legal move: {start}");
    let best = &moves[0];
    assert_eq!(best["value"], "hounds");
    assert_eq!(
        best["distance"].as_u64().expect("a distance") + 1,
        start["distance"].as_u64().expect("a distance"),
        "a position lasts one ply longer than what its best move leads to"
    );
    let worth = |mv: &Value| (mv["value"] == "hounds", mv["distance"].as_u64().map(std::cmp::Reverse));
    assert!(moves.is_sorted_by_key(|mv| std::cmp::Reverse(worth(mv))), "{start}");
}

#[tokio::test]
async fn the_walk_that_the_answer_shows_ends_when_it_says() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;
    let mut told = None;
    for ply in 1.. {
        let snapshot = ann.sees(&game).await;
        if snapshot["status"] == "finished" {
            assert_eq!(snapshot["result"], "hounds");
            assert_eq!(told, Some(u64::from(ply) - 1));
            return;
        }
        let position = snapshot["position"].as_str().expect("a position").replace(' ', "%20");
        let worth = app.anonymous().get(&analysis_of(&position)).await.ok(200);
        told.get_or_insert(worth["distance"].as_u64().expect("a distance"));
        let mover = if snapshot["turn"] == "hounds" { &ann } else { &ben };
        mover.plays(&game, ply, worth["moves"][0]["move"].as_str().expect("a move")).await.ok(201);
    }
}

#[tokio::test]
async fn an_answer_may_be_kept() {
    let app = TestApp::start().await;
    let first = app.anonymous().get(&analysis_of(START)).await;
    let etag = first.header("etag").expect("an etag").to_owned();
    assert!(first.header("cache-control").is_some_and(|text| text.contains("max-age=604800")));

    let again = app.anonymous().with_header("if-none-match", &etag).get(&analysis_of(START)).await;

    assert_eq!(again.status(), 304);
}

#[tokio::test]
async fn what_cannot_be_analysed_is_refused_with_the_reason() {
    let app = TestApp::start().await;
    let nobody = app.anonymous();
    let pointer =
        |reply: crate::harness::Reply| reply.refused(422, "invalid-fields")["errors"][0]["pointer"].clone();

    assert_eq!(pointer(nobody.get(&analysis_of("nonsense")).await), "/position");
    assert_eq!(pointer(nobody.get(&analysis_of("a2b1/e2%20hounds")).await), "/position");
    assert_eq!(
        pointer(nobody.get(&format!("{}&getting_away=never", analysis_of(START))).await),
        "/getting_away"
    );
    assert_eq!(pointer(nobody.get(&format!("{}&board=alquerque", analysis_of(START))).await), "/board");
    nobody.get(&format!("{}&colour=red", analysis_of(START))).await.refused(400, "malformed-request");
    nobody.get("/v1/variants/hare-and-hounds/analysis").await.refused(400, "malformed-request");
    nobody.get(&format!("/v1/variants/chess/analysis?position={START}")).await.refused(404, "not-found");
    nobody
        .get("/v1/variants/catch-the-hare/analysis?position=a1a2a3b1b2c1c2d1d2e1e2e3/c3%20hounds")
        .await
        .refused(404, "not-solved");
}

#[tokio::test]
async fn a_position_of_a_live_rated_game_is_not_told_until_it_has_passed() {
    let app = TestApp::start().await;
    let other = app.second_process().await;
    let (ann, ben) = app.two_players().await;
    for player in [&ann, &ben] {
        player.put("/v1/pools/hare-and-hounds/ticket", Value::Null).await.ok(201);
    }
    app.match_tickets().await;
    let ticket = ann.get("/v1/pools/hare-and-hounds/ticket").await.ok(200);
    let game = ticket["game"].as_str().expect("a game");
    let hounds_are_anns = ann.sees(game).await["players"]["hounds"]["username"] == "ann";
    let (hounds, hare) = if hounds_are_anns { (&ann, &ben) } else { (&ben, &ann) };

    ann.get(&analysis_of(START)).await.refused(403, "position-in-play");
    hounds.plays(game, 1, "b1-b2").await.ok(201);
    ann.get(&analysis_of(START)).await.ok(200);
    let (standing, its_image) = ("a2b2b3/e2%20hare", "a2b1b2/e2%20hare");
    for position in [standing, its_image] {
        app.anonymous().get(&analysis_of(position)).await.refused(403, "position-in-play");
        other.anonymous().get(&analysis_of(position)).await.refused(403, "position-in-play");
    }
    hare.plays(game, 2, "e2-d2").await.ok(201);
    app.anonymous().get(&analysis_of(standing)).await.ok(200);
    other.anonymous().get(&analysis_of("a2b2b3/d2%20hounds")).await.refused(403, "position-in-play");
    hounds.post(&format!("/v1/games/{game}/resignation"), Value::Null).await.ok(200);
    other.anonymous().get(&analysis_of("a2b2b3/d2%20hounds")).await.ok(200);
}

#[tokio::test]
async fn a_casual_game_keeps_nothing_secret() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    app.game(&ann, &ben, "hare-and-hounds").await;

    ann.get(&analysis_of(START)).await.ok(200);
}

/// The hounds give the win away on their first move or later, and the hare runs out.
const LOST_BY_HOUNDS: &[&str] = &["b1-c1", "e2-d2", "b3-c3", "d2-c2", "c1-d1", "c2-b1", "c3-d3"];

#[tokio::test]
async fn a_finished_game_tells_the_move_that_lost_it() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = game_with(&app, &ann, &ben, LOST_BY_HOUNDS).await;
    let path = format!("/v1/games/{game}/analysis");
    app.anonymous().get(&path).await.refused(409, "game-not-over");
    ann.post(&format!("/v1/games/{game}/resignation"), Value::Null).await.ok(200);

    let judged = app.anonymous().get(&path).await.ok(200);

    let plies = judged["plies"].as_array().expect("plies");
    assert_eq!(plies.len(), LOST_BY_HOUNDS.len());
    for pair in plies.windows(2) {
        assert_eq!(pair[0]["after"], pair[1]["before"], "each ply begins where the last one ended");
    }
    let lost_by = judged["lost_by"].as_u64().expect("the hounds had a win to lose");
    let blunder = &plies[usize::try_from(lost_by).expect("small") - 1];
    assert_eq!(blunder["role"], "hounds");
    assert_eq!(blunder["verdict"], "threw_away");
    assert_eq!(blunder["before"]["value"], "hounds");
    assert_eq!(blunder["after"]["value"], "hare");
    assert_eq!(blunder["score"], 0.0);
    assert!(
        plies
            .iter()
            .skip(usize::try_from(lost_by).expect("small"))
            .all(|ply| ply["after"]["value"] == "hare"),
        "nothing is given back later: {judged}"
    );
    let accuracy = |role: &str| judged["accuracy"][role]["accuracy"].as_f64().expect("an accuracy");
    assert!(accuracy("hounds") < 100.0, "{judged}");
    assert!((0.0..=100.0).contains(&accuracy("hare")), "{judged}");
}

#[tokio::test]
async fn perfect_play_has_an_accuracy_of_a_hundred() {
    let app = TestApp::start().await;
    let ann = app.player("ann").await;
    let terms = json!({"variant": "hare-and-hounds", "role": "hare"});
    let game = app.game_with_computer(&ann, 8, terms).await;
    let id = game["id"].as_str().expect("an id");
    loop {
        app.let_computer_play().await;
        let snapshot = ann.sees(id).await;
        if snapshot["status"] == "finished" {
            break;
        }
        let ply = u16::try_from(snapshot["ply"].as_u64().expect("a ply") + 1).expect("small");
        ann.plays(id, ply, snapshot["legal_moves"][0].as_str().expect("a move")).await.ok(201);
    }

    let judged = ann.get(&format!("/v1/games/{id}/analysis")).await.ok(200);

    assert_eq!(judged["accuracy"]["hounds"]["accuracy"], 100.0, "{judged}");
    assert_eq!(judged["accuracy"]["hounds"]["passed"], judged["accuracy"]["hounds"]["tests"]);
    assert!(judged["lost_by"].is_null(), "the hare had nothing to lose: {judged}");
}

#[tokio::test]
async fn accuracies_are_stored_once_and_shown_with_the_player() {
    let app = TestApp::start().await;
    let other = app.second_process().await;
    let (ann, ben) = app.two_players().await;
    let game = game_with(&app, &ann, &ben, LOST_BY_HOUNDS).await;
    assert_eq!(app.analyse().await, 0, "a game that goes on is left alone");
    ann.post(&format!("/v1/games/{game}/resignation"), Value::Null).await.ok(200);

    tokio::join!(app.analyse(), other.analyse());
    assert_eq!(app.analyse().await, 0, "it was looked at");

    let judged = ann.get(&format!("/v1/games/{game}/analysis")).await.ok(200);
    let stats = ann.get("/v1/players/ann/stats").await.ok(200);
    let shown = &stats["accuracy"][0];
    assert_eq!((&shown["variant"], &shown["role"]), (&"hare-and-hounds".into(), &"hounds".into()));
    assert_eq!(shown["games"], 1);
    assert_eq!(shown["choices"], judged["accuracy"]["hounds"]["choices"]);
    let (stored, told) = (shown["accuracy"].as_f64(), judged["accuracy"]["hounds"]["accuracy"].as_f64());
    assert!((stored.expect("stored") - told.expect("told")).abs() < 1e-9, "{stats} {judged}");
    assert_eq!(ann.get("/v1/players/ben/stats").await.ok(200)["accuracy"][0]["role"], "hare");
}
