use chrono::TimeDelta;
use leveret::{
    events::Events,
    lobby::{matchmaker::Matchmaker, presence::Presence},
    wall_clock::Timestamp,
};
use serde_json::json;

use super::{DAILY_TICKET, TICKET, abort, joins, meet, ticket_of};
use crate::harness::TestApp;

#[tokio::test]
async fn joining_makes_a_ticket_and_joining_again_changes_nothing() {
    let app = TestApp::start().await;
    let ann = app.player("ann").await;

    let ticket = joins(&ann, TICKET).await;
    assert_eq!(
        ticket,
        json!({
            "pool": "hare-and-hounds", "status": "queued", "waited_ms": 0, "window": 172,
            "estimated_wait_ms": null, "role_due": null, "role_debt": 0, "cool_down_until": null, "game": null,
        })
    );
    app.clock.advance(TimeDelta::seconds(10));
    let again = ann.put(TICKET, json!({})).await.ok(200);
    assert_eq!((&again["waited_ms"], &again["window"]), (&json!(10_000), &json!(222)));
}

#[tokio::test]
async fn joining_needs_a_token_and_a_pool() {
    let app = TestApp::start().await;
    app.anonymous().put(TICKET, json!({})).await.refused(401, "token-missing");
    app.player("ann").await.put("/v1/pools/no-such-pool/ticket", json!({})).await.refused(404, "not-found");
}

#[tokio::test]
async fn a_player_waits_in_one_pool_at_a_time() {
    let app = TestApp::start().await;
    let ann = app.player("ann").await;
    joins(&ann, TICKET).await;

    let problem = ann.put(DAILY_TICKET, json!({})).await.refused(409, "already-waiting");
    assert!(problem["detail"].as_str().unwrap().contains("hare-and-hounds"), "{problem}");

    ann.delete(TICKET).await.ok(200);
    joins(&ann, DAILY_TICKET).await;
}

#[tokio::test]
async fn leaving_cancels_and_leaving_again_changes_nothing() {
    let app = TestApp::start().await;
    let ann = app.player("ann").await;
    ann.get(TICKET).await.refused(404, "not-found");
    ann.delete(TICKET).await.refused(404, "not-found");
    joins(&ann, TICKET).await;

    assert_eq!(ann.delete(TICKET).await.ok(200)["status"], "cancelled");
    assert_eq!(ann.delete(TICKET).await.ok(200)["status"], "cancelled");
    assert_eq!(ticket_of(&ann).await["status"], "cancelled");
    joins(&ann, TICKET).await;
}

#[tokio::test]
async fn leaving_too_late_tells_the_game() {
    let app = TestApp::start().await;
    let (ann, ben) = (app.player("ann").await, app.player("ben").await);
    let game = meet(&app, &ann, &ben).await;

    let ticket = ann.delete(TICKET).await.ok(200);
    assert_eq!((&ticket["status"], &ticket["game"]), (&json!("matched"), &json!(game)));
}

#[tokio::test]
async fn a_ticket_lapses_without_a_sign_of_life() {
    let app = TestApp::start().await;
    let (ann, ben) = (app.player("ann").await, app.player("ben").await);
    joins(&ann, TICKET).await;
    joins(&ben, DAILY_TICKET).await;
    app.match_tickets().await;

    app.clock.advance(TimeDelta::seconds(25));
    ben.get("/v1/pools").await.ok(200);
    app.match_tickets().await;
    app.clock.advance(TimeDelta::seconds(6));
    app.match_tickets().await;

    assert_eq!(ticket_of(&ann).await["status"], "expired");
    assert_eq!(ben.get(DAILY_TICKET).await.ok(200)["status"], "queued");
}

#[tokio::test]
async fn a_ticket_survives_a_restart() {
    let app = TestApp::start().await;
    let (ann, ben) = (app.player("ann").await, app.player("ben").await);
    joins(&ann, TICKET).await;

    let restarted = app.second_process().await;
    assert_eq!(restarted.as_player(&ann).get(TICKET).await.ok(200)["status"], "queued");
    joins(&restarted.as_player(&ben), TICKET).await;
    restarted.match_tickets().await;

    assert_eq!(ticket_of(&ann).await["status"], "matched");
    assert_eq!(ticket_of(&ann).await["game"], ticket_of(&ben).await["game"]);
}

#[tokio::test]
async fn nobody_loses_a_ticket_because_the_service_was_away() {
    let app = TestApp::start().await;
    let (ann, ben) = (app.player("ann").await, app.player("ben").await);
    joins(&ann, TICKET).await;
    app.clock.advance(TimeDelta::minutes(5));

    let task = Matchmaker::new(Presence::default(), Events::default()).run(app.db.clone(), app.clock.clone());
    let task = tokio::spawn(task);
    db_seen_since(&app, app.clock.now()).await;
    assert_eq!(ticket_of(&ann).await["status"], "queued");

    task.abort();
    joins(&ben, TICKET).await;
    app.match_tickets().await;
    assert_eq!(ticket_of(&ann).await["status"], "matched");
}

/// Returns when no ticket counts as unseen any more.
async fn db_seen_since(app: &TestApp, since: Timestamp) {
    for _ in 0..1000 {
        let unseen: i64 = sqlx::query_scalar("select count(*) from ticket where last_seen_at < $1")
            .bind(since)
            .fetch_one(&app.db)
            .await
            .unwrap();
        if unseen == 0 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    panic!("the matchmaker did not begin");
}

#[tokio::test]
async fn nobody_in_a_live_rated_game_waits_for_another_one() {
    let app = TestApp::start().await;
    let (ann, ben) = (app.player("ann").await, app.player("ben").await);
    let game = meet(&app, &ann, &ben).await;

    let problem = ann.put(TICKET, json!({})).await.refused(409, "already-playing");
    assert_eq!(problem["game"], game);
    joins(&ann, DAILY_TICKET).await;
}

#[tokio::test]
async fn the_second_aborted_game_earns_a_cool_down_that_shows_its_end() {
    let app = TestApp::start().await;
    let (ann, ben) = (app.player("ann").await, app.player("ben").await);
    for _ in 0..2 {
        assert_eq!(ticket_until(&ann).await, json!(null));
        let game = meet(&app, &ann, &ben).await;
        abort(&ann, &game).await;
    }
    let until = app.clock.now() + TimeDelta::minutes(1);
    let shown = until.to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
    assert_eq!(ticket_until(&ann).await, json!(shown));

    let me = ann.get("/v1/me").await.ok(200);
    assert_eq!(me["cooldown"], json!({"until": shown, "reason": "aborted"}));
    assert_eq!(ben.get("/v1/me").await.ok(200)["cooldown"], json!(null));

    let reply = ann.put(TICKET, json!({})).await;
    assert_eq!(reply.header("retry-after"), Some("60"));
    let problem = reply.refused(429, "cooling-down");
    assert_eq!(problem["retry_after_ms"], 60_000);
    assert_eq!(chrono::DateTime::parse_from_rfc3339(problem["until"].as_str().unwrap()).unwrap(), until);
    joins(&ben, TICKET).await;

    app.clock.advance(TimeDelta::minutes(1));
    joins(&ann, TICKET).await;
    assert_eq!(ann.get("/v1/me").await.ok(200)["cooldown"], json!(null));
}

async fn ticket_until(player: &crate::harness::Player) -> serde_json::Value {
    let reply = player.get(TICKET).await;
    if reply.status() == 404 { json!(null) } else { reply.ok(200)["cool_down_until"].clone() }
}
