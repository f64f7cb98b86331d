//! Players who leave: who sees it, what the other side may claim, and what it costs not to begin.

use std::{future::Future, pin::Pin};

use chrono::TimeDelta;
use leveret::games;
use serde_json::{Value, json};

use super::clock::{instant, ms, plays_on, rated};
use crate::harness::{Player, Reply, TestApp, holding};

/// A game without a clock that can be claimed, two plies in.
async fn claimable(app: &TestApp, hounds: &Player, hare: &Player, on_drop: &str) -> String {
    let terms = json!({"variant": "hare-and-hounds", "on_drop": on_drop});
    let game = app.game_by(hounds, hare, terms).await;
    for ply in 1..=2 {
        plays_on(hounds, hare, &game, ply).await.ok(201);
    }
    game
}

async fn claims(player: &Player, game: &str, result: &str) -> Reply {
    player.post(&format!("/v1/games/{game}/claim"), json!({"result": result})).await
}

/// Time passes in which only this player shows signs of life.
async fn waits(app: &TestApp, player: &Player, by: TimeDelta) {
    app.match_tickets().await;
    app.db_time_passes(by).await;
    player.get("/v1/me").await.ok(200);
    app.match_tickets().await;
}

#[tokio::test]
async fn whoever_shows_no_sign_of_life_is_shown_as_away() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = claimable(&app, &ann, &ben, "claim").await;
    let path = format!("/v1/games/{game}");
    let here = json!({"present": true, "claimable_at": null});
    let shown = |game: &Value, role: &str| {
        let side = &game["players"][role];
        json!({"present": side["present"], "claimable_at": side["claimable_at"]})
    };
    let left_at = app.clock.now();
    let etag = app.anonymous().get(&path).await.header("etag").expect("an etag").to_owned();
    let polls = app.anonymous().with_header("if-none-match", &etag);

    waits(&app, &ann, ms(30_000)).await;
    assert_eq!(shown(&ann.sees(&game).await, "hare"), here);
    assert_eq!(polls.get(&path).await.status(), 304);
    waits(&app, &ann, ms(1)).await;
    let seen = polls.get(&path).await.ok(200);
    assert_eq!(seen["players"]["hare"]["present"], false);
    assert_eq!(instant(&seen["players"]["hare"]["claimable_at"]), left_at + ms(60_000));
    assert_eq!(shown(&seen, "hounds"), here);

    let other = app.second_process().await;
    other.as_player(&ben).get("/v1/me").await.ok(200);
    other.match_tickets().await;
    assert_eq!(shown(&ann.sees(&game).await, "hare"), here, "back, at another process");
    assert_eq!(polls.get(&path).await.status(), 304);
}

#[tokio::test]
async fn a_game_whose_other_side_has_left_is_claimed_after_a_minute() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    for (result, outcome) in [("win", "hounds"), ("draw", "draw")] {
        let game = claimable(&app, &ann, &ben, "claim").await;
        let at = app.clock.now() + ms(60_000);

        let problem = claims(&ann, &game, result).await.refused(409, "opponent-is-here");
        assert_eq!(instant(&problem["until"]), at);
        waits(&app, &ann, ms(59_999)).await;
        claims(&ann, &game, result).await.refused(409, "opponent-is-here");
        waits(&app, &ann, ms(1)).await;
        app.player(&format!("eve-{result}"))
            .await
            .client
            .clone()
            .post(&format!("/v1/games/{game}/claim"), json!({"result": result}))
            .await
            .refused(403, "not-a-player");
        let over = claims(&ann, &game, result).await.ok(200);

        assert_eq!((&over["result"], &over["reason"]), (&json!(outcome), &json!("abandonment")));
        assert_eq!(claims(&ann, &game, result).await.ok(200)["result"], outcome, "again is safe");
        plays_on(&ann, &ben, &game, 3).await.refused(409, "game-over");
        let listed = ann.get("/v1/games?reason=abandonment").await.ok(200);
        assert_eq!(listed["items"][0]["id"], game);
    }
}

