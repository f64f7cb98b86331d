use serde_json::json;

use super::{bearer, sign_up};
use crate::harness::TestApp;

#[tokio::test]
async fn the_bio_can_be_changed_and_left_as_it_is() {
    let app = TestApp::start().await;
    let ann = bearer(&app, &sign_up(&app, "ann").await);
    let longest = "ü".repeat(400);
    assert_eq!(ann.patch("/v1/me", json!({"bio": longest})).await.ok(200)["bio"], longest);
    assert_eq!(ann.patch("/v1/me", json!({})).await.ok(200)["bio"], longest);
    assert_eq!(ann.patch("/v1/me", json!({"bio": ""})).await.ok(200)["bio"], "");
}

#[tokio::test]
async fn a_bad_bio_is_refused() {
    let app = TestApp::start().await;
    let ann = bearer(&app, &sign_up(&app, "ann").await);
    for bio in ["ü".repeat(401), "a\0b".to_owned(), "a\u{1b}[31m".to_owned()] {
        let problem = ann.patch("/v1/me", json!({"bio": bio})).await.refused(422, "invalid-fields");
        assert_eq!(problem["errors"][0]["pointer"], "/bio");
    }
    ann.patch("/v1/me", json!({"rating": 3000})).await.refused(400, "malformed-request");
}

#[tokio::test]
async fn a_bot_declares_itself_again_and_again() {
    let app = TestApp::start().await;
    let ann = bearer(&app, &sign_up(&app, "ann").await);
    assert_eq!(ann.put("/v1/me/bot", json!({})).await.ok(200)["is_bot"], true);
    assert_eq!(ann.put("/v1/me/bot", json!({})).await.ok(200)["is_bot"], true);
    assert_eq!(ann.get("/v1/me").await.ok(200)["is_bot"], true);
}

#[tokio::test]
async fn after_a_rated_game_it_is_too_late_to_declare_a_bot() {
    let app = TestApp::start().await;
    let ann = sign_up(&app, "ann").await;
    db_pretend_rated_game(&app).await;
    bearer(&app, &ann).put("/v1/me/bot", json!({})).await.refused(409, "bot-too-late");
    sqlx::query("delete from rating_event").execute(&app.db).await.unwrap();
}

/// Writes a rating event without the game that it would come from; to be deleted before the database is audited.
async fn db_pretend_rated_game(app: &TestApp) {
    let mut tx = app.db.begin().await.unwrap();
    for sql in [
        "set local session_replication_role = replica",
        "insert into rating_event (game_id, player_id, pool_id, settled, role, opponent_id, score, rating_before,
            rd_before, volatility_before, rating_after, rd_after, volatility_after, expected_score, advantage,
            rule_version, rated_at)
        select gen_random_uuid(), player_id, 'any', 1, 'hare', gen_random_uuid(), 1, 1500, 300, 0.06, 1600, 250, 0.06,
            0.5, 0, 1, created_at
        from player",
    ] {
        sqlx::query(sql).execute(&mut *tx).await.unwrap();
    }
    tx.commit().await.unwrap();
}
