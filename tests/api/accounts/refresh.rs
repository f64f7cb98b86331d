use std::time::Duration;

use chrono::TimeDelta;
use futures_util::future::join_all;
use serde_json::{Value, json};
use sqlx::PgConnection;

use super::{bearer, sign_up, text};
use crate::harness::{Reply, TestApp};

async fn refresh(app: &TestApp, token: &str) -> Reply {
    app.anonymous().post("/v1/sessions/refresh", json!({"refresh_token": token})).await
}

#[tokio::test]
async fn a_refresh_token_gives_the_next_tokens_of_the_same_session() {
    let app = TestApp::start().await;
    let first = sign_up(&app, "ann").await;
    let second = refresh(&app, text(&first, "refresh_token")).await.ok(200);
    let third = refresh(&app, text(&second, "refresh_token")).await.ok(200);

    assert_eq!(third["session"], first["session"]);
    assert_ne!(second["refresh_token"], first["refresh_token"]);
    bearer(&app, &third).get("/v1/me").await.ok(200);
}

#[tokio::test]
async fn a_lost_answer_is_told_again_once() {
    let app = TestApp::start().await;
    let first = sign_up(&app, "ann").await;
    let second = refresh(&app, text(&first, "refresh_token")).await.ok(200);

    app.clock.advance(TimeDelta::seconds(10));
    let again = refresh(&app, text(&first, "refresh_token")).await.ok(200);
    assert_eq!(again["refresh_token"], second["refresh_token"]);

    refresh(&app, text(&first, "refresh_token")).await.refused(401, "refresh-token-reused");
    assert_ended(&app, &second).await;
}

#[tokio::test]
async fn a_token_that_comes_back_late_ends_the_session() {
    let app = TestApp::start().await;
    let first = sign_up(&app, "ann").await;
    let second = refresh(&app, text(&first, "refresh_token")).await.ok(200);

    app.clock.advance(TimeDelta::milliseconds(10_001));
    refresh(&app, text(&first, "refresh_token")).await.refused(401, "refresh-token-reused");
    assert_ended(&app, &second).await;
}

#[tokio::test]
async fn a_token_whose_successor_was_used_ends_the_session() {
    let app = TestApp::start().await;
    let first = sign_up(&app, "ann").await;
    let second = refresh(&app, text(&first, "refresh_token")).await.ok(200);
    let third = refresh(&app, text(&second, "refresh_token")).await.ok(200);

    refresh(&app, text(&first, "refresh_token")).await.refused(401, "refresh-token-reused");
    assert_ended(&app, &third).await;
}

#[tokio::test]
async fn other_sessions_survive_a_reuse() {
    let app = TestApp::start().await;
    let first = sign_up(&app, "ann").await;
    let other = super::log_in(&app, "ann").await;
    refresh(&app, text(&first, "refresh_token")).await.ok(200);
    app.clock.advance(TimeDelta::minutes(1));
    refresh(&app, text(&first, "refresh_token")).await.refused(401, "refresh-token-reused");

    bearer(&app, &other).get("/v1/me").await.ok(200);
    refresh(&app, text(&other, "refresh_token")).await.ok(200);
}

#[tokio::test]
async fn a_token_expires_and_each_refresh_begins_anew() {
    let app = TestApp::start().await;
    let first = sign_up(&app, "ann").await;
    app.clock.advance(TimeDelta::days(59));
    let second = refresh(&app, text(&first, "refresh_token")).await.ok(200);
    app.clock.advance(TimeDelta::days(59));
    let third = refresh(&app, text(&second, "refresh_token")).await.ok(200);

    app.clock.advance(TimeDelta::days(60));
    refresh(&app, text(&third, "refresh_token")).await.refused(401, "refresh-token-invalid");
}

