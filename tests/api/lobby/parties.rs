//! Parties: an open challenge whose host changes it until somebody joins.

use chrono::TimeDelta;
use futures_util::future::{FutureExt, LocalBoxFuture};
use serde_json::{Value, json};

use super::text;
use crate::harness::{Player, Reply, TestApp, holding};

async fn hosts(player: &Player, terms: Value) -> Value {
    player.post("/v1/challenges", terms).await.ok(201)
}

fn path(party: &Value) -> String {
    format!("/v1/challenges/{}", text(&party["id"]))
}

async fn joins(player: &Player, party: &Value, version: i64) -> Reply {
    player.post(&format!("{}/accept?version={version}", path(party)), Value::Null).await
}

fn live(variant: &str) -> Value {
    json!({"variant": variant, "clock": {"kind": "per_turn", "turn_ms": 30_000}})
}

#[tokio::test]
async fn a_host_changes_every_house_rule_until_somebody_joins() {
    let app = TestApp::start().await;
    let (host, joiner) = (app.guest().await, app.guest().await);
    let party = hosts(&host, live("catch-the-hare")).await;
    assert_eq!((&party["version"], &party["on_drop"]), (&json!(1), &json!("computer")));

    let changed = host.patch(&path(&party), json!({"rules": {"board": "no-diagonals", "hunters": 11}})).await;
    assert_eq!(
        changed.ok(200)["rules"],
        json!({"board": "no-diagonals", "hunters": 11, "too_few": "below-ten"})
    );
    let changed = host.patch(&path(&party), json!({"rules": {"too_few": "cannot-enclose"}})).await.ok(200);
    assert_eq!(
        changed["rules"],
        json!({"board": "no-diagonals", "hunters": 11, "too_few": "cannot-enclose"}),
        "what is left out stays"
    );
    let terms = json!({
        "role": "hare", "swap_roles": false, "on_drop": "claim", "drop_after_ms": 90_000,
        "clock": {"kind": "per_turn", "turn_ms": 60_000},
    });
    let changed = host.patch(&path(&party), terms.clone()).await.ok(200);
    assert_eq!(changed["version"], 4);
    for (name, value) in terms.as_object().expect("an object") {
        assert_eq!(&changed[name], value, "{name}");
    }

    let game = joins(&joiner, &party, 4).await.ok(201);
    assert_eq!(game["rules"]["hunters"], 11);
    assert_eq!((&game["on_drop"], &game["clock"]["turn_ms"]), (&json!("claim"), &json!(60_000)));
    assert_eq!(game["drop_after_ms"], 90_000);
    assert_eq!(game["players"]["hare"]["username"], host.name);
    host.patch(&path(&party), json!({"role": "hounds"})).await.refused(409, "challenge-over");
}

#[tokio::test]
async fn nobody_joins_on_terms_they_have_not_seen() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let party = hosts(&ann, live("hare-and-hounds")).await;
    let etag = ben.get(&path(&party)).await.header("etag").expect("an ETag").to_owned();
    let watching = ben.with_header("if-none-match", &etag);
    assert_eq!(watching.get(&path(&party)).await.status(), 304);

    ann.patch(&path(&party), json!({"rules": {"hare_start": "random"}})).await.ok(200);
    joins(&ben, &party, 1).await.refused(409, "challenge-changed");
    let seen = watching.get(&path(&party)).await.ok(200);
    assert_eq!((&seen["version"], &seen["status"]), (&json!(2), &json!("open")));
    let game = joins(&ben, &party, 2).await.ok(201);
    assert_eq!(joins(&ben, &party, 2).await.ok(200)["id"], game["id"], "joining again answers the same game");
}

#[tokio::test]
async fn a_change_that_changes_nothing_makes_no_new_version() {
    let app = TestApp::start().await;
    let ann = app.player("ann").await;
    let party = hosts(&ann, live("hare-and-hounds")).await;
    for _ in 0..2 {
        let same = ann.patch(&path(&party), json!({"rules": {"hare_start": "right-end"}})).await.ok(200);
        assert_eq!(same, party);
    }
    assert_eq!(ann.patch(&path(&party), json!({})).await.ok(200), party);
    for _ in 0..2 {
        let changed = ann.patch(&path(&party), json!({"role": "hare"})).await.ok(200);
        assert_eq!(changed["version"], 2);
    }
}

