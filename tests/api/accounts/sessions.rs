use chrono::TimeDelta;
use leveret::accounts::{self, access};
use serde_json::json;

use super::{bearer, log_in, sign_up, text};
use crate::harness::TestApp;

#[tokio::test]
async fn sessions_are_listed_with_the_current_one_marked() {
    let app = TestApp::start().await;
    sign_up(&app, "ann").await;
    app.clock.advance(TimeDelta::seconds(1));
    let second = log_in(&app, "ann").await;
    sign_up(&app, "ben").await;

    let list = bearer(&app, &second).get("/v1/me/sessions").await.ok(200);
    let items = list["items"].as_array().unwrap();
    assert_eq!(list["next"], json!(null));
    assert_eq!(items.len(), 2);
    assert_eq!(items[0]["id"], second["session"]);
    assert_eq!((&items[0]["current"], &items[1]["current"]), (&json!(true), &json!(false)));
    assert_eq!(items[0]["address"], "127.0.0.1");
}

#[tokio::test]
async fn logging_out_ends_the_session_here_at_once() {
    let app = TestApp::start().await;
    let ann = sign_up(&app, "ann").await;
    let client = bearer(&app, &ann);
    client.delete("/v1/me/sessions/current").await.ok(204);

    client.get("/v1/me").await.refused(401, "token-invalid");
    let token = json!({"refresh_token": ann["refresh_token"]});
    app.anonymous().post("/v1/sessions/refresh", token).await.refused(401, "refresh-token-invalid");
}

#[tokio::test]
async fn another_process_learns_of_a_log_out_when_it_looks_again() {
    let app = TestApp::start().await;
    let ann = sign_up(&app, "ann").await;
    sqlx::query("update session set ended_at = $1, end_reason = 'logged-out'")
        .bind(app.clock.now())
        .execute(&app.db)
        .await
        .unwrap();
    bearer(&app, &ann).get("/v1/me").await.ok(200);

    app.look_again().await;
    bearer(&app, &ann).get("/v1/me").await.refused(401, "token-invalid");
    app.clock.advance(TimeDelta::minutes(14));
    app.look_again().await;
    bearer(&app, &ann).get("/v1/me").await.refused(401, "token-invalid");
}

#[tokio::test]
async fn a_session_can_be_ended_from_another_one_again_and_again() {
    let app = TestApp::start().await;
    let first = sign_up(&app, "ann").await;
    let second = log_in(&app, "ann").await;
    let path = format!("/v1/me/sessions/{}", text(&second, "session"));

    bearer(&app, &first).delete(&path).await.ok(204);
    bearer(&app, &first).delete(&path).await.ok(204);
    bearer(&app, &second).get("/v1/me").await.refused(401, "token-invalid");
    bearer(&app, &first).get("/v1/me").await.ok(200);
    bearer(&app, &first).delete("/v1/me/sessions/nonsense").await.refused(404, "not-found");
}

#[tokio::test]
async fn a_session_of_somebody_else_is_left_alone() {
    let app = TestApp::start().await;
    let ann = sign_up(&app, "ann").await;
    let ben = sign_up(&app, "ben").await;
    bearer(&app, &ben).delete(&format!("/v1/me/sessions/{}", text(&ann, "session"))).await.ok(204);

    bearer(&app, &ann).get("/v1/me").await.ok(200);
}

#[tokio::test]
async fn all_sessions_can_be_ended() {
    let app = TestApp::start().await;
    let first = sign_up(&app, "ann").await;
    let second = log_in(&app, "ann").await;
    bearer(&app, &first).delete("/v1/me/sessions").await.ok(204);

    for tokens in [first, second] {
        bearer(&app, &tokens).get("/v1/me").await.refused(401, "token-invalid");
    }
}

#[tokio::test]
async fn a_stranger_is_asked_for_a_token_before_anything_else() {
    let app = TestApp::start().await;
    app.anonymous().get("/v1/me").await.refused(401, "token-missing");
    app.anonymous().put("/v1/me/password", json!({"nonsense": 1})).await.refused(401, "token-missing");
    app.anonymous().delete("/v1/me/sessions/nonsense").await.refused(401, "token-missing");
}

#[tokio::test]
async fn an_access_token_expires() {
    let app = TestApp::start().await;
    let ann = sign_up(&app, "ann").await;
    app.clock.advance(TimeDelta::seconds(898));
    bearer(&app, &ann).get("/v1/me").await.ok(200);
    app.clock.advance(TimeDelta::seconds(2));
    bearer(&app, &ann).get("/v1/me").await.refused(401, "token-invalid");
}

#[tokio::test]
async fn a_rotated_key_still_verifies_until_its_tokens_have_expired() {
    let app = TestApp::start().await;
    let old = sign_up(&app, "ann").await;
    let old_header = text(&old, "access_token").split('.').next().unwrap().to_owned();
    app.clock.advance(TimeDelta::seconds(1));
    access::rotate_key(&app.db, app.clock.now(), [7; 32]).await.unwrap();
    app.look_again().await;
    bearer(&app, &old).get("/v1/me").await.ok(200);

    app.clock.advance(TimeDelta::seconds(5));
    let new = log_in(&app, "ann").await;
    assert!(!text(&new, "access_token").starts_with(&old_header), "the new key does not sign");
    bearer(&app, &new).get("/v1/me").await.ok(200);
    bearer(&app, &old).get("/v1/me").await.ok(200);

    app.clock.advance(TimeDelta::minutes(20));
    app.look_again().await;
    bearer(&app, &old).get("/v1/me").await.refused(401, "token-invalid");
    log_in(&app, "ann").await;
}

#[tokio::test]
async fn processes_that_start_at_once_make_one_key() {
    let app = TestApp::start().await;
    sqlx::query("delete from signing_key").execute(&app.db).await.unwrap();
    let settings = app.settings.accounts.clone();
    let starts = (0..4_u8).map(|n| access::AccessTokens::start(&app.db, &settings, app.clock.now(), [n; 32]));
    for started in futures_util::future::join_all(starts).await {
        assert!(started.is_ok());
    }
    let keys: i64 = sqlx::query_scalar("select count(*) from signing_key").fetch_one(&app.db).await.unwrap();
    assert_eq!(keys, 1);
}

#[tokio::test]
async fn what_is_old_is_swept_and_what_is_live_stays() {
    let app = TestApp::start().await;
    let ann = sign_up(&app, "ann").await;
    let gone = log_in(&app, "ann").await;
    bearer(&app, &gone).delete("/v1/me/sessions/current").await.ok(204);
    app.clock.advance(TimeDelta::days(2));
    while accounts::sweep(&app.db, app.clock.now()).await.unwrap() > 0 {}
    assert_eq!((db_count(&app, "session").await, db_count(&app, "refresh_token").await), (2, 1));

    let token = json!({"refresh_token": ann["refresh_token"]});
    app.anonymous().post("/v1/sessions/refresh", token).await.ok(200);
    app.clock.advance(TimeDelta::days(200));
    while accounts::sweep(&app.db, app.clock.now()).await.unwrap() > 0 {}
    assert_eq!((db_count(&app, "session").await, db_count(&app, "refresh_token").await), (0, 0));
}

async fn db_count(app: &TestApp, table: &str) -> i64 {
    let sql = match table {
        "session" => "select count(*) from session",
        _ => "select count(*) from refresh_token",
    };
    sqlx::query_scalar(sql).fetch_one(&app.db).await.unwrap()
}
