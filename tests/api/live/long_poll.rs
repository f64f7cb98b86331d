use serde_json::{Value, json};

use crate::harness::TestApp;

#[tokio::test]
async fn a_poll_is_answered_when_something_happens() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;
    let poller = ben.with_header("accept", "application/json");
    let path = format!("/v1/games/{game}/events");

    let first = poller.get(&path).await.ok(200);
    assert_eq!(first["snapshot"], ben.sees(&game).await);
    assert_eq!((&first["items"], &first["last"]), (&json!([]), &json!(1)));

    let waiting = format!("{path}?after=1&wait_ms=30000");
    let (answer, _) = tokio::join!(poller.get(&waiting), async {
        while app.open_streams() == 0 {
            tokio::task::yield_now().await;
        }
        ann.plays(&game, 1, "b1-b2").await.ok(201)
    });
    let answer = answer.ok(200);
    assert_eq!(answer["snapshot"], Value::Null);
    assert_eq!(answer["items"][0]["move"], "b1-b2");
    assert_eq!((answer["items"].as_array().map(Vec::len), &answer["last"]), (Some(1), &json!(2)));
    assert_eq!(app.open_streams(), 0);
}

#[tokio::test]
async fn a_poll_goes_on_over_the_numbers_of_the_stream() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;
    ann.plays(&game, 1, "b1-b2").await.ok(201);
    let streamed = app.anonymous().watches_after(&game, 0).await.reads_until(2).await;

    let poller = app.anonymous().with_header("accept", "application/json");
    let polled = poller.get(&format!("/v1/games/{game}/events?after=0")).await.ok(200);
    let streamed: Vec<_> = streamed.into_iter().map(|event| event.data).collect();
    assert_eq!(polled["items"], json!(streamed));
    let nothing = poller.get(&format!("/v1/games/{game}/events?after=2")).await.ok(200);
    assert_eq!((&nothing["items"], &nothing["last"]), (&json!([]), &json!(2)));
    let none_came = poller.get(&format!("/v1/games/{game}/events?after=2&wait_ms=1")).await.ok(200);
    assert_eq!(none_came["items"], json!([]));
}

#[tokio::test]
async fn a_player_polls_their_own_log() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let poller = ben.with_header("accept", "application/json");
    let first = poller.get("/v1/me/events").await.ok(200);
    assert_eq!((&first["snapshot"]["games"], &first["last"]), (&json!([]), &json!(0)));

    let game = app.game(&ann, &ben, "hare-and-hounds").await;
    let told = poller.get("/v1/me/events?after=0").await.ok(200);
    let kinds: Vec<_> = told["items"].as_array().expect("items").iter().map(|event| &event["kind"]).collect();
    assert_eq!(kinds, ["challenge", "challenge", "game_started"]);
    assert_eq!(told["items"][2]["game"], json!(game));
}

#[tokio::test]
async fn a_poll_that_makes_no_sense_is_refused() {
    let app = TestApp::start().await;
    let ann = app.player("ann").await.with_header("accept", "application/json");
    for query in ["wait_ms=30001", "wait_ms=-1", "after=one", "before=3"] {
        ann.get(&format!("/v1/me/events?{query}")).await.refused(400, "malformed-request");
    }
}