#[tokio::test]
async fn a_rated_game_is_claimed_on_ones_own_turn_as_well_and_rated() {
    let app = TestApp::start().await;
    sqlx::query(
        "update pool set clock = '{\"kind\": \"fischer\", \"initial_ms\": 600000, \"increment_ms\": 0}'",
    )
    .execute(&app.db)
    .await
    .expect("the pools can be slower");
    let (game, hounds, hare) = rated(&app, "hare-and-hounds").await;
    for ply in 1..=2 {
        plays_on(&hounds, &hare, &game, ply).await.ok(201);
    }
    waits(&app, &hounds, ms(60_000)).await;

    let over = claims(&hounds, &game, "win").await.ok(200);

    assert_eq!((&over["turn"], &over["result"]), (&Value::Null, &json!("hounds")));
    assert!(!over["rating_changes"].is_null());
    hounds.put("/v1/pools/hare-and-hounds/ticket", Value::Null).await.ok(201);
}

#[tokio::test]
async fn what_is_done_in_a_game_is_a_sign_of_life() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = claimable(&app, &ann, &ben, "claim").await;
    waits(&app, &ann, ms(59_000)).await;
    ann.plays(&game, 3, "a2-b1").await.ok(201);
    // Nobody has written down yet who called at the other process.
    let other = app.second_process().await;
    other.as_player(&ben).plays(&game, 4, "d2-e2").await.ok(201);
    app.db_time_passes(ms(5000)).await;

    claims(&ann, &game, "win").await.refused(409, "opponent-is-here");

    // Nor has this one, but it asks itself first.
    app.db_time_passes(ms(60_000)).await;
    ben.get("/v1/me").await.ok(200);
    claims(&ann, &game, "win").await.refused(409, "opponent-is-here");
}

#[tokio::test]
async fn not_every_game_can_be_claimed() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let terms = [
        json!({"variant": "hare-and-hounds"}),
        json!({"variant": "hare-and-hounds", "on_drop": "computer"}),
        json!({"variant": "hare-and-hounds", "clock": {"kind": "correspondence", "days": 3}}),
    ];
    for terms in terms {
        let game = app.game_by(&ann, &ben, terms).await;
        for ply in 1..=2 {
            plays_on(&ann, &ben, &game, ply).await.ok(201);
        }
        waits(&app, &ann, TimeDelta::minutes(2)).await;
        claims(&ann, &game, "win").await.refused(409, "nothing-to-claim");
        let seen = ann.sees(&game).await;
        assert_eq!(
            (&seen["players"]["hare"]["present"], &seen["status"]),
            (&json!(false), &json!("ongoing"))
        );
        assert!(seen["players"]["hare"]["claimable_at"].is_null());
    }
    let unmoved = app.game_by(&ann, &ben, json!({"variant": "hare-and-hounds", "on_drop": "claim"})).await;
    ann.plays(&unmoved, 1, "b1-b2").await.ok(201);
    waits(&app, &ann, TimeDelta::minutes(2)).await;
    claims(&ann, &unmoved, "win").await.refused(409, "nothing-to-claim");
    let path = format!("/v1/games/{unmoved}/claim");
    ann.post(&path, json!({"result": "loss"})).await.refused(400, "malformed-request");
    app.anonymous().post(&path, json!({"result": "win"})).await.refused(401, "token-missing");
}

