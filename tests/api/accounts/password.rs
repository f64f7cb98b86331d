use serde_json::{Value, json};

use super::{PASSWORD, bearer, credentials, log_in, sign_up};
use crate::harness::TestApp;

const NEW: &str = "seven hounds, one moor";

fn change(current: &str, new: &str) -> Value {
    json!({"current_password": current, "new_password": new})
}

#[tokio::test]
async fn changing_the_password_ends_the_other_sessions() {
    let app = TestApp::start().await;
    let here = sign_up(&app, "ann").await;
    let elsewhere = log_in(&app, "ann").await;
    bearer(&app, &here).put("/v1/me/password", change(PASSWORD, NEW)).await.ok(204);

    bearer(&app, &here).get("/v1/me").await.ok(200);
    bearer(&app, &elsewhere).get("/v1/me").await.refused(401, "token-invalid");
    app.anonymous()
        .post("/v1/sessions", credentials("ann", PASSWORD))
        .await
        .refused(401, "wrong-credentials");
    app.anonymous().post("/v1/sessions", credentials("ann", NEW)).await.ok(201);
}

#[tokio::test]
async fn the_current_password_is_needed() {
    let app = TestApp::start().await;
    let ann = sign_up(&app, "ann").await;
    bearer(&app, &ann).put("/v1/me/password", change(NEW, NEW)).await.refused(401, "wrong-credentials");
    log_in(&app, "ann").await;
}

#[tokio::test]
async fn a_weak_new_password_is_refused() {
    let app = TestApp::start().await;
    let ann = sign_up(&app, "ann").await;
    for weak in ["password1", "short", "my-name-is-Ann-77-q"] {
        let reply = bearer(&app, &ann).put("/v1/me/password", change(PASSWORD, weak)).await;
        assert_eq!(reply.refused(422, "invalid-fields")["errors"][0]["pointer"], "/new_password");
    }
}

#[tokio::test]
async fn guessing_the_current_password_is_limited() {
    let app = TestApp::start_with(|settings| settings.rate_limits = "on".to_owned()).await;
    let ann = sign_up(&app, "ann").await;
    for _ in 0..10 {
        bearer(&app, &ann).put("/v1/me/password", change(NEW, NEW)).await.refused(401, "wrong-credentials");
    }
    let reply = bearer(&app, &ann).put("/v1/me/password", change(PASSWORD, NEW)).await;
    assert!(reply.header("retry-after").is_some());
    reply.refused(429, "too-many-requests");
}

#[tokio::test]
async fn two_hundred_log_ins_at_once_are_all_answered() {
    let app = TestApp::start().await;
    sign_up(&app, "ann").await;
    let client = app.anonymous();
    let log_ins = (0..200).map(|_| client.post("/v1/sessions", credentials("ann", PASSWORD)));
    let replies = futures_util::future::join_all(log_ins).await;
    assert!(replies.iter().all(|reply| reply.status() == 201 || reply.status() == 503));
}
