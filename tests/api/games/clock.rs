//! Clocks: how long a move may take, who notices that it took too long, and what is not charged.

use std::{future::Future, pin::Pin};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use crate::harness::{Player, TestApp, holding};

const MOVES: [&str; 6] = ["b1-b2", "e2-d2", "a2-b1", "d2-e2", "b1-c1", "e2-d1"];

fn per_turn(turn_ms: i64) -> Value {
    json!({"kind": "per_turn", "turn_ms": turn_ms})
}

fn fischer(initial_ms: i64, increment_ms: i64) -> Value {
    json!({"kind": "fischer", "initial_ms": initial_ms, "increment_ms": increment_ms})
}

fn days(days: i64) -> Value {
    json!({"kind": "correspondence", "days": days})
}

/// A casual game with a clock, in which so many plies are played at once.
async fn game_with(app: &TestApp, hounds: &Player, hare: &Player, clock: Value, plies: u16) -> String {
    let game = app.game_by(hounds, hare, json!({"variant": "hare-and-hounds", "clock": clock})).await;
    for ply in 1..=plies {
        plays_on(hounds, hare, &game, ply).await.ok(201);
    }
    game
}

/// Whoever's turn it is plays the next move.
pub(super) async fn plays_on(hounds: &Player, hare: &Player, game: &str, ply: u16) -> crate::harness::Reply {
    let mover = if ply % 2 == 1 { hounds } else { hare };
    mover.plays(game, ply, MOVES[usize::from(ply) - 1]).await
}

pub(super) fn ms(ms: i64) -> TimeDelta {
    TimeDelta::milliseconds(ms)
}

pub(super) fn instant(value: &Value) -> DateTime<Utc> {
    value.as_str().expect("an instant").parse().expect("RFC 3339")
}

/// What the hounds and the hare have left.
fn left(game: &Value) -> (i64, i64) {
    let left = |role: &str| game["clock"]["remaining_ms"][role].as_i64().expect("milliseconds");
    (left("hounds"), left("hare"))
}

async fn db_log(app: &TestApp, game: &str) -> Vec<String> {
    sqlx::query_scalar("select kind::text from game_event where game_id = $1::uuid order by number")
        .bind(game)
        .fetch_all(&app.db)
        .await
        .expect("the log can be read")
}

/// A rated game through the pool: its id, the hounds and the hare.
pub(super) async fn rated(app: &TestApp, pool: &str) -> (String, Player, Player) {
    let (ann, ben) = app.two_players().await;
    let ticket = format!("/v1/pools/{pool}/ticket");
    for player in [&ann, &ben] {
        player.put(&ticket, Value::Null).await.ok(201);
    }
    assert_eq!(app.match_tickets().await, 1);
    let game = ann.get(&ticket).await.ok(200)["game"].as_str().expect("a game").to_owned();
    if ann.sees(&game).await["players"]["hounds"]["username"] == "ann" {
        (game, ann, ben)
    } else {
        (game, ben, ann)
    }
}

#[tokio::test]
async fn a_snapshot_shows_what_is_left_and_until_when() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = game_with(&app, &ann, &ben, per_turn(30_000), 2).await;
    app.db_time_passes(ms(2890)).await;

    let seen = ben.sees(&game).await;
    assert_eq!(left(&seen), (27_110, 30_000));
    assert_eq!(instant(&seen["clock"]["deadline"]), app.clock.now() + ms(27_110));
    assert_eq!(seen["clock"]["turn_ms"], 30_000);

    let none = app.game(&ann, &ben, "hare-and-hounds").await;
    let clock = ann.sees(&none).await["clock"].clone();
    assert_eq!(clock, json!({"kind": "none", "remaining_ms": null, "deadline": null}));
    let listed = ann.get("/v1/games?status=ongoing").await.ok(200);
    assert_eq!(listed["items"][1]["clock"], seen["clock"]);
    ben.post(&format!("/v1/games/{game}/resignation"), Value::Null).await.ok(200);
    app.db_time_passes(ms(1000)).await;
    let over = ann.sees(&game).await;
    assert_eq!(left(&over), (27_110, 30_000), "it stopped when the game ended");
    assert!(over["clock"]["deadline"].is_null());
}

