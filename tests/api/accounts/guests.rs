use chrono::TimeDelta;
use serde_json::{Value, json};

use super::PASSWORD;
use crate::harness::{Player, TestApp};

const KEY: &str = "4f8a2c1e9b7d4e6fa0c3d5e8";

fn name_of(account: &Value) -> &str {
    account["username"].as_str().expect("an account has a name")
}

async fn claims(guest: &Player, name: &str) -> Value {
    guest.post("/v1/me/claim", json!({"username": name, "password": PASSWORD})).await.ok(200)
}

#[tokio::test]
async fn a_guest_plays_people_and_the_computer_at_once() {
    let app = TestApp::start().await;
    let (guest, ann) = (app.guest().await, app.player("ann").await);
    let me = guest.get("/v1/me").await.ok(200);
    assert_eq!((&me["is_guest"], me["username"].as_str()), (&json!(true), Some(&*guest.name)));
    assert!(guest.name.starts_with("guest-"), "{}", guest.name);
    let page = app.anonymous().get(&format!("/v1/players/{}", guest.name)).await.ok(200);
    assert_eq!(page["guest"], true);

    let game = app.game(&guest, &ann, "hare-and-hounds").await;
    guest.plays(&game, 1, "b1-b2").await.ok(201);
    let snapshot = ann.plays(&game, 2, "e2-d2").await.ok(201);
    assert_eq!(snapshot["players"]["hounds"]["username"], guest.name);

    let solo = json!({"variant": "hare-and-hounds", "role": "hounds"});
    let solo = app.game_with_computer(&guest, 3, solo).await;
    assert_eq!(solo["players"]["hounds"]["username"], guest.name);
}

#[tokio::test]
async fn a_guest_does_nothing_that_needs_an_account() {
    let app = TestApp::start().await;
    let (guest, ann) = (app.guest().await, app.player("ann").await);
    guest.put("/v1/pools/hare-and-hounds/ticket", Value::Null).await.refused(403, "account-needed");
    let rated = |opponent: Value| {
        json!({
            "variant": "hare-and-hounds", "rated": true, "clock": {"kind": "per_turn", "turn_ms": 30_000},
            "opponent": opponent,
        })
    };
    guest.post("/v1/challenges", rated(json!("ann"))).await.refused(403, "account-needed");
    let problem = ann.post("/v1/challenges", rated(json!(guest.name))).await.refused(422, "invalid-fields");
    assert_eq!(problem["errors"][0]["pointer"], "/opponent");
    let open = ann.post("/v1/challenges", rated(Value::Null)).await.ok(201);
    let accept = format!("/v1/challenges/{}/accept", open["id"].as_str().expect("an id"));
    guest.post(&accept, Value::Null).await.refused(403, "account-needed");
    assert_eq!(
        ann.get("/v1/challenges").await.ok(200)["items"][0]["status"],
        "open",
        "still there for others"
    );

    guest.put("/v1/me/bot", Value::Null).await.refused(403, "account-needed");
    guest.patch("/v1/me", json!({"bio": "passing by"})).await.refused(403, "account-needed");
    let change = json!({"current_password": PASSWORD, "new_password": "seven coots at dusk"});
    guest.put("/v1/me/password", change).await.refused(403, "account-needed");
    let log_in = json!({"username": guest.name, "password": PASSWORD});
    app.anonymous().post("/v1/sessions", log_in).await.refused(401, "wrong-credentials");
    let taken = json!({"username": guest.name, "password": PASSWORD});
    app.anonymous().post("/v1/accounts", taken).await.refused(422, "invalid-fields");
}

#[tokio::test]
async fn a_claimed_guest_is_an_account_with_its_games_and_session() {
    let app = TestApp::start().await;
    let (guest, ann) = (app.guest().await, app.player("ann").await);
    let old_name = guest.name.clone();
    let game = app.game(&guest, &ann, "hare-and-hounds").await;
    guest.plays(&game, 1, "b1-b2").await.ok(201);
    let etag = ann.get(&format!("/v1/games/{game}")).await.header("etag").expect("an ETag").to_owned();

    let account = claims(&guest, "Moorhen").await;
    assert_eq!((name_of(&account), &account["is_guest"]), ("Moorhen", &json!(false)));

    let polled = ann.with_header("if-none-match", &etag).get(&format!("/v1/games/{game}")).await.ok(200);
    assert_eq!(polled["players"]["hounds"]["username"], "Moorhen", "the name is news");
    let after = ann.plays(&game, 2, "e2-d2").await.ok(201);
    assert_eq!(after["players"]["hounds"]["username"], "Moorhen");
    let listed = app.anonymous().get("/v1/games?player=moorhen").await.ok(200);
    assert_eq!(listed["items"][0]["id"], game);
    app.anonymous().get(&format!("/v1/players/{old_name}")).await.refused(404, "not-found");
    guest.plays(&game, 3, "b2-c2").await.ok(201);
    app.log_in("moorhen").await.put("/v1/pools/hare-and-hounds-daily/ticket", Value::Null).await.ok(201);
}

