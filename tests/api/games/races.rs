//! Everything at once, over two processes: one of them happens, and the others are told.

use std::future::Future;
use std::pin::Pin;

use serde_json::{Value, json};

use crate::harness::{Reply, TestApp, holding};

type Act = Pin<Box<dyn Future<Output = Reply>>>;

/// Takes the next number of the game's log until the race begins: whatever happens needs it.
fn hold(game: &str) -> String {
    format!(
        "insert into game_event (game_id, number, kind, at)
         select game_id, max(number) + 1, 'started', now() from game_event where game_id = '{game}' group by game_id
         returning number"
    )
}

#[tokio::test]
async fn of_32_moves_for_one_ply_one_is_played() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let other = app.second_process().await;
    let far_ann = other.as_player(&ann);
    let game = app.game(&ann, &ben, "catch-the-hare").await;
    let moves: Vec<String> = ann.sees(&game).await["legal_moves"]
        .as_array()
        .expect("moves")
        .iter()
        .map(|text| text.as_str().expect("text").to_owned())
        .collect();

    let contenders: Vec<Act> = (0..32)
        .map(|number: usize| {
            let (mover, text) = (
                if number.is_multiple_of(2) { &ann } else { &far_ann }.clone(),
                moves[number % moves.len()].clone(),
            );
            let game = game.clone();
            Box::pin(async move { mover.plays(&game, 1, &text).await }) as Act
        })
        .collect();
    let replies = holding(&app.db, &hold(&game), contenders).await;

    let after = ann.sees(&game).await;
    assert_eq!(after["ply"], 1);
    assert_eq!(replies.iter().filter(|reply| reply.status == 201).count(), 1, "one is played");
    for (number, reply) in replies.iter().enumerate() {
        // Four contenders send each move: those who sent the one that was played are told that it stands.
        if json!(moves[number % moves.len()]) == after["moves"][0] {
            reply.ok_any(&[200, 201]);
        } else {
            assert_eq!(reply.refused(409, "ply-conflict")["ply"], 1);
        }
    }
}

#[tokio::test]
async fn a_game_ends_once_whatever_is_tried_at_the_same_instant() {
    for round in 0..6 {
        let app = TestApp::start().await;
        let (ann, ben) = app.two_players().await;
        let other = app.second_process().await;
        let (far_ann, far_ben) = (other.as_player(&ann), other.as_player(&ben));
        let game = app.game(&ann, &ben, "hare-and-hounds").await;
        let draw = format!("/v1/games/{game}/draw-offer");
        let resignation = format!("/v1/games/{game}/resignation");
        let abort = format!("/v1/games/{game}/abort");
        ann.put(&draw, Value::Null).await.ok(200);

        let (g, d, r, a) = (game.clone(), draw.clone(), resignation.clone(), abort.clone());
        let (r2, a2) = (resignation.clone(), abort.clone());
        let mut contenders: Vec<Act> = vec![
            Box::pin(async move { ann.plays(&g, 1, "b1-b2").await }),
            Box::pin(async move { far_ben.put(&(d + "?accept_only=true"), Value::Null).await }),
            Box::pin(async move { far_ann.post(&r, Value::Null).await }),
            Box::pin({
                let ben = ben.clone();
                async move { ben.post(&r2, Value::Null).await }
            }),
            Box::pin({
                let ben = ben.clone();
                async move { ben.post(&a, Value::Null).await }
            }),
            Box::pin({
                let far_ben = other.as_player(&ben);
                async move { far_ben.post(&a2, Value::Null).await }
            }),
        ];
        contenders.rotate_left(round);
        holding(&app.db, &hold(&game), contenders).await;

        let ended = ben.sees(&game).await;
        assert_ne!(ended["status"], "ongoing");
        assert_eq!(other.as_player(&ben).sees(&game).await["reason"], ended["reason"]);
        let endings: i64 = sqlx::query_scalar("select count(*) from game_event where kind = 'ended'")
            .fetch_one(&app.db)
            .await
            .expect("a count");
        assert_eq!(endings, 1);
    }
}

#[tokio::test]
async fn a_rematch_that_both_accept_at_once_is_one_game() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let other = app.second_process().await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;
    ann.post(&format!("/v1/games/{game}/resignation"), Value::Null).await.ok(200);
    let path = format!("/v1/games/{game}/rematch");

    let contenders: Vec<Act> = [ann.clone(), other.as_player(&ben), other.as_player(&ann), ben.clone()]
        .into_iter()
        .map(|player| {
            let path = path.clone();
            Box::pin(async move { player.put(&path, Value::Null).await }) as Act
        })
        .collect();
    for reply in holding(&app.db, &hold(&game), contenders).await {
        reply.ok(200);
    }

    let rematches: i64 = sqlx::query_scalar("select count(*) from game where rematch_of is not null")
        .fetch_one(&app.db)
        .await
        .expect("a count");
    assert_eq!(rematches, 1);
    let rematch = ann.sees(ann.sees(&game).await["rematch"]["game"].as_str().expect("a rematch")).await;
    assert_eq!(rematch["players"]["hounds"]["username"], "ben");
}

#[tokio::test]
async fn a_move_that_ends_the_game_and_a_resignation_do_not_wait_for_each_other_for_ever() {
    for round in 0..6 {
        let app = TestApp::start().await;
        let (ann, ben) = app.two_players().await;
        let other = app.second_process().await;
        let game = app.game(&ann, &ben, "hare-and-hounds").await;
        let opening = ["a2-b2", "e2-d1", "b1-c1", "d1-c2", "b2-b1", "c2-b2", "b1-c2"];
        for (ply, text) in (1..).zip(opening) {
            let mover = if ply % 2 == 1 { &ann } else { &ben };
            mover.plays(&game, ply, text).await.ok(201);
        }

        let resignation = format!("/v1/games/{game}/resignation");
        let (far_ann, far_ben, g, r) =
            (other.as_player(&ann), other.as_player(&ben), game.clone(), resignation.clone());
        let mut contenders: Vec<Act> = vec![
            Box::pin({
                let (ben, g) = (ben.clone(), g.clone());
                async move { ben.plays(&g, 8, "b2-a2").await }
            }),
            Box::pin(async move { far_ann.post(&r, Value::Null).await }),
            Box::pin(async move { far_ben.plays(&g, 8, "b2-a2").await }),
        ];
        contenders.rotate_left(round % 3);
        for reply in holding(&app.db, &hold(&game), contenders).await {
            assert!([200, 201, 409].contains(&reply.status), "{reply}");
        }

        assert_eq!(ben.sees(&game).await["result"], "hare", "the hare wins either way");
    }
}
