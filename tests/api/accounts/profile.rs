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
    let (ann, ben) = app.two_players().await;
    let daily = json!({"kind": "correspondence", "days": 1});
    let terms = json!({"variant": "hare-and-hounds", "rated": true, "clock": daily, "opponent": "ben"});
    let challenge = ann.post("/v1/challenges", terms).await.ok(201);
    let accept = format!("/v1/challenges/{}/accept", challenge["id"].as_str().unwrap());
    let game = ben.post(&accept, json!({})).await.ok(201);
    let id = game["id"].as_str().unwrap();
    let (hounds, hare) =
        if game["players"]["hounds"]["username"] == "ann" { (&ann, &ben) } else { (&ben, &ann) };
    hounds.plays(id, 1, "b1-b2").await.ok(201);
    hare.plays(id, 2, "e2-d2").await.ok(201);
    hounds.post(&format!("/v1/games/{id}/resignation"), json!({})).await.ok(200);

    ann.put("/v1/me/bot", json!({})).await.refused(409, "bot-too-late");
}
