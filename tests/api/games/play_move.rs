//! Playing a move: what is accepted, what is refused, and that sending it again is safe.

use serde_json::json;

use crate::harness::TestApp;

#[tokio::test]
async fn a_move_is_played_and_seen_by_everybody() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;

    let after = ann.plays(&game, 1, "b1-b2").await.ok(201);

    assert_eq!(after["ply"], 1);
    assert_eq!(after["turn"], "hare");
    assert_eq!(after["position"], "a2b2b3/e2 hare");
    assert_eq!(after["legal_moves"], json!(["e2-d1", "e2-d2", "e2-d3"]));
    let seen = app.anonymous().get(&format!("/v1/games/{game}")).await.ok(200);
    assert_eq!(seen["moves"], json!(["b1-b2"]));
    assert_eq!(ben.sees(&game).await["position"], after["position"]);
}

#[tokio::test]
async fn the_same_move_sent_again_is_answered_with_what_stands() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;
    ann.plays(&game, 1, "b1-b2").await.ok(201);

    assert_eq!(ann.plays(&game, 1, "b1-b2").await.ok(200)["ply"], 1);
    ben.plays(&game, 2, "e2-d2").await.ok(201);
    let again = ann.plays(&game, 1, "b1-b2").await.ok(200);

    assert_eq!(again["moves"], json!(["b1-b2", "e2-d2"]));
}

#[tokio::test]
async fn the_same_move_is_known_after_a_restart() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "catch-the-hare").await;
    ann.plays(&game, 1, "a3-a4").await.ok(201);

    let other = app.second_process().await;

    assert_eq!(other.as_player(&ann).plays(&game, 1, "a3-a4").await.ok(200)["ply"], 1);
    other.as_player(&ben).plays(&game, 2, "c3-c4").await.ok(201);
    assert_eq!(ann.sees(&game).await["ply"], 2);
}

#[tokio::test]
async fn another_move_to_a_played_ply_is_a_conflict_that_names_the_ply() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;
    ann.plays(&game, 1, "b1-b2").await.ok(201);

    assert_eq!(ann.plays(&game, 1, "b1-c1").await.refused(409, "ply-conflict")["ply"], 1);
    assert_eq!(ben.plays(&game, 1, "b1-b2").await.refused(409, "ply-conflict")["ply"], 1);
    assert_eq!(ben.plays(&game, 4, "e2-d2").await.refused(409, "ply-conflict")["ply"], 1);
    assert_eq!(ben.plays(&game, 0, "e2-d2").await.refused(409, "ply-conflict")["ply"], 1);
}

#[tokio::test]
async fn a_refused_move_leaves_no_trace() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let eve = app.player("eve").await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;

    ben.plays(&game, 1, "e2-d2").await.refused(403, "not-your-turn");
    eve.plays(&game, 1, "b1-b2").await.refused(403, "not-a-player");
    let illegal = ann.plays(&game, 1, "b1-a2").await.refused(422, "illegal-move");
    ann.plays(&game, 1, "nonsense").await.refused(422, "illegal-move");
    ann.plays(&game, 1, "").await.refused(422, "illegal-move");
    app.anonymous()
        .put(&format!("/v1/games/{game}/moves/1"), json!({"move": "b1-b2"}))
        .await
        .refused(401, "token-missing");

    assert_eq!(
        illegal["legal_moves"],
        json!(["a2-b2", "b1-b2", "b1-c1", "b1-c2", "b3-b2", "b3-c2", "b3-c3"])
    );
    let game = ann.sees(&game).await;
    assert_eq!((&game["ply"], &game["moves"]), (&json!(0), &json!([])));
}

#[tokio::test]
async fn a_move_to_no_game_finds_nothing() {
    let app = TestApp::start().await;
    let ann = app.player("ann").await;

    ann.plays("01990000-0000-7000-8000-000000000000", 1, "b1-b2").await.refused(404, "not-found");
    ann.plays("garbage", 1, "b1-b2").await.refused(404, "not-found");
    ann.put("/v1/games/01990000-0000-7000-8000-000000000000/moves/70000", json!({"move": "b1-b2"}))
        .await
        .refused(404, "not-found");
}

#[tokio::test]
async fn the_result_cannot_be_sent_with_a_move() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;

    let reply =
        ann.put(&format!("/v1/games/{game}/moves/1"), json!({"move": "b1-b2", "result": "hounds"})).await;

    reply.refused(400, "malformed-request");
}

#[tokio::test]
async fn players_take_turns_over_two_processes() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let other = app.second_process().await;
    let (far_ann, far_ben) = (other.as_player(&ann), other.as_player(&ben));
    let game = app.game(&ann, &ben, "hare-and-hounds").await;

    ann.plays(&game, 1, "a2-b2").await.ok(201);
    far_ben.plays(&game, 2, "e2-d1").await.ok(201);
    // The first process remembers ply 1; what it remembers must neither be believed nor stand in the way.
    ben.plays(&game, 2, "e2-d3").await.refused(409, "ply-conflict");
    ann.plays(&game, 3, "b1-c1").await.ok(201);
    ben.plays(&game, 4, "d1-c2").await.ok(201);
    far_ann.plays(&game, 5, "b2-b1").await.ok(201);

    assert_eq!(ann.sees(&game).await["ply"], 5);
}

#[tokio::test]
async fn who_polls_with_an_etag_is_told_only_what_is_new() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;
    let path = format!("/v1/games/{game}");
    let first = ben.get(&path).await;
    let etag = first.header("etag").expect("an ETag").to_owned();

    ben.with_header("if-none-match", &etag).get(&path).await.ok(304);
    ann.plays(&game, 1, "b1-b2").await.ok(201);
    ben.with_header("if-none-match", &etag).get(&path).await.ok(200);
}
