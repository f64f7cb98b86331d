//! Finding an opponent: pools, tickets, the matchmaker and challenges.

mod challenges;
mod matchmaker;
mod parties;
mod pools;
mod races;
mod tickets;

use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::harness::{Player, TestApp};

const TICKET: &str = "/v1/pools/hare-and-hounds/ticket";
const DAILY_TICKET: &str = "/v1/pools/hare-and-hounds-daily/ticket";

async fn joins(player: &Player, ticket: &str) -> Value {
    player.put(ticket, json!({})).await.ok(201)
}

async fn ticket_of(player: &Player) -> Value {
    player.get(TICKET).await.ok(200)
}

/// Both join and wait, showing signs of life, until they are matched with each other.
async fn meet(app: &TestApp, one: &Player, other: &Player) -> String {
    joins(one, TICKET).await;
    joins(other, TICKET).await;
    for _ in 0..60 {
        app.match_tickets().await;
        let (ones, others) = (ticket_of(one).await, ticket_of(other).await);
        if ones["status"] == "matched" {
            assert_eq!(ones["game"], others["game"]);
            return text(&ones["game"]);
        }
        app.clock.advance(TimeDelta::seconds(5));
    }
    panic!("after five minutes the two have not met");
}

async fn abort(player: &Player, game: &str) {
    player.post(&format!("/v1/games/{game}/abort"), json!({})).await.ok(200);
}

async fn draw(one: &Player, other: &Player, game: &str) {
    for player in [one, other] {
        player.put(&format!("/v1/games/{game}/draw-offer"), json!({})).await.ok(200);
    }
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// The same player with a new access token, after the old one's time was up.
async fn refreshed(app: &TestApp, player: &Player) -> Player {
    let spent = json!({"refresh_token": player.refresh_token});
    let tokens = app.anonymous().post("/v1/sessions/refresh", spent).await.ok(200);
    Player {
        access_token: text(&tokens["access_token"]),
        refresh_token: text(&tokens["refresh_token"]),
        client: app.with_token(&text(&tokens["access_token"])),
        ..player.clone()
    }
}
