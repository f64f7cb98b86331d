//! Finding an opponent: pools, tickets, the matchmaker and challenges.

mod challenges;
mod matchmaker;
mod pools;
mod races;
mod tickets;

use std::time::{Duration, Instant};

use chrono::TimeDelta;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, PgPool, Postgres, Transaction};

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

/// Holds rows, so that everybody else who wants to change them has to wait.
async fn db_hold(app: &TestApp, rows: &str) -> Transaction<'static, Postgres> {
    let mut held = app.db.begin().await.expect("a transaction");
    let found =
        sqlx::query(AssertSqlSafe(format!("{rows} for update"))).fetch_all(&mut *held).await.expect("rows");
    assert!(!found.is_empty(), "nothing to hold");
    held
}

/// Returns when so many connections wait for a lock.
async fn db_all_wait(db: &PgPool, contenders: i64) {
    let begun = Instant::now();
    loop {
        let waiting: i64 = sqlx::query_scalar(
            "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        )
        .fetch_one(db)
        .await
        .expect("a count");
        if waiting >= contenders {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "{waiting} of {contenders} wait");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Lets go of the rows when so many connections wait for them.
async fn db_release(app: &TestApp, held: Transaction<'static, Postgres>, contenders: i64) {
    db_all_wait(&app.db, contenders).await;
    held.rollback().await.expect("the rows are let go");
}
