//! Seats: the computer plays on for whoever has left a casual game, until they are back.

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::clock::ms;
use crate::harness::{Player, TestApp};

/// Time passes in which only this player shows signs of life, and the tasks take their steps.
async fn waits(app: &TestApp, player: &Player, by: TimeDelta) {
    app.match_tickets().await;
    app.db_time_passes(by).await;
    player.get("/v1/me").await.ok(200);
    app.match_tickets().await;
    app.tell_presence().await;
}

/// A casual game in which ann has made the first move, and ben is to answer.
async fn begun(app: &TestApp, ann: &Player, ben: &Player, on_drop: &str) -> String {
    let clock = json!({"kind": "per_turn", "turn_ms": 600_000});
    let terms = json!({"variant": "hare-and-hounds", "clock": clock, "on_drop": on_drop});
    let game = app.game_by(ann, ben, terms).await;
    ann.plays(&game, 1, "b1-b2").await.ok(201);
    game
}

#[tokio::test]
async fn the_computer_plays_on_for_whoever_has_left_until_they_are_back() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = begun(&app, &ann, &ben, "computer").await;
    let mut stream = ann.watches(&game).await;
    stream.next_event("snapshot").await;

    waits(&app, &ann, ms(31_000)).await;
    let away = stream.next_event("presence").await;
    assert_eq!((&away.data["role"], &away.data["present"]), (&"hare".into(), &false.into()));
    app.let_computer_play().await;
    assert_eq!(ann.sees(&game).await["players"]["hare"]["controller"], "player", "not yet");

    waits(&app, &ann, ms(30_000)).await;
    app.let_computer_play().await;
    let seated = stream.next_event("seat").await;
    assert_eq!((&seated.data["role"], &seated.data["controller"]), (&"hare".into(), &"computer".into()));
    assert_eq!(seated.data["computer_level"], 4);
    let played = stream.next_event("move").await;
    assert_eq!((&played.data["ply"], &played.data["role"]), (&2.into(), &"hare".into()));
    let shown = ann.sees(&game).await;
    assert_eq!(shown["players"]["hare"]["username"], "ben", "it is still ben's game");
    assert_eq!(shown["players"]["hare"]["controller"], "computer");

    ann.plays(&game, 3, shown["legal_moves"][0].as_str().expect("a move")).await.ok(201);
    stream.next_event("move").await;
    let mine = ben.sees(&game).await["legal_moves"][0].as_str().expect("a move").to_owned();
    ben.plays(&game, 4, &mine).await.refused(409, "seat-taken");
    let back = ben.post(&format!("/v1/games/{game}/seat"), Value::Null).await.ok(200);
    assert_eq!(back["players"]["hare"]["controller"], "player");
    let seated = stream.next_event("seat").await;
    assert_eq!(seated.data["controller"], "player");
    ben.plays(&game, 4, &mine).await.ok(201);
    app.let_computer_play().await;
    assert_eq!(ann.sees(&game).await["ply"], 4, "the computer has left the seat");
    ben.post(&format!("/v1/games/{game}/seat"), Value::Null).await.ok(200);
    app.tell_presence().await;
    app.match_tickets().await;
    app.tell_presence().await;
    assert_eq!(ann.sees(&game).await["players"]["hare"]["present"], true);
}

#[tokio::test]
async fn a_party_says_after_how_long_a_side_has_left() {
    let app = TestApp::start().await;
    let (ann, ben) = (app.player("ann").await, app.guest().await);
    let clock = json!({"kind": "per_turn", "turn_ms": 600_000});
    let terms = json!({"variant": "hare-and-hounds", "clock": clock, "drop_after_ms": 120_000});
    let game = app.game_by(&ann, &ben, terms).await;
    ann.plays(&game, 1, "b1-b2").await.ok(201);
    assert_eq!(
        ann.sees(&game).await["on_drop"],
        "computer",
        "as it is in live games if nobody says otherwise"
    );

    waits(&app, &ann, ms(119_000)).await;
    app.let_computer_play().await;
    assert_eq!(ann.sees(&game).await["players"]["hare"]["controller"], "player", "not yet");
    waits(&app, &ann, ms(1_000)).await;
    app.let_computer_play().await;
    assert_eq!(ann.sees(&game).await["players"]["hare"]["controller"], "computer");
    ben.post(&format!("/v1/games/{game}/seat"), Value::Null).await.ok(200);
    assert_eq!(ann.sees(&game).await["players"]["hare"]["controller"], "player", "a guest comes back, too");
}