#[tokio::test]
async fn what_becomes_of_a_side_that_leaves_is_agreed_in_the_challenge() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let ask = async |terms: Value| ann.post("/v1/challenges", terms).await;
    let daily = json!({"kind": "correspondence", "days": 1});

    let made = ask(json!({"variant": "hare-and-hounds", "on_drop": "computer"})).await.ok(201);
    assert_eq!(made["on_drop"], "computer");
    let accept = format!("/v1/challenges/{}/accept", made["id"].as_str().expect("an id"));
    let game = ben.post(&accept, Value::Null).await.ok(201);
    assert_eq!(game["on_drop"], "computer");
    assert_eq!(ask(json!({"variant": "hare-and-hounds"})).await.ok(201)["on_drop"], "wait");
    let rated = json!({"variant": "hare-and-hounds", "rated": true, "clock": {"kind": "per_turn", "turn_ms": 30_000}});
    assert_eq!(ask(rated.clone()).await.ok(201)["on_drop"], "claim");
    let rated_daily = json!({"variant": "hare-and-hounds", "rated": true, "clock": daily});
    assert_eq!(ask(rated_daily).await.ok(201)["on_drop"], "wait");

    let mut patient = rated.clone();
    patient["drop_after_ms"] = 120_000.into();
    for terms in [patient, json!({"variant": "hare-and-hounds", "drop_after_ms": 29_999})] {
        let problem = ask(terms).await.refused(422, "invalid-fields");
        assert_eq!(problem["errors"][0]["pointer"], "/drop_after_ms");
    }
    let mut chosen = rated;
    chosen["on_drop"] = "wait".into();
    for terms in [chosen, json!({"variant": "hare-and-hounds", "on_drop": "claim", "clock": daily})] {
        let problem = ask(terms).await.refused(422, "invalid-fields");
        assert_eq!(problem["errors"][0]["pointer"], "/on_drop");
    }
    ask(json!({"variant": "hare-and-hounds", "on_drop": "win"})).await.refused(400, "malformed-request");

    let id = game["id"].as_str().expect("an id");
    ann.post(&format!("/v1/games/{id}/resignation"), Value::Null).await.ok(200);
    for player in [&ann, &ben] {
        player.put(&format!("/v1/games/{id}/rematch"), Value::Null).await.ok(200);
    }
    let rematch = ann.sees(id).await["rematch"]["game"].as_str().expect("a rematch").to_owned();
    assert_eq!(ann.sees(&rematch).await["on_drop"], "computer");
}

#[tokio::test]
async fn the_computer_is_told_whose_side_to_take() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = claimable(&app, &ann, &ben, "computer").await;
    claimable(&app, &ann, &ben, "claim").await;
    let left_at = app.clock.now();
    waits(&app, &ann, ms(59_999)).await;
    assert_eq!(games::to_be_replaced(&app.db, app.clock.now(), 10).await.expect("an answer"), []);
    waits(&app, &ann, ms(1)).await;

    let gone = games::to_be_replaced(&app.db, app.clock.now(), 10).await.expect("an answer");

    let [absence] = gone[..] else { panic!("{gone:?}") };
    assert_eq!(absence.game.to_string(), game);
    assert_eq!((absence.role, absence.since), (leveret::rules::Role::Hare, left_at));
    ben.get("/v1/me").await.ok(200);
    app.match_tickets().await;
    assert_eq!(games::to_be_replaced(&app.db, app.clock.now(), 10).await.expect("an answer"), []);
}

#[tokio::test]
async fn nobody_has_left_while_the_service_was_down() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = claimable(&app, &ann, &ben, "claim").await;
    app.match_tickets().await;

    app.clock.advance(TimeDelta::minutes(10));
    let again = app.second_process().await;
    let ann = again.as_player(&ann);

    assert_eq!(ann.sees(&game).await["players"]["hare"]["present"], true);
    claims(&ann, &game, "win").await.refused(409, "opponent-is-here");
    waits(&again, &ann, ms(60_000)).await;
    claims(&ann, &game, "win").await.ok(200);
}

