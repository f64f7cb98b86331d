use serde_json::json;

use super::{PASSWORD, bearer, credentials, log_in, sign_up};
use crate::harness::TestApp;

#[tokio::test]
async fn a_closed_account_is_gone_but_its_name_stays_taken() {
    let app = TestApp::start().await;
    let ann = sign_up(&app, "ann").await;
    let elsewhere = log_in(&app, "ann").await;
    bearer(&app, &ann).delete_with("/v1/me", json!({"password": PASSWORD})).await.ok(204);

    for tokens in [&ann, &elsewhere] {
        bearer(&app, tokens).get("/v1/me").await.refused(401, "token-invalid");
        let token = json!({"refresh_token": tokens["refresh_token"]});
        app.anonymous().post("/v1/sessions/refresh", token).await.refused(401, "refresh-token-invalid");
    }
    app.anonymous()
        .post("/v1/sessions", credentials("ann", PASSWORD))
        .await
        .refused(401, "wrong-credentials");
    app.anonymous().post("/v1/accounts", credentials("Ann", PASSWORD)).await.refused(409, "username-taken");
    assert!(leveret::accounts::find_player(&app.db, "ann").await.unwrap().is_none());
}

#[tokio::test]
async fn what_tells_who_it_was_is_deleted() {
    let app = TestApp::start().await;
    let ann = sign_up(&app, "ann").await;
    bearer(&app, &ann).patch("/v1/me", json!({"bio": "I live by the moor"})).await.ok(200);
    bearer(&app, &ann).delete_with("/v1/me", json!({"password": PASSWORD})).await.ok(204);

    let row: (Option<String>, String) =
        sqlx::query_as("select username, bio from player where username_key = 'ann'")
            .fetch_one(&app.db)
            .await
            .unwrap();
    assert_eq!(row, (None, String::new()));
    let left: i64 = sqlx::query_scalar(
        "select (select count(*) from password) + (select count(*) from refresh_token)
            + (select count(*) from session where address <> '' or user_agent <> '')",
    )
    .fetch_one(&app.db)
    .await
    .unwrap();
    assert_eq!(left, 0);
}

#[tokio::test]
async fn closing_needs_the_password() {
    let app = TestApp::start().await;
    let ann = bearer(&app, &sign_up(&app, "ann").await);
    ann.delete_with("/v1/me", json!({"password": "not-the-password"}))
        .await
        .refused(401, "wrong-credentials");
    ann.delete_with("/v1/me", json!({})).await.refused(422, "invalid-fields");
    ann.get("/v1/me").await.ok(200);
}

#[tokio::test]
async fn who_closes_the_account_resigns_what_goes_on() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;
    ann.delete_with("/v1/me", json!({"password": PASSWORD})).await.ok(204);

    let seen = ben.sees(&game).await;
    assert_eq!((&seen["result"], &seen["reason"]), (&json!("hare"), &json!("resignation")));
    assert_eq!(seen["players"]["hounds"]["username"], "closed");
    ben.get("/v1/players/ann").await.refused(404, "not-found");
}
