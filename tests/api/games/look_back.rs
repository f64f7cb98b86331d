//! Lists of games, their moves and exports.

use serde_json::Value;

use crate::harness::TestApp;

fn ids(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().expect("a list");
    items.iter().map(|item| item["id"].as_str().expect("an id").to_owned()).collect()
}

#[tokio::test]
async fn games_are_found_by_what_they_are() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let eve = app.player("eve").await;
    let first = app.game(&ann, &ben, "hare-and-hounds").await;
    app.clock.advance(chrono::TimeDelta::seconds(1));
    let second = app.game(&ben, &ann, "catch-the-hare").await;
    app.clock.advance(chrono::TimeDelta::seconds(1));
    let third = app.game(&eve, &ben, "hare-and-hounds").await;
    ben.post(&format!("/v1/games/{first}/resignation"), Value::Null).await.ok(200);
    eve.post(&format!("/v1/games/{third}/abort"), Value::Null).await.ok(200);
    let found = async |query: &str| ids(&app.anonymous().get(&format!("/v1/games?{query}")).await.ok(200));

    assert_eq!(found("").await, [third.clone(), second.clone(), first.clone()], "newest first");
    assert_eq!(found("player=ANN").await, [second.clone(), first.clone()]);
    assert_eq!(found("player=ann&role=hare").await, [&*second]);
    assert_eq!(found("player=ben&opponent=eve").await, [&*third]);
    assert_eq!(found("variant=catch-the-hare").await, [&*second]);
    assert_eq!(found("result=hounds").await, [&*first]);
    assert_eq!(found("reason=resignation").await, [&*first]);
    assert_eq!(found("status=aborted").await, [&*third]);
    assert_eq!(found("status=ongoing&rated=false").await, [&*second]);
    assert_eq!(found("rated=true").await, Vec::<String>::new());
    assert_eq!(found("pool=hare-and-hounds").await, Vec::<String>::new());
    let created = ann.sees(&second).await["created_at"].as_str().expect("an instant").to_owned();
    assert_eq!(found(&format!("since={created}")).await, [third.clone(), second.clone()]);
    assert_eq!(found(&format!("until={created}")).await, [&*first]);
    let anybody = app.anonymous();
    anybody.get("/v1/games?player=nobody-here").await.refused(422, "invalid-fields");
    anybody.get("/v1/games?role=hare").await.refused(422, "invalid-fields");
    anybody.get("/v1/games?role=fox").await.refused(400, "malformed-request");
    anybody.get("/v1/games?limit=0").await.refused(400, "malformed-request");
    anybody.get("/v1/games?cursor=there").await.refused(400, "malformed-request");
    anybody.get("/v1/games?colour=blue").await.refused(400, "malformed-request");
}

#[tokio::test]
async fn pages_join_up_and_an_export_has_them_all() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let mut made = Vec::new();
    for _ in 0..5 {
        app.clock.advance(chrono::TimeDelta::seconds(1));
        made.insert(0, app.game(&ann, &ben, "hare-and-hounds").await);
    }

    let mut path = "/v1/games?player=ann&limit=2".to_owned();
    let mut seen = Vec::new();
    loop {
        let page = ann.get(&path).await;
        seen.extend(ids(&page.ok(200)));
        let Some(link) = page.header("link") else { break };
        path = link.trim_start_matches('<').split('>').next().expect("an address").to_owned();
    }

    assert_eq!(seen, made);
    let export = ann.with_header("accept", "application/x-ndjson").get("/v1/games?player=ann").await;
    let lines: Vec<Value> =
        export.text().lines().map(|line| serde_json::from_str(line).expect("a game a line")).collect();
    assert_eq!(lines.iter().map(|game| game["id"].as_str().expect("an id")).collect::<Vec<_>>(), made);
}

#[tokio::test]
async fn a_game_is_exported_as_text_and_its_moves_have_times() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;
    ann.plays(&game, 1, "b1-b2").await.ok(201);
    app.clock.advance(chrono::TimeDelta::milliseconds(1500));
    ben.plays(&game, 2, "e2-d2").await.ok(201);
    ann.post(&format!("/v1/games/{game}/resignation"), Value::Null).await.ok(200);

    let moves = ben.get(&format!("/v1/games/{game}/moves")).await.ok(200);
    let text = ben.with_header("accept", "text/plain").get(&format!("/v1/games/{game}/export")).await;

    assert_eq!(moves["items"][1]["move"], "e2-d2");
    assert_eq!(moves["items"][1]["role"], "hare");
    assert_ne!(moves["items"][0]["at"], moves["items"][1]["at"]);
    text.status();
    let text = text.text();
    assert!(text.contains("[Hounds \"ann\"]") && text.contains("[Reason \"resignation\"]"), "{text}");
    assert!(text.ends_with("\n1. b1-b2 e2-d2 0-1\n"), "{text}");
    assert_eq!(ben.get(&format!("/v1/games/{game}/export")).await.ok(200)["ply"], 2);
}