#[tokio::test]
async fn a_move_counts_at_the_deadline_and_not_a_millisecond_later() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let day = TimeDelta::days(1).num_milliseconds();
    for (clock, allowed) in
        [(per_turn(30_000), 30_000), (per_turn(day), day), (fischer(5000, 1000), 5000), (days(2), 2 * day)]
    {
        let (ann, ben) = (app.log_in(&ann.name).await, app.log_in(&ben.name).await);
        let early = game_with(&app, &ann, &ben, clock.clone(), 2).await;
        let sharp = game_with(&app, &ann, &ben, clock.clone(), 2).await;
        let late = game_with(&app, &ann, &ben, clock.clone(), 2).await;
        app.db_time_passes(ms(allowed - 1)).await;
        let (ann, ben) = (app.log_in(&ann.name).await, app.log_in(&ben.name).await);

        assert_eq!(plays_on(&ann, &ben, &early, 3).await.ok(201)["status"], "ongoing", "{clock}");
        app.db_time_passes(ms(1)).await;
        assert_eq!(plays_on(&ann, &ben, &sharp, 3).await.ok(201)["status"], "ongoing", "{clock}");
        app.db_time_passes(ms(1)).await;
        let problem = plays_on(&ann, &ben, &late, 3).await.refused(409, "game-over");

        let detail = problem["detail"].as_str().expect("a text");
        assert!(detail.contains("hounds ran out of time"), "{detail}");
        assert_eq!(db_log(&app, &late).await, ["started", "move", "move", "ended"]);
        let over = ben.sees(&late).await;
        assert_eq!((&over["result"], &over["reason"]), (&json!("hare"), &json!("timeout")));
        assert_eq!(left(&over).0, 0);
    }
}

#[tokio::test]
async fn a_game_in_which_a_side_does_not_begin_in_time_is_aborted() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let day = TimeDelta::days(1).num_milliseconds();
    for (clock, allowed) in
        [(per_turn(1000), 60_000), (per_turn(90_000), 90_000), (fischer(5000, 0), 60_000), (days(1), day)]
    {
        for plies in [0, 1] {
            let (ann, ben) = (app.log_in(&ann.name).await, app.log_in(&ben.name).await);
            let in_time = game_with(&app, &ann, &ben, clock.clone(), plies).await;
            let too_late = game_with(&app, &ann, &ben, clock.clone(), plies).await;
            app.db_time_passes(ms(allowed)).await;
            let (ann, ben) = (app.log_in(&ann.name).await, app.log_in(&ben.name).await);

            plays_on(&ann, &ben, &in_time, plies + 1).await.ok(201);
            app.db_time_passes(ms(1)).await;
            plays_on(&ann, &ben, &too_late, plies + 1).await.refused(409, "game-over");

            let over = ann.sees(&too_late).await;
            assert_eq!((&over["status"], &over["reason"]), (&json!("aborted"), &json!("aborted")));
            assert!(over["result"].is_null());
        }
    }
}

#[tokio::test]
async fn a_stock_of_time_grows_after_each_move_but_the_first() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = game_with(&app, &ann, &ben, fischer(10_000, 2000), 0).await;

    for (ply, after, hounds, hare) in [
        (1, 40_000, 10_000, 10_000),
        (2, 50_000, 10_000, 10_000),
        (3, 3000, 9000, 10_000),
        (4, 500, 9000, 11_500),
        (5, 9000, 2000, 11_500),
        (6, 11_500, 2000, 2000),
    ] {
        app.db_time_passes(ms(after)).await;
        let played = plays_on(&ann, &ben, &game, ply).await.ok(201);
        assert_eq!(left(&played), (hounds, hare), "after ply {ply}");
    }

    let moves = ann.get(&format!("/v1/games/{game}/moves")).await.ok(200);
    let shown: Vec<i64> = moves["items"]
        .as_array()
        .expect("moves")
        .iter()
        .map(|played| played["remaining_ms"].as_i64().expect("milliseconds"))
        .collect();
    assert_eq!(shown, [10_000, 10_000, 9000, 11_500, 2000, 2000]);
    app.db_time_passes(ms(2001)).await;
    assert_eq!(app.run_flags().await, 1);
    assert_eq!(ann.sees(&game).await["result"], "hare");
}

