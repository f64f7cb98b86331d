//! What a rated game does to two ratings.

use chrono::TimeDelta;
use futures_util::future::join_all;
use leveret::{accounts, ratings};
use serde_json::{Value, json};

use super::{POOL, opens, rated_game, rating_of, resigns};
use crate::harness::{Player, Reply, TestApp, holding};

async fn db_count(app: &TestApp, table: &str) -> i64 {
    sqlx::query_scalar(sqlx::AssertSqlSafe(format!("select count(*) from {table}")))
        .fetch_one(&app.db)
        .await
        .expect("a count")
}

#[tokio::test]
async fn the_first_game_of_two_new_players_changes_both_by_the_rule() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let (game, hounds, hare) = rated_game(&app, POOL, &ann, &ben).await;
    opens(&game, &hounds, &hare).await;

    let ended = resigns(&hounds, &game).await;

    let changes = &ended["rating_changes"];
    assert_eq!(changes["hare"]["after"], 1662.310894);
    assert_eq!(changes["hounds"]["after"], 1337.689106);
    assert_eq!(changes["hare"]["rd_after"], 290.318964);
    assert_eq!(changes["hounds"]["expected_score"], 0.5);
    assert_eq!(changes["hounds"]["role_offset"], 0.0);
    let winner = rating_of(&app, &hare.name).await;
    assert_eq!((&winner["rating"], &winner["provisional"]), (&json!(1662.310894), &json!(true)));
    assert_eq!(winner["games"], json!({"hounds": 0, "hare": 1}));
    let history = format!("/v1/players/{}/ratings/{POOL}/history", hounds.name);
    let change = app.anonymous().get(&history).await.ok(200)["items"][0].clone();
    assert_eq!(change["game"], game.as_str());
    assert_eq!((&change["before"], &change["after"]), (&json!(1500.0), &json!(1337.689106)));
    assert_eq!((&change["score"], &change["role"]), (&json!(0.0), &json!("hounds")));
}

#[tokio::test]
async fn a_game_of_fewer_than_two_plies_is_not_rated() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let (game, hounds, hare) = rated_game(&app, POOL, &ann, &ben).await;
    hounds.plays(&game, 1, "b1-b2").await.ok(201);

    let ended = resigns(&hare, &game).await;

    assert_eq!(ended["result"], "hounds");
    assert!(ended["rating_changes"].is_null());
    assert_eq!(rating_of(&app, &hare.name).await, Value::Null);
}

#[tokio::test]
async fn an_aborted_game_is_not_rated_and_gives_the_roles_back() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let (game, hounds, _) = rated_game(&app, POOL, &ann, &ben).await;
    let roles = async |player: &Player| {
        app.anonymous().get(&format!("/v1/players/{}", player.name)).await.ok(200)["roles"].clone()
    };
    assert_eq!(roles(&hounds).await, json!([{"pool": POOL, "role_debt": 1, "last_role": "hounds"}]));

    hounds.post(&format!("/v1/games/{game}/abort"), Value::Null).await.ok(200);

    assert_eq!(roles(&hounds).await, json!([{"pool": POOL, "role_debt": 0, "last_role": null}]));
    assert_eq!(db_count(&app, "rating_event").await, 0);
}

#[tokio::test]
async fn a_game_of_a_banned_player_is_not_rated() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let (game, hounds, hare) = rated_game(&app, POOL, &ann, &ben).await;
    opens(&game, &hounds, &hare).await;
    accounts::ban(&app.db, &hare.name, app.clock.now()).await.expect("banned");

    let ended = resigns(&hounds, &game).await;

    assert!(ended["rating_changes"].is_null());
    assert_eq!(db_count(&app, "rating_event").await, 0);
    app.look_again().await;
    hare.get("/v1/me").await.refused(401, "token-invalid");
}

#[tokio::test]
async fn a_game_is_rated_once_however_many_end_it() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let other = app.second_process().await;
    let (game, hounds, hare) = rated_game(&app, POOL, &ann, &ben).await;
    opens(&game, &hounds, &hare).await;
    let path = format!("/v1/games/{game}/resignation");

    let finishers = (0..16).map(|number: usize| {
        let player = if number.is_multiple_of(2) { hounds.clone() } else { hare.clone() };
        let player = if number.is_multiple_of(4) { other.as_player(&player) } else { player };
        let path = path.clone();
        async move { player.post(&path, Value::Null).await }
    });
    let held = format!("select from game where game_id = '{game}' for update");
    let replies: Vec<Reply> = holding(&app.db, &held, finishers).await;

    assert_eq!(replies.iter().filter(|reply| reply.status == 200).count(), 8, "one side has resigned");
    assert_eq!(db_count(&app, "rating_event").await, 2);
    let sum: i64 = sqlx::query_scalar("select sum(hounds_games + hare_games)::bigint from rating")
        .fetch_one(&app.db)
        .await
        .expect("a sum");
    assert_eq!(sum, 2);
}

