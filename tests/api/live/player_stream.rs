use chrono::TimeDelta;
use serde_json::{Value, json};

use super::{plays_on, rated_game};
use crate::harness::{TestApp, holding};

#[tokio::test]
async fn the_matchmaker_tells_both_and_each_is_told_when_it_is_their_turn() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let mut to_ann = ann.watches_themselves().await;
    assert_eq!(to_ann.next_event("snapshot").await.id, Some(0));
    let mut to_ben = ben.watches_themselves().await;
    to_ben.next_event("snapshot").await;
    let (game, hounds, hare) = rated_game(&app, &ann, &ben).await;

    let (to_hounds, to_hare) =
        if hounds.name == "ann" { (&mut to_ann, &mut to_ben) } else { (&mut to_ben, &mut to_ann) };
    for (stream, role) in [(&mut *to_hounds, "hounds"), (&mut *to_hare, "hare")] {
        assert_eq!(stream.next_event("ticket").await.data["status"], "queued");
        let matched = stream.next_event("ticket").await.data;
        assert_eq!((&matched["status"], &matched["game"]), (&json!("matched"), &json!(game)));
        let started = stream.next_event("game_started").await.data;
        assert_eq!((&started["game"], &started["role"]), (&json!(game), &json!(role)));
    }
    assert_eq!(to_hounds.next_event("your_turn").await.data["ply"], 0);

    plays_on(&hounds, &game).await;
    let turn = to_hare.next_event("your_turn").await;
    assert_eq!((&turn.data["game"], &turn.data["ply"], turn.id), (&json!(game), &json!(1), Some(4)));
    plays_on(&hare, &game).await;
    assert_eq!(to_hounds.next_event("your_turn").await.data["ply"], 2);
    hare.post(&format!("/v1/games/{game}/resignation"), Value::Null).await.ok(200);
    for (stream, role) in [(to_hounds, "hounds"), (to_hare, "hare")] {
        let ended = stream.next_event("game_ended").await.data;
        let expected = [("role", role), ("result", "hounds"), ("reason", "resignation")];
        for (member, value) in expected {
            assert_eq!(ended[member], value);
        }
    }
}

#[tokio::test]
async fn both_sides_of_a_challenge_are_told_what_becomes_of_it() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let (mut to_ann, mut to_ben) = (ann.watches_themselves().await, ben.watches_themselves().await);
    to_ann.next_event("snapshot").await;
    to_ben.next_event("snapshot").await;
    let terms = || json!({"variant": "hare-and-hounds", "opponent": "ben", "role": "hounds"});
    let id = |challenge: &Value| challenge["id"].as_str().expect("an id").to_owned();

    let first = id(&ann.post("/v1/challenges", terms()).await.ok(201));
    ben.post(&format!("/v1/challenges/{first}/decline"), Value::Null).await.ok(200);
    let second = id(&ann.post("/v1/challenges", terms()).await.ok(201));
    ann.delete(&format!("/v1/challenges/{second}")).await.ok(200);
    let third = id(&ann.post("/v1/challenges", terms()).await.ok(201));
    ben.post(&format!("/v1/challenges/{third}/accept"), Value::Null).await.ok(201);
    for stream in [&mut to_ann, &mut to_ben] {
        let expected = [
            (&first, "open"),
            (&first, "declined"),
            (&second, "open"),
            (&second, "withdrawn"),
            (&third, "open"),
            (&third, "accepted"),
        ];
        for (challenge, status) in expected {
            let told = stream.next_event("challenge").await.data;
            assert_eq!((&told["challenge"], &told["status"]), (&json!(challenge), &json!(status)));
        }
        stream.next_event("game_started").await;
    }

    // Nobody else is told of an open one but who accepts it, and what expires is told as well.
    let to_anyone = json!({"variant": "hare-and-hounds", "role": "hounds"});
    let open = id(&ann.post("/v1/challenges", to_anyone.clone()).await.ok(201));
    ben.post(&format!("/v1/challenges/{open}/accept"), Value::Null).await.ok(201);
    assert_eq!(to_ben.reads_until(8).await.len(), 1);
    let lost = id(&ben.post("/v1/challenges", to_anyone).await.ok(201));
    app.clock.advance(TimeDelta::days(8));
    app.match_tickets().await;
    let told: Vec<_> = to_ben.reads_until(11).await.into_iter().map(|event| event.data).collect();
    let last = told.last().expect("something");
    assert_eq!((&last["challenge"], &last["status"]), (&json!(lost), &json!("expired")), "{told:?}");
}

