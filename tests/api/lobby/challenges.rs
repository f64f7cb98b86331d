use chrono::TimeDelta;
use serde_json::{Value, json};

use super::{TICKET, joins, meet, refreshed, text, ticket_of};
use crate::harness::{Player, TestApp};

const POOL_CLOCK: (&str, i64) = ("per_turn", 30_000);

async fn challenges(player: &Player, body: Value) -> Value {
    player.post("/v1/challenges", body).await.ok(201)
}

fn path(challenge: &Value) -> String {
    format!("/v1/challenges/{}", text(&challenge["id"]))
}

async fn accept(player: &Player, challenge: &Value) -> Value {
    player.post(&format!("{}/accept", path(challenge)), json!({})).await.ok(201)
}

fn rated(extra: Value) -> Value {
    let (kind, turn_ms) = POOL_CLOCK;
    let mut body = json!({
        "variant": "hare-and-hounds", "rated": true, "clock": {"kind": kind, "turn_ms": turn_ms},
        "rules": {"getting_away": "thirty-moves", "hare_start": "right-end"},
    });
    for (name, value) in extra.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

#[tokio::test]
async fn a_challenge_to_anyone_has_a_link_and_anyone_accepts_it() {
    let app = TestApp::start().await;
    let (ann, ben, cat) = (app.player("ann").await, app.player("ben").await, app.player("cat").await);
    let challenge = challenges(&ann, json!({"variant": "hare-and-hounds", "role": "hare"})).await;
    assert_eq!((&challenge["status"], &challenge["challenger"]), (&json!("open"), &json!("ann")));
    assert!(text(&challenge["link"]).ends_with(&path(&challenge)));
    assert_eq!(app.anonymous().get("/v1/challenges").await.ok(200)["items"][0]["id"], challenge["id"]);

    let game = accept(&ben, &challenge).await;
    assert_eq!(game["players"]["hare"]["username"], "ann");
    assert_eq!(game["players"]["hounds"]["username"], "ben");
    assert_eq!((&game["rated"], &game["clock"]["kind"]), (&json!(false), &json!("none")));

    let again = ben.post(&format!("{}/accept", path(&challenge)), json!({})).await.ok(200);
    assert_eq!(again["id"], game["id"]);
    let problem =
        cat.post(&format!("{}/accept", path(&challenge)), json!({})).await.refused(409, "challenge-over");
    assert_eq!(problem["game"], game["id"]);
    let shown = ann.get(&path(&challenge)).await.ok(200);
    assert_eq!((&shown["status"], &shown["game"]), (&json!("accepted"), &game["id"]));
    assert_eq!(ann.get("/v1/challenges").await.ok(200)["items"], json!([]));
}

#[tokio::test]
async fn a_challenge_to_a_player_is_between_the_two() {
    let app = TestApp::start().await;
    let (ann, ben, cat) = (app.player("ann").await, app.player("ben").await, app.player("cat").await);
    let challenge = challenges(&ann, json!({"variant": "catch-the-hare", "opponent": "BEN"})).await;
    assert_eq!((&challenge["link"], &challenge["opponent"]), (&json!(null), &json!("ben")));

    cat.get(&path(&challenge)).await.refused(404, "not-found");
    app.anonymous().get(&path(&challenge)).await.refused(404, "not-found");
    cat.post(&format!("{}/accept", path(&challenge)), json!({})).await.refused(404, "not-found");
    cat.delete(&path(&challenge)).await.refused(404, "not-found");
    assert_eq!(cat.get("/v1/challenges").await.ok(200)["items"], json!([]));
    for player in [&ann, &ben] {
        assert_eq!(player.get("/v1/challenges").await.ok(200)["items"][0]["id"], challenge["id"]);
    }
    ann.post(&format!("{}/accept", path(&challenge)), json!({})).await.refused(403, "not-your-challenge");
    ben.delete(&path(&challenge)).await.refused(403, "not-your-challenge");
    accept(&ben, &challenge).await;
}

#[tokio::test]
async fn a_challenge_can_be_declined_by_the_player_it_was_sent_to() {
    let app = TestApp::start().await;
    let (ann, ben) = (app.player("ann").await, app.player("ben").await);
    let challenge = challenges(&ann, json!({"variant": "hare-and-hounds", "opponent": "ben"})).await;
    let decline = format!("{}/decline", path(&challenge));
    ann.post(&decline, json!({})).await.refused(403, "not-your-challenge");

    assert_eq!(ben.post(&decline, json!({})).await.ok(200)["status"], "declined");
    assert_eq!(ben.post(&decline, json!({})).await.ok(200)["status"], "declined");
    ben.post(&format!("{}/accept", path(&challenge)), json!({})).await.refused(409, "challenge-over");

    let open = challenges(&ann, json!({"variant": "hare-and-hounds"})).await;
    ben.post(&format!("{}/decline", path(&open)), json!({})).await.refused(403, "not-your-challenge");
}

#[tokio::test]
async fn a_challenge_can_be_withdrawn_until_it_is_accepted() {
    let app = TestApp::start().await;
    let (ann, ben) = (app.player("ann").await, app.player("ben").await);
    let challenge = challenges(&ann, json!({"variant": "hare-and-hounds"})).await;
    ben.delete(&path(&challenge)).await.refused(403, "not-your-challenge");
    for _ in 0..2 {
        assert_eq!(ann.delete(&path(&challenge)).await.ok(200)["status"], "withdrawn");
    }
    ben.post(&format!("{}/accept", path(&challenge)), json!({})).await.refused(409, "challenge-over");

    let accepted = challenges(&ann, json!({"variant": "hare-and-hounds"})).await;
    let game = accept(&ben, &accepted).await;
    assert_eq!(ann.delete(&path(&accepted)).await.refused(409, "challenge-over")["game"], game["id"]);
}

#[tokio::test]
async fn a_challenge_expires() {
    let app = TestApp::start().await;
    let (ann, ben) = (app.player("ann").await, app.player("ben").await);
    let clock = json!({"kind": "per_turn", "turn_ms": 30_000});
    let quick = challenges(&ann, json!({"variant": "hare-and-hounds", "clock": clock})).await;
    let slow = challenges(&ann, json!({"variant": "hare-and-hounds"})).await;

    app.clock.advance(TimeDelta::hours(24));
    app.match_tickets().await;
    let (ann, ben) = (refreshed(&app, &ann).await, refreshed(&app, &ben).await);

    assert_eq!(ann.get(&path(&quick)).await.ok(200)["status"], "expired");
    ben.post(&format!("{}/accept", path(&quick)), json!({})).await.refused(409, "challenge-over");
    let items = ann.get("/v1/challenges").await.ok(200)["items"].clone();
    assert_eq!(items.as_array().map(Vec::len), Some(1));
    assert_eq!(items[0]["id"], slow["id"]);
}

#[tokio::test]
async fn what_is_wrong_with_a_challenge_is_told() {
    let app = TestApp::start().await;
    let ann = app.player("ann").await;
    for (body, pointer) in [
        (json!({"variant": "hare-and-hounds", "opponent": "nobody"}), "/opponent"),
        (json!({"variant": "hare-and-hounds", "opponent": "Ann"}), "/opponent"),
        (json!({"variant": "hare-and-hounds", "rules": {"hunters": 12}}), "/rules/hunters"),
        (
            json!({"variant": "hare-and-hounds", "clock": {"kind": "per_turn", "turn_ms": 1}}),
            "/clock/turn_ms",
        ),
        (rated(json!({"role": "hare"})), "/role"),
        (rated(json!({"clock": {"kind": "none"}})), "/clock"),
        (rated(json!({"rules": {"getting_away": "stalling-rule-of-none"}})), "/rules/getting_away"),
    ] {
        let problem = ann.post("/v1/challenges", body.clone()).await.refused(422, "invalid-fields");
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{body}");
    }
    for body in
        [json!({}), json!({"variant": "chess"}), json!({"variant": "hare-and-hounds", "rating": 3000})]
    {
        ann.post("/v1/challenges", body).await.refused(400, "malformed-request");
    }
    app.anonymous().post("/v1/challenges", json!({})).await.refused(401, "token-missing");
}

#[tokio::test]
async fn a_rated_challenge_counts_for_the_pool_that_it_is_like() {
    let app = TestApp::start().await;
    let (ann, ben, cat) = (app.player("ann").await, app.player("ben").await, app.player("cat").await);
    let challenge = challenges(&ann, rated(json!({}))).await;
    assert_eq!(challenge["pool"], "hare-and-hounds");
    joins(&ben, TICKET).await;

    let game = accept(&ben, &challenge).await;
    assert_eq!((&game["rated"], &game["pool"]), (&json!(true), &json!("hare-and-hounds")));
    assert_eq!(ticket_of(&ben).await["status"], "cancelled", "who plays does not wait");

    let another = challenges(&cat, rated(json!({}))).await;
    let accept_path = format!("{}/accept", path(&another));
    let problem = ben.post(&accept_path, json!({})).await.refused(409, "already-playing");
    assert_eq!(problem["game"], game["id"]);
    assert_eq!(cat.get(&path(&another)).await.ok(200)["status"], "open");
}

#[tokio::test]
async fn a_rated_challenge_gives_the_role_that_is_due() {
    let app = TestApp::start().await;
    let (ann, ben, cat) = (app.player("ann").await, app.player("ben").await, app.player("cat").await);
    let game = meet(&app, &ann, &ben).await;
    super::draw(&ann, &ben, &game).await;
    let due = text(&ticket_of(&ann).await["role_due"]);

    let challenge = challenges(&cat, rated(json!({}))).await;
    let game = accept(&ann, &challenge).await;
    assert_eq!(game["players"][due.as_str()]["username"], "ann");
}

#[tokio::test]
async fn a_challenge_sent_again_is_the_same_challenge() {
    let app = TestApp::start().await;
    let ann = app.player("ann").await.with_header("idempotency-key", "one");
    let body = json!({"variant": "hare-and-hounds", "role": "hare"});
    let first = challenges(&ann, body.clone()).await;
    assert_eq!(challenges(&ann, body).await["id"], first["id"]);

    ann.post("/v1/challenges", json!({"variant": "hare-and-hounds"}))
        .await
        .refused(409, "idempotency-key-reused");
    assert_eq!(ann.get("/v1/challenges").await.ok(200)["items"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn twenty_challenges_may_be_open_and_they_are_listed_by_pages() {
    let app = TestApp::start().await;
    let ann = app.player("ann").await;
    let mut made = Vec::new();
    for _ in 0..20 {
        made.push(challenges(&ann, json!({"variant": "hare-and-hounds"})).await["id"].clone());
        app.clock.advance(TimeDelta::milliseconds(1));
    }
    ann.post("/v1/challenges", json!({"variant": "hare-and-hounds"})).await.refused(429, "too-many-requests");

    let (mut listed, mut query) = (Vec::new(), String::from("?limit=8"));
    loop {
        let page = ann.get(&format!("/v1/challenges{query}")).await.ok(200);
        listed.extend(page["items"].as_array().unwrap().iter().map(|challenge| challenge["id"].clone()));
        let Some(next) = page["next"].as_str() else { break };
        query = format!("?limit=8&cursor={next}");
    }
    made.reverse();
    assert_eq!(listed, made);

    ann.delete(&format!("/v1/challenges/{}", text(&made[0]))).await.ok(200);
    challenges(&ann, json!({"variant": "hare-and-hounds"})).await;
}

#[tokio::test]
async fn a_challenge_survives_a_restart() {
    let app = TestApp::start().await;
    let (ann, ben) = (app.player("ann").await, app.player("ben").await);
    let challenge = challenges(&ann, json!({"variant": "hare-and-hounds"})).await;
    let restarted = app.second_process().await;
    accept(&restarted.as_player(&ben), &challenge).await;
    assert_eq!(ann.get(&path(&challenge)).await.ok(200)["status"], "accepted");
}
