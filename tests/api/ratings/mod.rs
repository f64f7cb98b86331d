//! Ratings: what a rated game changes, what it does not, and that the log reproduces every number.

mod leaderboard;
mod rebuild;
mod settle;

use serde_json::{Value, json};

use crate::harness::{Player, TestApp};

const POOL: &str = "hare-and-hounds";

/// A rated game of two players through a pool: its id, the player with the hounds and the one with the hare. Both
/// log in anew, since the clock goes on until they are matched.
async fn rated_game(app: &TestApp, pool: &str, one: &Player, two: &Player) -> (String, Player, Player) {
    let ticket = format!("/v1/pools/{pool}/ticket");
    let (one, two) = (app.log_in(&one.name).await, app.log_in(&two.name).await);
    for player in [&one, &two] {
        player.put(&ticket, Value::Null).await.ok_any(&[200, 201]);
    }
    // Two who met last time, or are far apart, wait a little for somebody else.
    for _ in 0..20 {
        if app.match_tickets().await == 1 {
            break;
        }
        app.clock.advance(chrono::TimeDelta::seconds(29));
        for player in [&one, &two] {
            player.get(&ticket).await.ok(200);
        }
    }
    let matched = one.get(&ticket).await.ok(200);
    let id = matched["game"].as_str().unwrap_or_else(|| panic!("not matched: {matched}")).to_owned();
    let game = one.sees(&id).await;
    if game["players"]["hounds"]["username"] == json!(one.name) { (id, one, two) } else { (id, two, one) }
}

/// Plays the first two plies, so that the game is rated.
async fn opens(game: &str, hounds: &Player, hare: &Player) {
    hounds.plays(game, 1, "b1-b2").await.ok(201);
    hare.plays(game, 2, "e2-d2").await.ok(201);
}

async fn resigns(player: &Player, game: &str) -> Value {
    player.post(&format!("/v1/games/{game}/resignation"), Value::Null).await.ok(200)
}

async fn rating_of(app: &TestApp, name: &str) -> Value {
    app.anonymous().get(&format!("/v1/players/{name}/ratings")).await.ok(200)["items"][0].clone()
}