#[tokio::test]
async fn the_computer_stays_away_where_it_was_not_asked() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    for on_drop in ["claim", "wait"] {
        let game = begun(&app, &ann, &ben, on_drop).await;
        waits(&app, &ann, ms(61_001)).await;
        app.let_computer_play().await;
        let shown = ann.sees(&game).await;
        assert_eq!((&shown["ply"], &shown["players"]["hare"]["controller"]), (&1.into(), &"player".into()));
    }
}

#[tokio::test]
async fn when_both_have_left_the_game_waits_for_one_of_them() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = begun(&app, &ann, &ben, "computer").await;
    app.match_tickets().await;
    app.db_time_passes(ms(61_001)).await;

    app.let_computer_play().await;
    assert_eq!(app.anonymous().get(&format!("/v1/games/{game}")).await.ok(200)["ply"], 1);

    ann.get("/v1/me").await.ok(200);
    app.match_tickets().await;
    app.let_computer_play().await;
    assert_eq!(ann.sees(&game).await["ply"], 2, "ann is back, and ben is not");
}

#[tokio::test]
async fn two_processes_seat_the_computer_once() {
    let app = TestApp::start().await;
    let other = app.second_process().await;
    let (ann, ben) = app.two_players().await;
    let game = begun(&app, &ann, &ben, "computer").await;
    waits(&app, &ann, ms(61_001)).await;

    tokio::join!(
        app.let_computer_play(),
        other.let_computer_play(),
        app.tell_presence(),
        other.tell_presence()
    );

    let log = app.anonymous().with_header("accept", "application/json");
    let events = log.get(&format!("/v1/games/{game}/events?after=0")).await.ok(200);
    let kinds = |kind: &str| {
        events["items"].as_array().expect("events").iter().filter(|event| event["kind"] == kind).count()
    };
    assert_eq!((kinds("seat"), kinds("presence"), kinds("move")), (1, 1, 2), "{events}");
}

#[tokio::test]
async fn only_a_player_takes_a_seat_and_only_in_a_game_that_goes_on() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let eve = app.player("eve").await;
    let game = begun(&app, &ann, &ben, "computer").await;
    let seat = format!("/v1/games/{game}/seat");

    eve.post(&seat, Value::Null).await.refused(403, "not-a-player");
    app.anonymous().post(&seat, Value::Null).await.refused(401, "token-missing");
    assert_eq!(ann.post(&seat, Value::Null).await.ok(200)["ply"], 1, "nothing changes in one's own seat");
    ann.post(&format!("/v1/games/{game}/resignation"), Value::Null).await.ok(200);
    ann.post(&seat, Value::Null).await.refused(409, "game-over");
}

#[tokio::test]
async fn a_wish_for_a_rematch_lasts_while_its_player_is_there() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = begun(&app, &ann, &ben, "wait").await;
    ben.post(&format!("/v1/games/{game}/resignation"), Value::Null).await.ok(200);
    let rematch = format!("/v1/games/{game}/rematch");

    ben.put(&rematch, Value::Null).await.ok(200);
    waits(&app, &ann, ms(31_000)).await;
    assert_eq!(ann.sees(&game).await["rematch"]["offered_by"], json!([]), "ben has left");
    let asked = ann.put(&rematch, Value::Null).await.ok(200);
    assert_eq!(asked["rematch"], json!({"offered_by": ["hounds"], "game": null}));
    let back = ben.put(&rematch, Value::Null).await.ok(200);
    assert!(back["rematch"]["game"].is_string(), "both are there: {back}");
}

/// A wish that lapsed was missing from the log, which then still said that its player wanted a rematch.
#[tokio::test]
async fn a_wish_for_a_rematch_that_has_lapsed_is_withdrawn_in_the_log() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = begun(&app, &ann, &ben, "wait").await;
    ben.post(&format!("/v1/games/{game}/resignation"), Value::Null).await.ok(200);
    let rematch = format!("/v1/games/{game}/rematch");

    ben.put(&rematch, Value::Null).await.ok(200);
    waits(&app, &ann, ms(31_000)).await;
    ann.put(&rematch, Value::Null).await.ok(200);

    let log = app.anonymous().with_header("accept", "application/json");
    let events = log.get(&format!("/v1/games/{game}/events?after=0")).await.ok(200);
    let said: Vec<_> = events["items"]
        .as_array()
        .expect("events")
        .iter()
        .filter(|event| event["kind"].as_str().is_some_and(|kind| kind.starts_with("rematch")))
        .map(|event| (&event["kind"], &event["role"]))
        .collect();
    let (offered, withdrawn) = (json!("rematch_offered"), json!("rematch_withdrawn"));
    let (hare, hounds) = (json!("hare"), json!("hounds"));
    assert_eq!(said, [(&offered, &hare), (&withdrawn, &hare), (&offered, &hounds)]);
}
