//! Leaderboards, statistics and what two players did to each other.

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::{POOL, opens, rated_game, resigns};
use crate::harness::TestApp;

async fn leaders(app: &TestApp, query: &str) -> Vec<Value> {
    let board = app.anonymous().get(&format!("/v1/pools/{POOL}/leaderboard?{query}")).await.ok(200);
    let items = board["items"].as_array().expect("a list");
    items.iter().map(|place| place["username"].clone()).collect()
}

#[tokio::test]
async fn established_players_of_both_roles_are_listed_and_bots_apart() {
    let app = TestApp::start().await;
    let (ann, bot) = (app.player("ann").await, app.player("robo").await);
    bot.put("/v1/me/bot", Value::Null).await.ok_any(&[200, 204]);
    let mut played = 0;
    while leaders(&app, "").await.is_empty() {
        let (game, hounds, hare) = rated_game(&app, POOL, &ann, &bot).await;
        opens(&game, &hounds, &hare).await;
        // The side with the hare resigns, so that both win by turns and neither runs away.
        resigns(&hare, &game).await;
        played += 1;
        assert!(played <= 120, "nobody becomes established");
    }

    assert!(played >= 10, "{played} games are too few");
    assert_eq!(leaders(&app, "").await, [json!("ann")]);
    assert_eq!(leaders(&app, "bots=true").await, [json!("robo")]);
    app.clock.advance(TimeDelta::days(400));
    assert_eq!(leaders(&app, "").await, Vec::<Value>::new(), "who is away for long is not listed");
    app.anonymous().get("/v1/pools/no-such-pool/leaderboard").await.refused(404, "not-found");
    app.anonymous()
        .get(&format!("/v1/pools/{POOL}/leaderboard?cursor=x"))
        .await
        .refused(400, "malformed-request");
}

#[tokio::test]
async fn what_was_won_and_lost_adds_up() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let mut wins = json!({"hounds": 0, "hare": 0});
    for _ in 0..4 {
        let (game, hounds, hare) = rated_game(&app, POOL, &ann, &ben).await;
        opens(&game, &hounds, &hare).await;
        resigns(if hounds.name == "ben" { &hounds } else { &hare }, &game).await;
        let role = if hounds.name == "ann" { "hounds" } else { "hare" };
        wins[role] = (wins[role].as_i64().expect("a number") + 1).into();
    }
    let casual = app.game(&ann, &ben, "catch-the-hare").await;
    resigns(&ann, &casual).await;

    let stats = app.anonymous().get("/v1/players/ann/stats").await.ok(200);
    let versus = app.anonymous().get("/v1/players/ben/versus/ann").await.ok(200);

    assert_eq!(wins, json!({"hounds": 2, "hare": 2}), "the roles alternate");
    let in_pool = &stats["games"][0]["by_role"];
    assert_eq!(in_pool["hounds"], json!({"wins": 2, "draws": 0, "losses": 0}));
    assert_eq!(in_pool["hare"], json!({"wins": 2, "draws": 0, "losses": 0}));
    assert_eq!(stats["games"][1]["pool"], Value::Null);
    assert_eq!(stats["games"][1]["by_role"]["hounds"], json!({"wins": 0, "draws": 0, "losses": 1}));
    let record = &stats["records"][0];
    assert_eq!((&record["streak"], &record["best_streak"]), (&json!(4), &json!(4)));
    assert_eq!(record["best_win"]["opponent"], "ben");
    assert_eq!(record["best_win"]["opponent_rating"], 1500.0);
    assert_eq!(versus["total"], json!({"wins": 1, "draws": 0, "losses": 4}));
}

#[tokio::test]
async fn a_history_comes_in_pages_and_as_a_whole() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let mut made = Vec::new();
    for _ in 0..3 {
        let (game, hounds, hare) = rated_game(&app, POOL, &ann, &ben).await;
        opens(&game, &hounds, &hare).await;
        resigns(if hounds.name == "ben" { &hounds } else { &hare }, &game).await;
        made.insert(0, game);
    }
    let path = format!("/v1/players/ann/ratings/{POOL}/history");

    let page = ann.get(&format!("{path}?limit=2")).await.ok(200);
    let rest =
        ann.get(&format!("{path}?limit=2&cursor={}", page["next"].as_str().expect("more"))).await.ok(200);
    let whole = ann.with_header("accept", "application/x-ndjson").get(&path).await;

    let games: Vec<&Value> = page["items"]
        .as_array()
        .expect("a list")
        .iter()
        .chain(rest["items"].as_array().expect("a list"))
        .map(|change| &change["game"])
        .collect();
    assert_eq!(games, made.iter().map(|id| json!(id)).collect::<Vec<_>>().iter().collect::<Vec<_>>());
    assert!(rest["next"].is_null());
    assert_eq!(whole.text().lines().count(), 3);
    let newest = &page["items"][0];
    assert_eq!(newest["before"], page["items"][1]["after"]);
}
