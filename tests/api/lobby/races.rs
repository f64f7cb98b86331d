//! What happens at the same instant happens once. Each race holds the rows until all contenders wait for them.

use futures_util::future::{FutureExt, LocalBoxFuture, select};
use serde_json::json;

use super::{DAILY_TICKET, TICKET, joins, text, ticket_of};
use crate::harness::{Reply, TestApp, holding};

const ROUNDS: usize = 20;
const TICKETS: &str = "select from ticket where status = 'queued' for update";
const CHALLENGES: &str = "select from challenge where status = 'open' for update";

#[tokio::test]
async fn cancel_against_match_has_one_outcome_and_it_is_told() {
    let app = TestApp::start().await;
    let other = app.second_process().await;
    for round in 0..ROUNDS {
        let (ann, ben) = (app.player(&format!("ann{round}")).await, app.player(&format!("ben{round}")).await);
        joins(&ann, TICKET).await;
        joins(&ben, TICKET).await;
        let elsewhere = other.as_player(&ann);
        let leaves = async { Some(elsewhere.delete(TICKET).await) }.boxed_local();
        let matches = app.match_tickets().map(|_| None::<Reply>).boxed_local();

        let contenders: [LocalBoxFuture<Option<Reply>>; 2] =
            if round % 2 == 0 { [leaves, matches] } else { [matches, leaves] };
        let left =
            holding(&app.db, TICKETS, contenders).await.into_iter().flatten().next().expect("an answer");

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
        let mut held = app.db.begin().await.unwrap();
        sqlx::query(TICKETS).execute(&mut *held).await.unwrap();

        // One matcher waits for the tickets; the other one finds the pool taken, and does not wait.
        let both = select(app.match_tickets().boxed_local(), other.match_tickets().boxed_local());
        let (made, waits) = both.await.factor_first();
        assert_eq!(made, 0);
        held.rollback().await.unwrap();
        assert_eq!(waits.await, 1);

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
        let (withdraw, accept) = (format!("/v1/challenges/{id}"), format!("/v1/challenges/{id}/accept"));

        let contenders = [ann.delete(&withdraw).boxed_local(), ben.post(&accept, json!({})).boxed_local()];
        let told = holding(&app.db, CHALLENGES, contenders).await;
        let (withdrawn, accepted) = (&told[0], &told[1]);

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
        let accept = format!("/v1/challenges/{id}/accept");

        let told =
            holding(&app.db, CHALLENGES, [&ben, &cat].map(|player| player.post(&accept, json!({})))).await;

        let mut statuses = [told[0].status(), told[1].status()];
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
    let (to_ben, to_ann) = (format!("/v1/challenges/{anns}/accept"), format!("/v1/challenges/{bens}/accept"));

    let contenders = [ben.post(&to_ben, json!({})), ann.post(&to_ann, json!({}))];
    let told = holding(&app.db, CHALLENGES, contenders).await;

    let mut statuses = [told[0].status(), told[1].status()];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409]);
    let seats: i64 = sqlx::query_scalar("select count(*) from live_seat").fetch_one(&app.db).await.unwrap();
    assert_eq!(seats, 2);
}

#[tokio::test]
async fn joining_two_pools_at_once_gives_one_ticket() {
    let app = TestApp::start().await;
    let ann = app.player("ann").await;
    let (one, two) = tokio::join!(ann.put(TICKET, json!({})), ann.put(DAILY_TICKET, json!({})));
    let mut statuses = [one.status(), two.status()];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409]);
}