#[tokio::test]
async fn games_that_end_at_once_are_all_rated_and_nobody_waits_for_ever() {
    let app = TestApp::start().await;
    let other = app.second_process().await;
    let mut players = Vec::new();
    for name in ["ann", "ben", "cai", "dot", "eve", "fay"] {
        players.push(app.player(name).await);
    }
    for _ in 0..2 {
        let mut games = Vec::new();
        for (index, one) in players.iter().enumerate() {
            for two in &players[index + 1..] {
                let terms = json!({
                    "variant": "hare-and-hounds", "rated": true, "opponent": two.name,
                    "clock": {"kind": "correspondence", "days": 1},
                });
                let challenge = one.post("/v1/challenges", terms).await.ok(201);
                let id = challenge["id"].as_str().expect("an id");
                let game = two.post(&format!("/v1/challenges/{id}/accept"), Value::Null).await.ok(201);
                let id = game["id"].as_str().expect("an id").to_owned();
                let is_hounds = game["players"]["hounds"]["username"] == json!(one.name);
                let (hounds, hare) = if is_hounds { (one, two) } else { (two, one) };
                opens(&id, hounds, hare).await;
                games.push((id, hounds.clone()));
            }
        }
        let endings = games.into_iter().enumerate().map(|(number, (id, player))| {
            let player = if number.is_multiple_of(2) { other.as_player(&player) } else { player };
            async move { player.post(&format!("/v1/games/{id}/resignation"), Value::Null).await }
        });
        for reply in join_all(endings).await {
            assert!(!reply.ok(200)["rating_changes"].is_null());
        }
    }
    assert_eq!(db_count(&app, "rating_event").await, 60);
    assert_eq!(ratings::rebuild(&app.db, false).await.expect("a rebuild"), []);
}

#[tokio::test]
async fn idle_time_makes_a_rating_less_certain_and_reading_writes_nothing() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let (game, hounds, hare) = rated_game(&app, POOL, &ann, &ben).await;
    opens(&game, &hounds, &hare).await;
    resigns(&hounds, &game).await;
    let before = rating_of(&app, "ann").await;

    app.clock.advance(TimeDelta::days(365));
    let after = rating_of(&app, "ann").await;

    assert_eq!(after["rating"], before["rating"]);
    assert!(after["rd"].as_f64() > before["rd"].as_f64(), "{before} {after}");
    let stored: f64 =
        sqlx::query_scalar("select max(rd) from rating").fetch_one(&app.db).await.expect("a number");
    assert_eq!(json!(stored), before["rd"]);
}

#[tokio::test]
async fn a_published_role_offset_counts_from_the_next_game_on() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let (first, hounds, hare) = rated_game(&app, POOL, &ann, &ben).await;
    opens(&first, &hounds, &hare).await;
    let old = resigns(&hare, &first).await;

    let too_few = ratings::publish_offset(&app.db, POOL, app.clock.now()).await.expect("the database works");
    assert!(too_few.is_none(), "one game says nothing about the roles");
    sqlx::query(
        "insert into role_offset (pool_id, a, b, a_error, b_error, sample_size, published_at)
         values ($1, 200, 0, 10, 0.1, 500, now())",
    )
    .bind(POOL)
    .execute(&app.db)
    .await
    .expect("published");
    let (second, hounds, hare) = rated_game(&app, POOL, &ann, &ben).await;
    opens(&second, &hounds, &hare).await;
    let new = resigns(&hare, &second).await;

    assert_eq!(new["rating_changes"]["hounds"]["role_offset"], 200.0);
    assert!(ann.sees(&first).await["rating_changes"] == old["rating_changes"], "no past game is touched");
    assert_eq!(ratings::rebuild(&app.db, false).await.expect("a rebuild"), []);
}

/// Writes 600 rated games of two established equals of which the hounds won four in five; to be deleted before the
/// database is audited, since nobody has played them.
async fn db_pretend_600_games(app: &TestApp) {
    for sql in [
        "insert into game (game_id, variant, rules, clock, pool_id, rated, hounds_id, hare_id, start, seed, created_at,
            status, result, reason, ended_at)
         select gen_random_uuid(), variant, rules, clock, pool_id, true, hounds.player_id, hare.player_id,
            'a2b1b3/e2 hounds', number, hounds.created_at, 'finished',
            case when number % 5 < 4 then 'hounds' else 'hare' end, 'resignation', hounds.created_at
         from pool, player hounds, player hare, generate_series(1, 600) number
         where pool_id = 'hare-and-hounds' and hounds.username = 'ann' and hare.username = 'ben'",
        "insert into rating_event (game_id, player_id, opponent_id, pool_id, settled, role, score, rating_before,
            rd_before, volatility_before, rating_after, rd_after, volatility_after, expected_score, advantage,
            rule_version, rated_at)
         select game_id, player_id, opponent_id, pool_id, seed, role, (result = role)::int, 1500, 60, 0.06, 1500, 60,
            0.06, 0.5, 0, 1, created_at
         from game
         cross join lateral (
            values ('hounds', hounds_id, hare_id), ('hare', hare_id, hounds_id)
         ) side (role, player_id, opponent_id)",
    ] {
        sqlx::query(sql).execute(&app.db).await.expect("the games are written");
    }
}

async fn db_delete_all_games(app: &TestApp) {
    for sql in ["delete from rating_event", "delete from game"] {
        sqlx::query(sql).execute(&app.db).await.expect("the games are deleted");
    }
}

#[tokio::test]
async fn a_role_offset_is_fitted_from_the_log_and_published() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    db_pretend_600_games(&app).await;

    let published =
        ratings::publish_offset(&app.db, POOL, app.clock.now()).await.expect("the database works");
    let published = published.expect("600 games are enough");
    db_delete_all_games(&app).await;

    // Four in five is an expectation of 0.8: 241 points, drawn a little towards none by the prior.
    let (a, error) = (published.fit.offset.a, published.fit.a_standard_error);
    assert_eq!(published.fit.sample_size, 600);
    assert!((200.0..260.0).contains(&a) && (10.0..40.0).contains(&error), "{published:?}");
    let (game, hounds, hare) = rated_game(&app, POOL, &ann, &ben).await;
    opens(&game, &hounds, &hare).await;
    let ended = resigns(&hounds, &game).await;
    assert_eq!(ended["rating_changes"]["hare"]["role_offset"], a);
    let history = format!("/v1/players/ann/ratings/{POOL}/history");
    let change = app.anonymous().get(&history).await.ok(200)["items"][0].clone();
    assert_eq!(change["role_offset_version"], published.id);
}