#[tokio::test]
async fn claiming_again_answers_the_same_and_another_claim_is_refused() {
    let app = TestApp::start().await;
    let (guest, other) = (app.guest().await, app.guest().await);
    claims(&guest, "moorhen").await;
    assert_eq!(name_of(&claims(&guest, "moorhen").await), "moorhen");

    let claim = |name: &str, password: &str| json!({"username": name, "password": password});
    guest.post("/v1/me/claim", claim("lapwing", PASSWORD)).await.refused(409, "no-guest");
    let other_password = claim("moorhen", "seven-coots-at-dusk");
    guest.post("/v1/me/claim", other_password).await.refused(409, "no-guest");
    other.post("/v1/me/claim", claim("Moorhen", PASSWORD)).await.refused(409, "username-taken");
    other.post("/v1/me/claim", claim("guest-moorhen", PASSWORD)).await.refused(422, "invalid-fields");
    other.post("/v1/me/claim", claim("lapwing", "password")).await.refused(422, "invalid-fields");
    assert_eq!(other.get("/v1/me").await.ok(200)["is_guest"], true, "a refusal leaves no trace");
    app.player("ann").await.post("/v1/me/claim", claim("ann2", PASSWORD)).await.refused(409, "no-guest");
    app.anonymous().post("/v1/me/claim", claim("ann2", PASSWORD)).await.refused(401, "token-missing");
}

#[tokio::test]
async fn a_repeated_request_answers_the_same_guest_for_a_day() {
    let app = TestApp::start().await;
    let asks = app.anonymous().with_header("idempotency-key", KEY);
    let first = asks.post("/v1/guests", Value::Null).await.ok(201);
    let again = asks.post("/v1/guests", Value::Null).await.ok(201);
    assert_eq!(first["account"]["id"], again["account"]["id"]);
    assert_eq!(first["session"], again["session"]);
    let token = again["access_token"].as_str().expect("a token");
    app.with_token(token).get("/v1/me").await.ok(200);

    app.clock.advance(TimeDelta::hours(24) + TimeDelta::milliseconds(1));
    let later = asks.post("/v1/guests", Value::Null).await.ok(201);
    assert_ne!(first["account"]["id"], later["account"]["id"]);

    leveret::accounts::ban(&app.db, name_of(&later["account"]), app.clock.now()).await.expect("a ban");
    asks.post("/v1/guests", Value::Null).await.refused(403, "account-banned");

    let weak = app.anonymous().with_header("idempotency-key", "1");
    weak.post("/v1/guests", Value::Null).await.refused(400, "malformed-request");
}

#[tokio::test]
async fn guests_are_limited_by_address() {
    let app = TestApp::start_with(|settings| settings.rate_limits = "on".to_owned()).await;
    for _ in 0..60 {
        app.anonymous().post("/v1/guests", Value::Null).await.ok(201);
    }
    let problem = app.anonymous().post("/v1/guests", Value::Null).await.refused(429, "too-many-requests");
    assert_eq!(problem["retry_after_ms"], 20_000);
}

#[tokio::test]
async fn a_guest_unseen_for_30_days_is_removed_and_its_games_stay() {
    let app = TestApp::start().await;
    let (idle, busy, ann) = (app.guest().await, app.guest().await, app.player("ann").await);
    let claimed = app.guest().await;
    claims(&claimed, "moorhen").await;
    let game = app.game(&idle, &ann, "hare-and-hounds").await;
    idle.plays(&game, 1, "b1-b2").await.ok(201);
    ann.plays(&game, 2, "e2-d2").await.ok(201);
    app.match_tickets().await;

    app.db_time_passes(TimeDelta::days(29)).await;
    let refreshed = json!({"refresh_token": busy.refresh_token});
    app.anonymous().post("/v1/sessions/refresh", refreshed).await.ok(200);
    assert_eq!(app.sweep_guests().await, 0, "29 days are not 30");

    app.db_time_passes(TimeDelta::days(1) + TimeDelta::seconds(5)).await;
    assert_eq!(app.sweep_guests().await, 1);
    assert_eq!(app.sweep_guests().await, 0);

    let seen = app.anonymous().get(&format!("/v1/games/{game}")).await.ok(200);
    assert_eq!(seen["players"]["hounds"]["username"], "guest");
    assert_eq!((&seen["result"], &seen["reason"]), (&json!("hare"), &json!("resignation")));
    let refresh = json!({"refresh_token": idle.refresh_token});
    app.anonymous().post("/v1/sessions/refresh", refresh).await.refused(401, "refresh-token-invalid");
    for name in [idle.name.as_str(), "guest"] {
        app.anonymous().get(&format!("/v1/players/{name}")).await.refused(404, "not-found");
    }
    for name in [busy.name.as_str(), "moorhen"] {
        app.anonymous().get(&format!("/v1/players/{name}")).await.ok(200);
    }
}

#[tokio::test]
async fn a_guest_leaves_without_a_password_and_an_account_does_not() {
    let app = TestApp::start().await;
    let (guest, ann) = (app.guest().await, app.player("ann").await);
    guest.delete_with("/v1/me", json!({"password": PASSWORD})).await.refused(401, "wrong-credentials");
    guest.delete_with("/v1/me", json!({})).await.ok(204);
    guest.get("/v1/me").await.refused(401, "token-invalid");
    ann.delete_with("/v1/me", json!({})).await.refused(422, "invalid-fields");
    ann.get("/v1/me").await.ok(200);
}