#[tokio::test]
async fn a_change_that_cannot_be_is_refused_and_leaves_no_trace() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let party = hosts(&ann, live("hare-and-hounds")).await;
    for (change, pointer) in [
        (json!({"rules": {"hunters": 11}}), "/rules/hunters"),
        (json!({"rules": {"hare_start": "the-moon"}}), "/rules/hare_start"),
        (json!({"clock": {"kind": "per_turn", "turn_ms": 1}}), "/clock/turn_ms"),
        (json!({"drop_after_ms": 29_999}), "/drop_after_ms"),
        (json!({"drop_after_ms": 600_001}), "/drop_after_ms"),
        (json!({"clock": {"kind": "correspondence", "days": 1}, "on_drop": "computer"}), "/on_drop"),
    ] {
        let problem = ann.patch(&path(&party), change).await.refused(422, "invalid-fields");
        assert_eq!(problem["errors"][0]["pointer"], pointer);
    }
    ann.patch(&path(&party), json!({"rated": true})).await.refused(400, "malformed-request");
    ben.patch(&path(&party), json!({"role": "hare"})).await.refused(403, "not-your-challenge");
    app.anonymous().patch(&path(&party), json!({"role": "hare"})).await.refused(401, "token-missing");
    assert_eq!(ann.get(&path(&party)).await.ok(200), party);

    let mut rated = live("hare-and-hounds");
    rated["rated"] = true.into();
    let rated = hosts(&ann, rated).await;
    ann.patch(&path(&rated), json!({"swap_roles": false})).await.refused(409, "challenge-is-rated");
    let direct = hosts(&ann, json!({"variant": "hare-and-hounds", "opponent": "ben"})).await;
    app.player("cat").await.patch(&path(&direct), json!({})).await.refused(404, "not-found");
}

#[tokio::test]
async fn the_player_it_was_sent_to_is_told_of_a_change() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let direct = hosts(&ann, json!({"variant": "hare-and-hounds", "opponent": "ben"})).await;
    ann.patch(&path(&direct), json!({"role": "hare"})).await.ok(200);
    let told = ben.with_header("accept", "application/json").get("/v1/me/events?after=0").await.ok(200);
    let told = told["items"].as_array().expect("items");
    let challenges: Vec<_> = told.iter().map(|event| (&event["kind"], &event["challenge"])).collect();
    assert_eq!(challenges, [(&json!("challenge"), &direct["id"]); 2]);
}

#[tokio::test]
async fn a_changed_clock_changes_what_fits_it_and_how_long_the_party_stands() {
    let app = TestApp::start().await;
    let ann = app.player("ann").await;
    let party = hosts(&ann, live("hare-and-hounds")).await;
    app.clock.advance(TimeDelta::hours(23));
    let ann = app.log_in("ann").await;
    let slow = json!({"clock": {"kind": "correspondence", "days": 3}});
    let changed = ann.patch(&path(&party), slow).await.ok(200);
    assert_eq!(changed["on_drop"], "wait");
    app.clock.advance(TimeDelta::days(6));
    assert_eq!(app.anonymous().get(&path(&party)).await.ok(200)["status"], "open");
    app.clock.advance(TimeDelta::days(2));
    let ann = app.log_in("ann").await;
    ann.patch(&path(&party), json!({"role": "hare"})).await.refused(409, "challenge-over");
}

#[tokio::test]
async fn a_change_against_a_join_has_one_outcome() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let other = app.second_process().await;
    for round in 0..20 {
        let party = hosts(&ann, live("hare-and-hounds")).await;
        let elsewhere = other.as_player(&ben);
        let changes = async { ann.patch(&path(&party), json!({"role": "hare"})).await }.boxed_local();
        let joining = joins(&elsewhere, &party, 1).boxed_local();
        let row = format!("select from challenge where challenge_id = '{}' for update", text(&party["id"]));
        let contenders: [LocalBoxFuture<Reply>; 2] =
            if round % 2 == 0 { [changes, joining] } else { [joining, changes] };
        let mut replies = holding(&app.db, &row, contenders).await;
        if round % 2 == 1 {
            replies.reverse();
        }
        match (replies[0].status(), replies[1].status()) {
            (200, 409) => {
                replies[1].refused(409, "challenge-changed");
                let left = ann.get(&path(&party)).await.ok(200);
                assert_eq!((&left["status"], &left["version"]), (&json!("open"), &json!(2)));
                ann.delete(&path(&party)).await.ok(200);
            }
            (409, 201) => {
                replies[0].refused(409, "challenge-over");
                let left = ann.get(&path(&party)).await.ok(200);
                assert_eq!((&left["status"], &left["version"]), (&json!("accepted"), &json!(1)));
                assert_eq!(left["game"], replies[1].json()["id"]);
            }
            other => panic!("both or neither: {other:?}"),
        }
    }
}