#[tokio::test]
async fn a_clock_is_the_same_in_memory_and_from_the_log() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let other = app.second_process().await;
    let far_ann = other.as_player(&ann);
    for clock in [per_turn(30_000), fischer(20_000, 1500), days(3)] {
        let game = game_with(&app, &ann, &ben, clock, 0).await;
        for ply in 1..=6 {
            app.db_time_passes(ms(1000 + i64::from(ply) * 77)).await;
            let played = plays_on(&ann, &ben, &game, ply).await.ok(201);
            assert_eq!(far_ann.sees(&game).await["clock"], played["clock"], "after ply {ply}");
        }
    }
}

#[tokio::test]
async fn a_flag_falls_with_nobody_connected_and_is_rated() {
    let app = TestApp::start().await;
    let (game, hounds, hare) = rated(&app, "hare-and-hounds").await;
    for ply in 1..=3 {
        plays_on(&hounds, &hare, &game, ply).await.ok(201);
    }
    app.db_time_passes(ms(30_000)).await;
    assert_eq!(app.run_flags().await, 0, "the deadline itself is in time");
    app.db_time_passes(ms(1)).await;

    assert_eq!(app.run_flags().await, 1);
    assert_eq!(app.run_flags().await, 0);

    let over = hare.sees(&game).await;
    assert_eq!((&over["result"], &over["reason"]), (&json!("hounds"), &json!("timeout")));
    assert_eq!(over["status"], "finished");
    assert_eq!(instant(&over["ended_at"]), app.clock.now());
    let change = |role: &str| {
        let change = &over["rating_changes"][role];
        change["after"].as_f64().expect("a rating") - change["before"].as_f64().expect("a rating")
    };
    assert!(change("hounds") > 0.0 && change("hare") < 0.0, "{over}");
    hare.put("/v1/pools/hare-and-hounds/ticket", Value::Null).await.ok(201);
    let listed = hare.get("/v1/games?reason=timeout").await.ok(200);
    assert_eq!(listed["items"][0]["id"], game);
}

#[tokio::test]
async fn who_does_not_begin_a_rated_game_gives_the_roles_back_and_changes_no_rating() {
    let app = TestApp::start().await;
    let (game, hounds, hare) = rated(&app, "hare-and-hounds").await;
    plays_on(&hounds, &hare, &game, 1).await.ok(201);
    app.db_time_passes(ms(60_001)).await;

    assert_eq!(app.run_flags().await, 1);

    let over = hounds.sees(&game).await;
    assert_eq!(over["status"], "aborted");
    assert!(over["rating_changes"].is_null());
    for player in [&hounds, &hare] {
        let ticket = player.put("/v1/pools/hare-and-hounds/ticket", Value::Null).await.ok(201);
        assert_eq!(ticket["role_debt"], 0);
    }
    let noted: Vec<(String, bool)> =
        sqlx::query_as("select username, no_show from abort join player using (player_id)")
            .fetch_all(&app.db)
            .await
            .expect("the aborts can be read");
    assert_eq!(noted, [(hare.name.clone(), true)]);
}

#[tokio::test]
async fn a_daily_game_is_lost_after_a_day() {
    let app = TestApp::start().await;
    let (game, hounds, hare) = rated(&app, "hare-and-hounds-daily").await;
    plays_on(&hounds, &hare, &game, 1).await.ok(201);
    app.db_time_passes(TimeDelta::hours(23)).await;
    let (hounds, hare) = (app.log_in(&hounds.name).await, app.log_in(&hare.name).await);
    plays_on(&hounds, &hare, &game, 2).await.ok(201);
    app.db_time_passes(TimeDelta::hours(24)).await;
    assert_eq!(app.run_flags().await, 0);
    app.db_time_passes(ms(1)).await;
    assert_eq!(app.run_flags().await, 1);

    let over = app.anonymous().get(&format!("/v1/games/{game}")).await.ok(200);
    assert_eq!((&over["result"], &over["reason"]), (&json!("hare"), &json!("timeout")));
    assert!(!over["rating_changes"].is_null());
}

