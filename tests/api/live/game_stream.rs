use chrono::TimeDelta;
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{plays_on, rated_game};
use crate::harness::TestApp;

#[tokio::test]
async fn a_stream_begins_with_the_game_and_shows_every_move() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;
    let mut stream = ben.watches(&game).await;
    let snapshot = stream.next_event("snapshot").await;
    assert_eq!(snapshot.id, Some(1));
    assert_eq!(snapshot.data, ben.sees(&game).await);

    let after = ann.plays(&game, 1, "b1-b2").await.ok(201);

    let played = stream.next_event("move").await;
    assert_eq!(played.id, Some(2));
    let expected =
        [("number", json!(2)), ("kind", json!("move")), ("role", json!("hounds")), ("ply", json!(1))];
    for (member, value) in expected {
        assert_eq!(played.data[member], value, "{member}");
    }
    assert_eq!(played.data["move"], "b1-b2");
    for member in ["position", "turn", "legal_moves"] {
        assert_eq!(played.data[member], after[member], "{member}");
    }
    assert_eq!(played.data["at"], "2026-12-01T10:00:00.000Z");
}

#[tokio::test]
async fn whoever_comes_back_is_sent_what_was_missed() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;
    ann.plays(&game, 1, "b1-b2").await.ok(201);
    ben.put(&format!("/v1/games/{game}/draw-offer"), Value::Null).await.ok(200);
    ann.delete(&format!("/v1/games/{game}/draw-offer")).await.ok(200);
    ben.plays(&game, 2, "e2-d2").await.ok(201);

    let everything = app.anonymous().watches_after(&game, 0).await.reads_until(5).await;
    let kinds: Vec<_> = everything.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["started", "move", "draw_offered", "draw_declined", "move"]);
    assert_eq!(everything[0].data["position"], "a2b1b3/e2 hounds");
    assert_eq!(everything[4].data["position"], ann.sees(&game).await["position"]);

    let mut by_query = app.anonymous().opens(&format!("/v1/games/{game}/events?after=3")).await;
    let missed = by_query.reads_until(5).await;
    assert_eq!(missed.iter().map(|event| event.id).collect::<Vec<_>>(), [Some(4), Some(5)]);
    assert_eq!(missed[1].data, everything[4].data);

    // A number that the log does not have yet is nothing to go on from.
    let mut ahead = app.anonymous().watches_after(&game, 99).await;
    assert_eq!(ahead.next_event("snapshot").await.id, Some(5));
    let mut below = app.anonymous().watches_after(&game, -1).await;
    assert_eq!(below.next_event("snapshot").await.id, Some(5));
}

#[tokio::test]
async fn the_end_of_a_rated_game_tells_what_it_did_to_the_ratings() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let (game, hounds, hare) = rated_game(&app, &ann, &ben).await;
    let mut stream = app.anonymous().watches(&game).await;
    stream.next_event("snapshot").await;
    plays_on(&hounds, &game).await;
    plays_on(&hare, &game).await;
    let over = hounds.post(&format!("/v1/games/{game}/resignation"), Value::Null).await.ok(200);

    stream.next_event("move").await;
    stream.next_event("move").await;
    let ended = stream.next_event("ended").await.data;
    assert_eq!((&ended["result"], &ended["reason"]), (&json!("hare"), &json!("resignation")));
    assert!(ended["rating_changes"]["hare"]["after"].as_f64() > Some(1500.0), "{ended}");
    assert_eq!(ended["rating_changes"], over["rating_changes"]);
}

#[tokio::test]
async fn a_move_that_ends_the_game_is_followed_by_its_end() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;
    let mut stream = app.anonymous().watches(&game).await;
    let opening = ["a2-b2", "e2-d1", "b1-c1", "d1-c2", "b2-b1", "c2-b2", "b1-c2", "b2-a2"];
    for (ply, text) in (1..).zip(opening) {
        let mover = if ply % 2 == 1 { &ann } else { &ben };
        mover.plays(&game, ply, text).await.ok(201);
    }

    let events = stream.reads_until(10).await;
    let last = &events[events.len() - 2..];
    assert_eq!((&last[0].kind[..], &last[1].kind[..]), ("move", "ended"));
    assert_eq!((&last[0].data["turn"], &last[0].data["legal_moves"]), (&Value::Null, &json!([])));
    assert_eq!(last[1].data["reason"], "escaped");
}

