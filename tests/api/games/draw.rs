//! Draw offers.

use serde_json::Value;

use crate::harness::{Player, TestApp};

async fn offers(player: &Player, game: &str) -> Value {
    player.put(&format!("/v1/games/{game}/draw-offer"), Value::Null).await.ok(200)
}

#[tokio::test]
async fn an_offer_that_both_make_is_a_draw() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;

    assert_eq!(offers(&ann, &game).await["draw_offer"], "hounds");
    assert_eq!(offers(&ann, &game).await["status"], "ongoing", "one's own offer is not accepted by oneself");
    let drawn = offers(&ben, &game).await;

    assert_eq!((&drawn["result"], &drawn["reason"]), (&"draw".into(), &"agreement".into()));
    assert!(drawn["draw_offer"].is_null());
    assert_eq!(offers(&ben, &game).await["result"], "draw", "accepting again answers the same");
}

#[tokio::test]
async fn a_move_clears_an_offer() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;
    ann.plays(&game, 1, "b1-b2").await.ok(201);
    offers(&ann, &game).await;

    let after = ben.plays(&game, 2, "e2-d2").await.ok(201);

    assert!(after["draw_offer"].is_null());
    assert!(ann.sees(&game).await["draw_offer"].is_null());
    ben.put(&format!("/v1/games/{game}/draw-offer?accept_only=true"), Value::Null)
        .await
        .refused(409, "no-draw-offer");
}

#[tokio::test]
async fn an_offer_is_declined_by_the_one_and_withdrawn_by_the_other() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;
    let path = format!("/v1/games/{game}/draw-offer");

    offers(&ann, &game).await;
    assert!(ben.delete(&path).await.ok(200)["draw_offer"].is_null());
    offers(&ben, &game).await;
    assert!(ben.delete(&path).await.ok(200)["draw_offer"].is_null());
    assert!(ben.delete(&path).await.ok(200)["draw_offer"].is_null(), "again is safe");

    ann.put(&format!("{path}?accept_only=true"), Value::Null).await.refused(409, "no-draw-offer");
    let eve = app.player("eve").await;
    eve.put(&path, Value::Null).await.refused(403, "not-a-player");
    eve.delete(&path).await.refused(403, "not-a-player");
}

#[tokio::test]
async fn a_finished_game_takes_no_offers() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;
    let path = format!("/v1/games/{game}/draw-offer");
    ann.post(&format!("/v1/games/{game}/resignation"), Value::Null).await.ok(200);

    ben.put(&path, Value::Null).await.refused(409, "game-over");
    ben.delete(&path).await.refused(409, "game-over");
}

/// The beginning of a game of Catch the Hare.
const TWENTY_PLIES: [&str; 20] = [
    "e3-e4", "c3-b3", "e4-e3", "b3-b4", "e3-d3", "b4-c5", "d2-e3", "c5-b4", "a3-b3", "b4-a5", "e2-d2",
    "a5-b5", "e3-e4", "b5-a5", "e4-e5", "a5-a4", "d2-e2", "a4-a5", "a2-a3", "a5-b5",
];

#[tokio::test]
async fn a_side_offers_again_when_each_has_moved_ten_times() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "catch-the-hare").await;
    let path = format!("/v1/games/{game}/draw-offer");
    offers(&ann, &game).await;
    ben.delete(&path).await.ok(200);

    for (ply, text) in (1..).zip(TWENTY_PLIES) {
        assert_eq!(ann.put(&path, Value::Null).await.refused(409, "draw-offer-too-soon")["ply"], 20);
        if ply == 4 {
            offers(&ben, &game).await;
            ann.delete(&path).await.ok(200);
        }
        let mover = if ply % 2 == 1 { &ann } else { &ben };
        mover.plays(&game, ply, text).await.ok(201);
    }

    assert_eq!(offers(&ann, &game).await["draw_offer"], "hounds");
    ann.delete(&path).await.ok(200);
    assert_eq!(ben.put(&path, Value::Null).await.refused(409, "draw-offer-too-soon")["ply"], 23);
}
