use chrono::TimeDelta;
use serde_json::json;

use super::{TICKET, abort, draw, joins, meet, ticket_of};
use crate::harness::TestApp;

#[tokio::test]
async fn two_who_wait_get_a_rated_game() {
    let app = TestApp::start().await;
    let (ann, ben) = (app.player("ann").await, app.player("ben").await);
    let game = meet(&app, &ann, &ben).await;

    let game = ann.get(&format!("/v1/games/{game}")).await.ok(200);
    assert_eq!(
        (&game["pool"], &game["rated"], &game["status"]),
        (&json!("hare-and-hounds"), &json!(true), &json!("ongoing"))
    );
    let mut names = [&game["players"]["hounds"]["username"], &game["players"]["hare"]["username"]];
    names.sort_unstable_by_key(|name| name.as_str());
    assert_eq!(names, ["ann", "ben"]);
}

#[tokio::test]
async fn who_waits_alone_waits_on() {
    let app = TestApp::start().await;
    let (ann, ben) = (app.player("ann").await, app.player("ben").await);
    joins(&ann, TICKET).await;
    joins(&ben, "/v1/pools/catch-the-hare/ticket").await;
    app.match_tickets().await;
    assert_eq!(ticket_of(&ann).await["status"], "queued");
}

#[tokio::test]
async fn everybody_is_matched_once() {
    let app = TestApp::start().await;
    let mut players = Vec::new();
    for name in ["ann", "ben", "cat", "dan", "eve", "fay", "gus"] {
        let player = app.player(name).await;
        joins(&player, TICKET).await;
        players.push(player);
    }
    app.match_tickets().await;

    let mut games = Vec::new();
    for player in &players {
        let ticket = ticket_of(player).await;
        games.extend(ticket["game"].as_str().map(str::to_owned));
    }
    assert_eq!(games.len(), 6, "one of seven waits on");
    games.sort();
    games.dedup();
    assert_eq!(games.len(), 3);
}

#[tokio::test]
async fn roles_alternate() {
    let app = TestApp::start().await;
    let (ann, ben) = (app.player("ann").await, app.player("ben").await);
    let mut hounds = Vec::new();
    for _ in 0..4 {
        let game = meet(&app, &ann, &ben).await;
        let shown = ann.get(&format!("/v1/games/{game}")).await.ok(200);
        hounds.push(super::text(&shown["players"]["hounds"]["username"]));
        let (debt, due) = if hounds.last().unwrap() == "ann" { (1, "hare") } else { (-1, "hounds") };
        let ticket = ticket_of(&ann).await;
        if hounds.len() % 2 == 1 {
            assert_eq!((&ticket["role_debt"], &ticket["role_due"]), (&json!(debt), &json!(due)));
        } else {
            assert_eq!((&ticket["role_debt"], &ticket["role_due"]), (&json!(0), &json!(due)));
        }
        draw(&ann, &ben, &game).await;
    }
    assert_ne!(hounds[0], hounds[1]);
    assert_eq!(hounds[..2], hounds[2..]);
}

#[tokio::test]
async fn an_aborted_game_gives_the_role_debt_back() {
    let app = TestApp::start().await;
    let (ann, ben) = (app.player("ann").await, app.player("ben").await);
    let game = meet(&app, &ann, &ben).await;
    assert_ne!(ticket_of(&ann).await["role_debt"], 0);

    abort(&ann, &game).await;

    for player in [&ann, &ben] {
        let ticket = ticket_of(player).await;
        assert_eq!((&ticket["role_debt"], &ticket["role_due"]), (&json!(0), &json!(null)));
    }
}

#[tokio::test]
async fn an_estimate_comes_from_the_last_matches() {
    let app = TestApp::start().await;
    let (ann, ben, cat) = (app.player("ann").await, app.player("ben").await, app.player("cat").await);
    joins(&ann, TICKET).await;
    app.clock.advance(TimeDelta::seconds(8));
    ann.get(TICKET).await.ok(200);
    joins(&ben, TICKET).await;
    app.match_tickets().await;
    assert_eq!(
        joins(&cat, TICKET).await["estimated_wait_ms"],
        0,
        "half of two waits, 0 and 8 s, took no longer"
    );
}
