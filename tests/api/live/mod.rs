//! Watching: streams, polls, and what happens to them when something breaks.

mod buses;
mod game_stream;
mod limits;
mod long_poll;
mod player_stream;
mod reconnect;

use serde_json::{Value, json};

use crate::harness::{Player, TestApp};

/// A rated game, made by the matchmaker, with who has the hounds first.
async fn rated_game(app: &TestApp, one: &Player, other: &Player) -> (String, Player, Player) {
    for player in [one, other] {
        player.put("/v1/pools/hare-and-hounds/ticket", Value::Null).await.ok(201);
    }
    assert_eq!(app.match_tickets().await, 1);
    let ticket = one.get("/v1/pools/hare-and-hounds/ticket").await.ok(200);
    let game = ticket["game"].as_str().expect("a game").to_owned();
    let hounds = one.sees(&game).await["players"]["hounds"]["username"].clone();
    let (hounds, hare) = if hounds == json!(one.name) { (one, other) } else { (other, one) };
    (game, hounds.clone(), hare.clone())
}

/// Plays the first legal move.
async fn plays_on(mover: &Player, game: &str) -> Value {
    let now = mover.sees(game).await;
    let ply = now["ply"].as_u64().expect("a number") + 1;
    let text = now["legal_moves"][0].as_str().expect("a move").to_owned();
    mover.plays(game, u16::try_from(ply).expect("few plies"), &text).await.ok(201)
}

/// What the database has of a game's log: number, kind and move of each entry.
async fn db_log(app: &TestApp, game: &str) -> Vec<(i64, String, Option<String>)> {
    sqlx::query_as(
        "select number::bigint, kind::text, move from game_event where game_id = $1::uuid order by number",
    )
    .bind(game)
    .fetch_all(&app.db)
    .await
    .expect("the log can be read")
}