#[tokio::test]
async fn whoever_looks_or_acts_finds_a_game_over_whose_time_has_run_out() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    for (method, what, body, status) in [
        ("GET", "", Value::Null, 200),
        ("GET", "/moves", Value::Null, 200),
        ("GET", "/export", Value::Null, 200),
        ("PUT", "/moves/3", json!({"move": MOVES[2]}), 409),
        ("PUT", "/moves/4", json!({"move": MOVES[3]}), 409),
        ("PUT", "/draw-offer", Value::Null, 409),
        ("DELETE", "/draw-offer", Value::Null, 409),
        ("POST", "/resignation", Value::Null, 409),
        ("POST", "/abort", Value::Null, 409),
        ("PUT", "/rematch", Value::Null, 200),
        ("DELETE", "/rematch", Value::Null, 200),
    ] {
        let game = game_with(&app, &ann, &ben, per_turn(30_000), 2).await;
        app.db_time_passes(ms(30_001)).await;
        let method = method.parse().expect("a method");

        let reply = ann.send(method, &format!("/v1/games/{game}{what}"), body).await;

        assert_eq!(reply.status(), status, "{reply}");
        assert_eq!(db_log(&app, &game).await[3], "ended", "{reply}");
        let over = ben.sees(&game).await;
        assert_eq!((&over["result"], &over["reason"]), (&json!("hare"), &json!("timeout")), "{reply}");
    }
}

#[tokio::test]
async fn nobody_who_waits_is_charged_for_an_opponent_who_does_not_begin() {
    let app = TestApp::start().await;
    let (game, hounds, hare) = rated(&app, "hare-and-hounds").await;
    app.db_time_passes(ms(60_001)).await;

    let aborted = hare.post(&format!("/v1/games/{game}/abort"), Value::Null).await.ok(200);

    assert_eq!(aborted["status"], "aborted");
    let noted: Vec<String> = sqlx::query_scalar("select username from abort join player using (player_id)")
        .fetch_all(&app.db)
        .await
        .expect("the aborts can be read");
    assert_eq!(noted, [hounds.name]);
}

#[tokio::test]
async fn a_game_is_looked_at_once_a_turn() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = game_with(&app, &ann, &ben, per_turn(30_000), 2).await;
    app.db_time_passes(ms(29_000)).await;
    plays_on(&ann, &ben, &game, 3).await.ok(201);
    app.db_time_passes(ms(1000)).await;
    assert_eq!(db_due(&app).await, 1, "the deadline of the turn before has come");

    assert_eq!(app.run_flags().await, 0);

    assert_eq!(db_due(&app).await, 0);
    app.db_time_passes(ms(28_999)).await;
    assert_eq!(db_due(&app).await, 0, "not before the deadline");
    app.db_time_passes(ms(2)).await;
    assert_eq!(app.run_flags().await, 1);
    assert_eq!(db_due(&app).await, 0);
}

/// How many games are to be looked at now.
async fn db_due(app: &TestApp) -> i64 {
    sqlx::query_scalar("select count(*) from game where status = 'ongoing' and look_at <= $1")
        .bind(app.clock.now())
        .fetch_one(&app.db)
        .await
        .expect("a count")
}

#[tokio::test]
async fn more_games_than_fit_in_one_look_are_all_ended() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    for _ in 0..101 {
        game_with(&app, &ann, &ben, per_turn(30_000), 0).await;
    }
    app.db_time_passes(ms(60_001)).await;

    assert_eq!(app.run_flags().await, 101);
}

