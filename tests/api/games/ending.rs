//! Resigning and aborting.

use serde_json::Value;

use crate::harness::TestApp;

#[tokio::test]
async fn who_resigns_loses() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "catch-the-hare").await;
    let path = format!("/v1/games/{game}/resignation");

    let ended = ben.post(&path, Value::Null).await.ok(200);

    assert_eq!((&ended["result"], &ended["reason"]), (&"hounds".into(), &"resignation".into()));
    assert_eq!(ended["status"], "finished");
    assert!(ended["rating_changes"].is_null(), "a casual game changes no rating");
    assert_eq!(ben.post(&path, Value::Null).await.ok(200)["result"], "hounds", "again is safe");
    ann.post(&path, Value::Null).await.refused(409, "game-over");
    ann.plays(&game, 1, "a3-a4").await.refused(409, "game-over");
}

#[tokio::test]
async fn a_game_is_aborted_until_both_have_moved() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let first = app.game(&ann, &ben, "hare-and-hounds").await;
    let second = app.game(&ann, &ben, "hare-and-hounds").await;
    ann.plays(&first, 1, "b1-b2").await.ok(201);
    ann.plays(&second, 1, "b1-b2").await.ok(201);
    ben.plays(&second, 2, "e2-d2").await.ok(201);

    let aborted = ben.post(&format!("/v1/games/{first}/abort"), Value::Null).await.ok(200);

    assert_eq!((&aborted["status"], &aborted["reason"]), (&"aborted".into(), &"aborted".into()));
    assert!(aborted["result"].is_null());
    ben.post(&format!("/v1/games/{first}/abort"), Value::Null).await.ok(200);
    ben.post(&format!("/v1/games/{second}/abort"), Value::Null).await.refused(409, "too-late-to-abort");
}

#[tokio::test]
async fn only_the_players_end_a_game() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let eve = app.player("eve").await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;

    for what in ["resignation", "abort"] {
        let path = format!("/v1/games/{game}/{what}");
        eve.post(&path, Value::Null).await.refused(403, "not-a-player");
        app.anonymous().post(&path, Value::Null).await.refused(401, "token-missing");
    }

    assert_eq!(ann.sees(&game).await["status"], "ongoing");
}