#[tokio::test]
async fn what_is_no_refresh_token_is_refused() {
    let app = TestApp::start().await;
    let ann = sign_up(&app, "ann").await;
    let token = text(&ann, "refresh_token");
    let swapped = token.replace("lvr_", "LVR_");
    let unknown = format!("lvr_{}", "A".repeat(43));
    for forged in ["", "lvr_", &swapped, &unknown, &token[..46], "\0", text(&ann, "access_token")] {
        refresh(&app, forged).await.refused(401, "refresh-token-invalid");
    }
    app.with_token(token).get("/v1/me").await.refused(401, "token-invalid");
    refresh(&app, token).await.ok(200);
}

#[tokio::test]
async fn tokens_are_stored_hashed() {
    let app = TestApp::start().await;
    let first = sign_up(&app, "ann").await;
    let second = refresh(&app, text(&first, "refresh_token")).await.ok(200);
    let stored: Vec<String> =
        sqlx::query_scalar("select encode(t::text::bytea, 'escape') from refresh_token t")
            .fetch_all(&app.db)
            .await
            .unwrap();
    assert_eq!(stored.len(), 2);
    for token in [&first, &second] {
        assert!(!stored.concat().contains(text(token, "refresh_token")));
    }
}

#[tokio::test]
async fn two_who_refresh_at_once_are_told_the_same_successor() {
    let app = TestApp::start().await;
    let first = sign_up(&app, "ann").await;
    let replies = race(&app, &first, 2).await;

    let bodies: Vec<Value> = replies.into_iter().map(|reply| reply.ok(200)).collect();
    assert_eq!(bodies[0]["refresh_token"], bodies[1]["refresh_token"]);
    refresh(&app, text(&bodies[0], "refresh_token")).await.ok(200);
}

#[tokio::test]
async fn sixteen_who_refresh_at_once_end_the_session() {
    let app = TestApp::start().await;
    let first = sign_up(&app, "ann").await;
    let replies = race(&app, &first, 16).await;

    let mut statuses: Vec<u16> = replies.iter().map(Reply::status).collect();
    statuses.sort_unstable();
    assert_eq!((statuses[..2].to_vec(), statuses[2..].to_vec()), (vec![200; 2], vec![401; 14]));
    let winner = replies.into_iter().find(|reply| reply.status() == 200).unwrap().ok(200);
    assert_ended(&app, &winner).await;
}

/// Has `count` clients spend the same token, all of them waiting for its session before the first one may go on.
/// (As many as there are connections; the rest wait for one.)
async fn race(app: &TestApp, tokens: &Value, count: usize) -> Vec<Reply> {
    let mut held = app.db.begin().await.unwrap();
    sqlx::query("select from session for update").execute(&mut *held).await.unwrap();
    let token = text(tokens, "refresh_token");
    let racers = join_all((0..count).map(|_| refresh(app, token)));
    let release = async {
        db_wait_for_waiters(&mut held, count.min(5)).await;
        held.commit().await.unwrap();
    };
    tokio::join!(racers, release).0
}

async fn db_wait_for_waiters(held: &mut PgConnection, count: usize) {
    for _ in 0..1000 {
        sqlx::query("select pg_stat_clear_snapshot()").execute(&mut *held).await.unwrap();
        let waiting: i64 = sqlx::query_scalar(
            "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        )
        .fetch_one(&mut *held)
        .await
        .unwrap();
        if usize::try_from(waiting).unwrap() >= count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("no {count} connections came to wait");
}

async fn assert_ended(app: &TestApp, tokens: &Value) {
    refresh(app, text(tokens, "refresh_token")).await.refused(401, "refresh-token-invalid");
    bearer(app, tokens).get("/v1/me").await.refused(401, "token-invalid");
    let reason: Option<String> =
        sqlx::query_scalar("select end_reason from session where session_id = $1::text::uuid")
            .bind(text(tokens, "session"))
            .fetch_one(&app.db)
            .await
            .unwrap();
    assert_eq!(reason.as_deref(), Some("token-reused"));
}