#[tokio::test]
async fn a_claim_and_a_move_at_the_same_instant_have_one_outcome() {
    for round in 0..4 {
        let app = TestApp::start().await;
        let (ann, ben) = app.two_players().await;
        let game = claimable(&app, &ann, &ben, "claim").await;
        plays_on(&ann, &ben, &game, 3).await.ok(201);
        let other = app.second_process().await;
        let (far_ann, far_ben) = (other.as_player(&ann), other.as_player(&ben));
        waits(&app, &ann, ms(60_000)).await;
        // The claims do not know yet that the other one has come back elsewhere.
        let number = format!(
            "insert into game_event (game_id, number, kind, at) values ('{game}', 5, 'started', now()) returning number"
        );

        let mut contenders: Vec<Pin<Box<dyn Future<Output = Reply> + '_>>> = vec![
            Box::pin(claims(&ann, &game, "win")),
            Box::pin(claims(&ann, &game, "draw")),
            Box::pin(plays_on(&far_ann, &far_ben, &game, 4)),
        ];
        contenders.rotate_left(round % 3);
        let replies = holding(&app.db, &number, contenders).await;

        let done = replies.iter().filter(|reply| [200, 201].contains(&reply.status)).count();
        assert_eq!(
            done,
            1,
            "{replies:?}",
            replies = replies.iter().map(ToString::to_string).collect::<Vec<_>>()
        );
        let seen = ann.sees(&game).await;
        match seen["reason"].as_str() {
            None => assert_eq!(seen["ply"], 4),
            Some(reason) => assert_eq!((reason, &seen["ply"]), ("abandonment", &json!(3))),
        }
    }
}

#[tokio::test]
async fn who_does_not_begin_again_and_again_waits_before_the_next_pool() {
    let app = TestApp::start().await;
    let (first, hounds, hare) = rated(&app, "hare-and-hounds-daily").await;
    app.db_time_passes(TimeDelta::days(1) + ms(1)).await;
    assert_eq!(app.run_flags().await, 1);
    let (ann, ben) = (app.log_in("ann").await, app.log_in("ben").await);
    assert_eq!(ann.sees(&first).await["status"], "aborted");
    let name = hounds.name.clone();
    let lazy = if name == "ann" { &ann } else { &ben };
    let other = if name == "ann" { &ben } else { &ann };
    assert_ne!(hare.name, name);
    assert_eq!(lazy.get("/v1/me").await.ok(200)["cooldown"], Value::Null, "the first one is free");

    let terms = json!({
        "variant": "hare-and-hounds", "rated": true, "clock": {"kind": "per_turn", "turn_ms": 30_000}, "opponent": other.name,
    });
    let challenge = lazy.post("/v1/challenges", terms).await.ok(201);
    let accept = format!("/v1/challenges/{}/accept", challenge["id"].as_str().expect("an id"));
    let second = other.post(&accept, Value::Null).await.ok(201);
    let id = second["id"].as_str().expect("an id");
    if second["players"]["hounds"]["username"] == json!(other.name) {
        other.plays(id, 1, "b1-b2").await.ok(201);
    }
    app.db_time_passes(ms(60_001)).await;
    let aborted = other.post(&format!("/v1/games/{id}/abort"), Value::Null).await.ok(200);
    assert_eq!(aborted["status"], "aborted");

    let cooldown = lazy.get("/v1/me").await.ok(200)["cooldown"].clone();
    assert_eq!(cooldown["reason"], "no_show");
    assert_eq!(instant(&cooldown["until"]), app.clock.now() + ms(60_000));
    assert_eq!(other.get("/v1/me").await.ok(200)["cooldown"], Value::Null);
    let problem =
        lazy.put("/v1/pools/hare-and-hounds/ticket", Value::Null).await.refused(429, "cooling-down");
    assert_eq!(problem["retry_after_ms"], 60_000);
    other.put("/v1/pools/hare-and-hounds/ticket", Value::Null).await.ok(201);
    app.db_time_passes(ms(60_000)).await;
    lazy.put("/v1/pools/hare-and-hounds/ticket", Value::Null).await.ok(201);
}