#[tokio::test]
async fn a_stream_of_a_game_that_is_over_waits_for_a_rematch_and_then_ends() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;
    let (mut stream, mut other) = (ann.watches(&game).await, ben.watches(&game).await);
    stream.next_event("snapshot").await;
    ann.post(&format!("/v1/games/{game}/resignation"), Value::Null).await.ok(200);
    stream.next_event("ended").await;

    ben.put(&format!("/v1/games/{game}/rematch"), Value::Null).await.ok(200);
    stream.next_event("rematch_offered").await;
    app.clock.advance(TimeDelta::milliseconds(299_999));
    app.beat().await;
    assert_eq!(stream.next().await.expect("it goes on").kind, "heartbeat");

    let both = ann.put(&format!("/v1/games/{game}/rematch"), Value::Null).await.ok(200);
    assert_eq!(stream.next_event("rematch_accepted").await.data["game"], both["rematch"]["game"]);
    assert_eq!(stream.ends_with("end").await.data["reason"], "game_over");
    other.reads_until(4).await;
    other.ends_with("end").await;

    // Whoever has all of it need not come back; others are sent what they lack.
    assert_eq!(
        ann.with_header("last-event-id", "4").open(&format!("/v1/games/{game}/events")).await.status(),
        204
    );
    let mut late = ann.watches_after(&game, 2).await;
    assert_eq!(late.next_event("rematch_offered").await.id, Some(3));
    late.next_event("rematch_accepted").await;
    late.ends_with("end").await;
}

#[tokio::test]
async fn without_a_rematch_the_stream_ends_after_five_minutes() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;
    let mut stream = ann.watches(&game).await;
    stream.next_event("snapshot").await;
    ann.post(&format!("/v1/games/{game}/resignation"), Value::Null).await.ok(200);
    stream.next_event("ended").await;

    app.clock.advance(TimeDelta::minutes(5));
    app.beat().await;
    stream.ends_with("end").await;
    let mut late = ann.watches(&game).await;
    assert_eq!(late.next_event("snapshot").await.data["status"], "finished");
    late.ends_with("end").await;
}

#[tokio::test]
async fn a_heartbeat_tells_the_time_and_the_last_number() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;
    let mut stream = ben.watches(&game).await;
    stream.next_event("snapshot").await;
    app.clock.advance(TimeDelta::seconds(10));
    app.beat().await;

    let heartbeat = stream.next().await.expect("a heartbeat");
    assert_eq!((heartbeat.kind.as_str(), heartbeat.id), ("heartbeat", None));
    assert_eq!(heartbeat.data, json!({"server_now": "2026-12-01T10:00:10.000Z", "last": 1}));
}

#[tokio::test]
async fn fifty_readers_of_one_game_are_shown_every_move() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "catch-the-hare").await;
    let anyone = app.anonymous();
    let mut streams = join_all((0..50).map(|_| anyone.watches(&game))).await;
    for stream in &mut streams {
        stream.next_event("snapshot").await;
    }
    for ply in 0..10 {
        plays_on(if ply % 2 == 0 { &ann } else { &ben }, &game).await;
    }

    let read = join_all(streams.iter_mut().map(|stream| stream.reads_until(11))).await;
    let log = super::db_log(&app, &game).await;
    for events in read {
        let seen: Vec<_> = events
            .iter()
            .map(|event| {
                (
                    event.id.expect("a number"),
                    event.kind.clone(),
                    event.data["move"].as_str().map(str::to_owned),
                )
            })
            .collect();
        assert_eq!(seen, log[1..]);
    }
}

#[tokio::test]
async fn what_is_not_there_cannot_be_watched() {
    let app = TestApp::start().await;
    let anyone = app.anonymous();
    anyone.get("/v1/games/0199f3a0-5c1e-7b3a-9d2e-6a1f0c4b8e21/events").await.refused(404, "not-found");
    anyone.get("/v1/games/nonsense/events").await.refused(404, "not-found");
    anyone.get("/v1/me/events").await.refused(401, "token-missing");
    assert_eq!(app.open_streams(), 0);
}