#[tokio::test]
async fn a_flag_falls_once_whoever_notices() {
    for round in 0..5 {
        let app = TestApp::start().await;
        let (game, hounds, hare) = rated(&app, "hare-and-hounds").await;
        for ply in 1..=2 {
            plays_on(&hounds, &hare, &game, ply).await.ok(201);
        }
        let other = app.second_process().await;
        let (far_hounds, far_hare) = (other.as_player(&hounds), other.as_player(&hare));
        app.db_time_passes(ms(30_001)).await;

        let path = format!("/v1/games/{game}");
        let number = format!(
            "insert into game_event (game_id, number, kind, at)
             select game_id, max(number) + 1, 'started', now() from game_event where game_id = '{game}' group by game_id
             returning number"
        );
        let (app, other) = (&app, &other);
        let mut contenders: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = vec![
            Box::pin(async {
                // A look passes by what somebody else holds already.
                if app.run_flags().await == 0 {
                    hare.sees(&game).await;
                }
            }),
            Box::pin(async {
                if other.run_flags().await == 0 {
                    far_hare.sees(&game).await;
                }
            }),
            Box::pin(async {
                plays_on(&far_hounds, &far_hare, &game, 3).await.refused(409, "game-over");
            }),
            Box::pin(async {
                far_hounds.post(&format!("{path}/resignation"), Value::Null).await.refused(409, "game-over");
            }),
            Box::pin(async {
                assert_eq!(hare.sees(&game).await["reason"], "timeout");
            }),
        ];
        contenders.rotate_left(round);
        holding(&app.db, &number, contenders).await;

        assert_eq!(db_log(app, &game).await, ["started", "move", "move", "ended"]);
        let over = hounds.sees(&game).await;
        assert_eq!((&over["result"], &over["reason"]), (&json!("hare"), &json!("timeout")));
        assert_eq!(far_hare.sees(&game).await["rating_changes"], over["rating_changes"]);
    }
}

#[tokio::test]
async fn a_move_that_arrived_in_time_counts_although_it_had_to_wait() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = game_with(&app, &ann, &ben, per_turn(30_000), 2).await;
    app.db_time_passes(ms(30_000)).await;
    let number = format!(
        "insert into game_event (game_id, number, kind, at) values ('{game}', 4, 'started', now()) returning number"
    );
    let app = &app;

    let contenders: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = vec![Box::pin(async {
        plays_on(&ann, &ben, &game, 3).await.ok(201);
        app.db_time_passes(ms(29_999)).await;
    })];
    holding(&app.db, &number, contenders).await;

    assert_eq!(app.run_flags().await, 0);
    assert_eq!(ann.sees(&game).await["ply"], 3);
}

#[tokio::test]
async fn time_that_the_service_was_down_is_not_charged() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let begun = game_with(&app, &ann, &ben, per_turn(30_000), 0).await;
    app.db_time_passes(ms(10_000)).await;
    let turn = game_with(&app, &ann, &ben, per_turn(30_000), 2).await;
    let stock = game_with(&app, &ann, &ben, fischer(20_000, 1000), 3).await;
    let daily = game_with(&app, &ann, &ben, days(1), 2).await;
    let endless = app.game(&ann, &ben, "hare-and-hounds").await;
    app.db_time_passes(ms(5000)).await;

    app.clock.advance(TimeDelta::hours(2));
    let again = app.second_process().await;
    let (ann, ben) = (again.log_in("ann").await, again.log_in("ben").await);

    let clock = ann.sees(&turn).await;
    assert_eq!(left(&clock), (25_000, 30_000));
    assert_eq!(instant(&clock["clock"]["deadline"]), app.clock.now() + ms(25_000));
    assert_eq!(left(&ann.sees(&stock).await), (21_000, 15_000));
    assert_eq!(instant(&ann.sees(&begun).await["clock"]["deadline"]), app.clock.now() + ms(45_000));
    let day = TimeDelta::days(1) - ms(5000);
    assert_eq!(instant(&ann.sees(&daily).await["clock"]["deadline"]), app.clock.now() + day);
    assert_eq!(db_log(&app, &endless).await, ["started"]);
    assert_eq!(again.run_flags().await, 0);

    again.db_time_passes(ms(25_000)).await;
    plays_on(&ann, &ben, &turn, 3).await.ok(201);
    plays_on(&ann, &ben, &stock, 4).await.refused(409, "game-over");
    let moves = ann.get(&format!("/v1/games/{turn}/moves")).await.ok(200);
    assert_eq!(moves["items"][2]["remaining_ms"], 0, "all of it was used");
    again.db_time_passes(ms(20_001)).await;
    assert_eq!(again.run_flags().await, 1, "the first move had 60 seconds in all");
    assert_eq!(ann.sees(&begun).await["status"], "aborted");
}

