use std::str::FromStr;

use leveret::{
    games::ClockSetting,
    lobby::pools::{self, AddPoolError},
    rules::Variant,
};
use serde_json::{Map, json};

use super::{TICKET, joins};
use crate::harness::TestApp;

#[tokio::test]
async fn a_pool_tells_its_rules_and_its_clock() {
    let app = TestApp::start().await;
    let ann = app.player("ann").await;

    let all = ann.get("/v1/pools").await.ok(200);
    assert_eq!(all["items"].as_array().map(Vec::len), Some(4));
    assert_eq!(all["next"], json!(null));

    let pool = ann.get("/v1/pools/hare-and-hounds").await.ok(200);
    assert_eq!(
        pool,
        json!({
            "id": "hare-and-hounds", "variant": "hare-and-hounds",
            "rules": {"getting_away": "thirty-moves", "hare_start": "right-end"},
            "clock": {"kind": "per_turn", "turn_ms": 30_000},
            "rated": true, "closed": false, "waiting": 0, "playing": 0,
        })
    );
    ann.get("/v1/pools/no-such-pool").await.refused(404, "not-found");
}

#[tokio::test]
async fn a_pool_tells_how_many_wait_and_play() {
    let app = TestApp::start().await;
    let (ann, ben) = (app.player("ann").await, app.player("ben").await);
    joins(&ann, TICKET).await;
    assert_eq!(ann.get("/v1/pools/hare-and-hounds").await.ok(200)["waiting"], 1);

    joins(&ben, TICKET).await;
    app.match_tickets().await;
    let pool = ann.get("/v1/pools/hare-and-hounds").await.ok(200);
    assert_eq!((&pool["waiting"], &pool["playing"]), (&json!(0), &json!(2)));
}

#[tokio::test]
async fn an_operator_adds_a_pool() {
    let app = TestApp::start().await;
    let rules = Map::from_iter([("hare_start".to_owned(), json!("right-end"))]);
    let clock = ClockSetting::Fischer { initial_ms: 180_000, increment_ms: 2000 };
    let variant = Variant::from_str("hare-and-hounds").unwrap();
    let now = app.clock.now();

    pools::add(&app.db, "blitz", variant, &rules, clock, now).await.unwrap();

    let ann = app.player("ann").await;
    assert_eq!(ann.get("/v1/pools/blitz").await.ok(200)["clock"]["kind"], "fischer");
    joins(&ann, "/v1/pools/blitz/ticket").await;

    let again = pools::add(&app.db, "blitz", variant, &rules, clock, now).await;
    assert!(matches!(again, Err(AddPoolError::Taken)));
    let misnamed = pools::add(&app.db, "Blitz!", variant, &rules, clock, now).await;
    assert!(matches!(misnamed, Err(AddPoolError::MalformedId)));
    let clockless = pools::add(&app.db, "endless", variant, &rules, ClockSetting::None, now).await;
    assert!(matches!(clockless, Err(AddPoolError::NoClock)));
}

#[tokio::test]
async fn a_closed_pool_sends_away_who_waits_and_takes_nobody() {
    let app = TestApp::start().await;
    let ann = app.player("ann").await;
    joins(&ann, TICKET).await;

    for _ in 0..2 {
        pools::close(&app.db, "hare-and-hounds", app.clock.now()).await.unwrap().unwrap();
    }

    assert_eq!(ann.get(TICKET).await.ok(200)["status"], "cancelled");
    ann.put(TICKET, json!({})).await.refused(409, "pool-closed");
    assert_eq!(ann.get("/v1/pools/hare-and-hounds").await.ok(200)["closed"], true);
}