#[tokio::test]
async fn a_snapshot_has_what_concerns_the_player_now() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;
    ben.put("/v1/pools/catch-the-hare/ticket", Value::Null).await.ok(201);
    let challenge =
        ann.post("/v1/challenges", json!({"variant": "catch-the-hare", "opponent": "ben"})).await.ok(201);
    app.player("cat").await.post("/v1/challenges", json!({"variant": "catch-the-hare"})).await.ok(201);

    let snapshot = ben.watches_themselves().await.next_event("snapshot").await;
    let data = snapshot.data;
    assert_eq!(data["games"], json!([ben.sees(&game).await]));
    assert_eq!(data["ticket"], ben.get("/v1/pools/catch-the-hare/ticket").await.ok(200));
    assert_eq!(data["challenges"], json!([challenge]));
    let numbered: i64 = sqlx::query_scalar(
        "select last_number::bigint from player_log join player using (player_id) where username = 'ben'",
    )
    .fetch_one(&app.db)
    .await
    .expect("a number");
    assert_eq!(snapshot.id, Some(numbered));
}

#[tokio::test]
async fn an_open_stream_keeps_a_ticket_alive() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let mut stream = ann.watches_themselves().await;
    for player in [&ann, &ben] {
        player
            .put(
                &format!(
                    "/v1/pools/{}/ticket",
                    if player.name == "ann" { "hare-and-hounds" } else { "catch-the-hare" }
                ),
                Value::Null,
            )
            .await
            .ok(201);
    }
    app.match_tickets().await;
    for _ in 0..5 {
        app.clock.advance(TimeDelta::seconds(10));
        app.beat().await;
        while stream.next().await.expect("it goes on").kind != "heartbeat" {}
        app.match_tickets().await;
    }
    // A look would be a sign of life too.
    let mut statuses: Vec<(String, String)> =
        sqlx::query_as("select username, status from ticket join player using (player_id) order by 1")
            .fetch_all(&app.db)
            .await
            .expect("the tickets");
    let expected =
        [("ann", "queued"), ("ben", "expired")].map(|(name, status)| (name.to_owned(), status.to_owned()));
    assert_eq!(std::mem::take(&mut statuses), expected);
}

#[tokio::test]
async fn a_stream_ends_with_the_session_that_opened_it() {
    let app = TestApp::start().await;
    let other = app.second_process().await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;
    let elsewhere = app.log_in("ann").await;
    let mut streams = [
        ann.watches_themselves().await,
        ann.watches(&game).await,
        other.as_player(&ann).watches_themselves().await,
    ];
    let mut kept = elsewhere.watches_themselves().await;
    for stream in streams.iter_mut().chain([&mut kept]) {
        stream.next_event("snapshot").await;
    }

    ann.delete("/v1/me/sessions/current").await.ok(204);
    for stream in &mut streams[..2] {
        assert_eq!(stream.ends_with("end").await.data["reason"], "session_ended");
    }
    other.look_again().await;
    streams[2].ends_with("end").await;
    app.beat().await;
    assert_eq!(kept.next().await.expect("the other session goes on").kind, "heartbeat");
}

#[tokio::test]
async fn what_was_told_long_ago_is_swept_and_made_good_by_a_snapshot() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    app.game(&ann, &ben, "hare-and-hounds").await;
    app.clock.advance(TimeDelta::days(30));
    assert_eq!(app.sweep_events().await, 0);
    app.clock.advance(TimeDelta::milliseconds(1));
    assert_eq!(app.sweep_events().await, 7);

    let (ann, ben) = (app.log_in("ann").await, app.log_in("ben").await);
    let mut stream = ben.with_header("last-event-id", "1").watches_themselves().await;
    assert_eq!(stream.next_event("snapshot").await.id, Some(3));
    let mut current = ben.with_header("last-event-id", "3").watches_themselves().await;
    app.game(&ann, &ben, "hare-and-hounds").await;
    assert_eq!(current.next_event("challenge").await.id, Some(4));
    assert_eq!(stream.next_event("challenge").await.id, Some(4));
}

/// Whatever happens takes the counters of the players last, and in one order: nobody waits in a circle.
#[tokio::test]
async fn games_of_the_same_two_that_end_at_once_do_not_wait_for_each_other_for_ever() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let other = app.second_process().await;
    let mut acts = Vec::new();
    for number in 0..12 {
        let (one, two) = if number % 2 == 0 { (&ann, &ben) } else { (&ben, &ann) };
        let game = app.game(one, two, "hare-and-hounds").await;
        let near = if number % 3 == 0 { other.as_player(one) } else { one.clone() };
        acts.push(async move {
            if number % 4 < 2 {
                near.post(&format!("/v1/games/{game}/resignation"), Value::Null).await.ok(200)
            } else {
                near.plays(&game, 1, "b1-b2").await.ok(201)
            }
        });
    }
    holding(&app.db, "select from player_log for update", acts).await;
    let told: i64 =
        sqlx::query_scalar("select count(*) from player_event where kind in ('game_ended', 'your_turn')")
            .fetch_one(&app.db)
            .await
            .expect("a count");
    assert_eq!(told, 12 + 6 * 2 + 6);
}