#[tokio::test]
async fn a_restart_within_five_seconds_gives_nothing_back() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = game_with(&app, &ann, &ben, per_turn(30_000), 2).await;

    app.clock.advance(ms(5000));
    let again = app.second_process().await;
    assert_eq!(left(&again.as_player(&ann).sees(&game).await), (25_000, 30_000));

    again.clock.advance(ms(5001));
    let later = app.second_process().await;
    assert_eq!(left(&later.as_player(&ann).sees(&game).await), (25_000, 30_000), "this was longer");
}

#[tokio::test]
async fn time_is_given_back_once_however_many_processes_start() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = game_with(&app, &ann, &ben, per_turn(30_000), 2).await;
    app.clock.advance(TimeDelta::minutes(10));

    let starting = (0..4).map(|_| app.second_process());
    let started = holding(&app.db, "select at from sign_of_life for update", starting).await;

    assert_eq!(db_log(&app, &game).await, ["started", "move", "move", "time_given"]);
    for process in &started {
        assert_eq!(left(&process.as_player(&ann).sees(&game).await), (30_000, 30_000));
    }
    // A second break in the same turn counts from when the first one ended.
    app.db_time_passes(ms(4000)).await;
    app.clock.advance(TimeDelta::minutes(10));
    let again = app.second_process().await;
    assert_eq!(left(&again.as_player(&ann).sees(&game).await), (26_000, 30_000));
}

#[tokio::test]
async fn a_move_right_after_a_break_finds_its_time_given_back() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = game_with(&app, &ann, &ben, per_turn(30_000), 2).await;

    // The database was away, and the first one whom it answers is a player.
    app.clock.advance(TimeDelta::minutes(10));
    let played = plays_on(&ann, &ben, &game, 3).await.ok(201);

    assert_eq!(left(&played), (30_000, 30_000));
    assert_eq!(db_log(&app, &game).await, ["started", "move", "move", "time_given", "move"]);
}

#[tokio::test]
async fn games_from_before_there_were_clocks_begin_their_turn_anew() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = game_with(&app, &ann, &ben, days(1), 2).await;
    sqlx::raw_sql("update sign_of_life set at = null, up_since = null; update game set look_at = default")
        .execute(&app.db)
        .await
        .expect("it can be made as it was");
    app.clock.advance(TimeDelta::days(40));

    let upgraded = app.second_process().await;

    assert_eq!(upgraded.run_flags().await, 0);
    let clock = app.anonymous().get(&format!("/v1/games/{game}")).await.ok(200);
    assert_eq!(instant(&clock["clock"]["deadline"]), app.clock.now() + TimeDelta::days(1));
}

#[tokio::test]
async fn time_that_passes_is_nothing_that_happens() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = game_with(&app, &ann, &ben, per_turn(30_000), 2).await;
    let path = format!("/v1/games/{game}");
    let first = ann.get(&path).await;
    let etag = first.header("etag").expect("an etag").to_owned();
    let polls = ann.with_header("if-none-match", &etag);

    app.db_time_passes(ms(30_000)).await;
    assert_eq!(polls.get(&path).await.status(), 304);
    app.db_time_passes(ms(1)).await;
    assert_eq!(polls.get(&path).await.ok(200)["reason"], "timeout");
}
