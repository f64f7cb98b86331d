//! What happens at the same instant happens once. Each race holds the rows until all contenders wait for them.

use serde_json::json;

use super::{TICKET, db_hold, db_release, joins, text, ticket_of};
use crate::harness::TestApp;

const ROUNDS: usize = 20;
const TICKETS: &str = "select ticket_id from ticket where status = 'queued'";

#[tokio::test]
async fn cancel_against_match_has_one_outcome_and_it_is_told() {
    let app = TestApp::start().await;
    let other = app.second_process().await;
    for round in 0..ROUNDS {
        let (ann, ben) = (app.player(&format!("ann{round}")).await, app.player(&format!("ben{round}")).await);
        joins(&ann, TICKET).await;
        joins(&ben, TICKET).await;
        // Signs of life are written down before the rows are held.
        let held = db_hold(&app, TICKETS).await;
        let elsewhere = other.as_player(&ann);

        let (left, (), ()) = tokio::join!(
            elsewhere.delete(TICKET),
            async {
                app.match_tickets().await;
            },
            db_release(&app, held, 2)
        );

        let (told, anns, bens) = (left.ok(200), ticket_of(&ann).await, ticket_of(&ben).await);
        assert_eq!((&told["status"], &told["game"]), (&anns["status"], &anns["game"]), "round {round}");
        if told["status"] == "matched" {
            assert_eq!(anns["game"], bens["game"]);
            assert_eq!(bens["status"], "matched");
        } else {
            assert_eq!((&anns["status"], &bens["status"]), (&json!("cancelled"), &json!("queued")));
            ben.delete(TICKET).await.ok(200);
        }
    }
}

#[tokio::test]
async fn two_matchers_make_one_game() {
    let app = TestApp::start().await;
    let other = app.second_process().await;
    for round in 0..ROUNDS {
        let (ann, ben) = (app.player(&format!("ann{round}")).await, app.player(&format!("ben{round}")).await);
        joins(&ann, TICKET).await;
        joins(&ben, TICKET).await;
        let held = db_hold(&app, TICKETS).await;

        // One matcher waits for the tickets; the other one finds the pool taken, and must not wait.
        tokio::join!(
            async {
                app.match_tickets().await;
            },
            async {
                super::db_all_wait(&app.db, 1).await;
                other.match_tickets().await;
                held.rollback().await.expect("the rows are let go");
            }
        );

        assert_eq!(ticket_of(&ann).await["status"], "matched", "round {round}");
        assert_eq!(ticket_of(&ann).await["game"], ticket_of(&ben).await["game"]);
    }
    let games: i64 = sqlx::query_scalar("select count(*) from game").fetch_one(&app.db).await.unwrap();
    assert_eq!(games, ROUNDS as i64);
}

#[tokio::test]
async fn accept_against_withdraw_has_one_outcome_and_both_are_told() {
    let app = TestApp::start().await;
    let other = app.second_process().await;
    let (ann, ben) = (app.player("ann").await, app.player("ben").await);
    let ben = other.as_player(&ben);
    for round in 0..ROUNDS {
        let made = ann.post("/v1/challenges", json!({"variant": "hare-and-hounds"})).await.ok(201);
        let id = text(&made["id"]);
        let held =
            db_hold(&app, &format!("select challenge_id from challenge where challenge_id = '{id}'")).await;
        let (withdraw, accept) = (format!("/v1/challenges/{id}"), format!("/v1/challenges/{id}/accept"));

        let (withdrawn, accepted, ()) =
            tokio::join!(ann.delete(&withdraw), ben.post(&accept, json!({})), db_release(&app, held, 2));

        let shown = ann.get(&withdraw).await.ok(200);
        if accepted.status() == 201 {
            let game = accepted.ok(201);
            assert_eq!(withdrawn.refused(409, "challenge-over")["game"], game["id"], "round {round}");
            assert_eq!(shown["game"], game["id"]);
        } else {
            accepted.refused(409, "challenge-over");
            assert_eq!(withdrawn.ok(200)["status"], "withdrawn", "round {round}");
            assert_eq!((&shown["status"], &shown["game"]), (&json!("withdrawn"), &json!(null)));
        }
    }
}

#[tokio::test]
async fn of_several_who_accept_at_once_one_plays() {
    let app = TestApp::start().await;
    let other = app.second_process().await;
    let ann = app.player("ann").await;
    let (ben, cat) = (app.player("ben").await, app.player("cat").await);
    let cat = other.as_player(&cat);
    for round in 0..ROUNDS {
        let made = ann.post("/v1/challenges", json!({"variant": "hare-and-hounds"})).await.ok(201);
        let id = text(&made["id"]);
        let held =
            db_hold(&app, &format!("select challenge_id from challenge where challenge_id = '{id}'")).await;
        let accept = format!("/v1/challenges/{id}/accept");

        let (bens, cats, ()) = tokio::join!(
            ben.post(&accept, json!({})),
            cat.post(&accept, json!({})),
            db_release(&app, held, 2)
        );

        let mut statuses = [bens.status(), cats.status()];
        statuses.sort_unstable();
        assert_eq!(statuses, [201, 409], "round {round}");
    }
    let games: i64 = sqlx::query_scalar("select count(*) from game").fetch_one(&app.db).await.unwrap();
    assert_eq!(games, ROUNDS as i64);
}

#[tokio::test]
async fn two_rated_challenges_accepted_at_once_make_one_game_for_each_player() {
    let app = TestApp::start().await;
    let (ann, ben) = (app.player("ann").await, app.player("ben").await);
    let body = json!({
        "variant": "hare-and-hounds", "rated": true, "clock": {"kind": "per_turn", "turn_ms": 30_000},
        "rules": {"getting_away": "thirty-moves", "hare_start": "right-end"},
    });
    let anns = text(&ann.post("/v1/challenges", body.clone()).await.ok(201)["id"]);
    let bens = text(&ben.post("/v1/challenges", body).await.ok(201)["id"]);
    let held = db_hold(&app, "select challenge_id from challenge where status = 'open'").await;
    let (to_ben, to_ann) = (format!("/v1/challenges/{anns}/accept"), format!("/v1/challenges/{bens}/accept"));

    let (one, two, ()) =
        tokio::join!(ben.post(&to_ben, json!({})), ann.post(&to_ann, json!({})), db_release(&app, held, 2));

    let mut statuses = [one.status(), two.status()];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409]);
    let seats: i64 = sqlx::query_scalar("select count(*) from live_seat").fetch_one(&app.db).await.unwrap();
    assert_eq!(seats, 2);
}

#[tokio::test]
async fn joining_two_pools_at_once_gives_one_ticket() {
    let app = TestApp::start().await;
    let ann = app.player("ann").await;
    let (one, two) = tokio::join!(ann.put(TICKET, json!({})), ann.put(super::DAILY_TICKET, json!({})));
    let mut statuses = [one.status(), two.status()];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409]);
}
