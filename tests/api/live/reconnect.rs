use futures_util::future::join_all;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};

use super::db_log;
use crate::harness::{Client, Player, TestApp};

const READERS: u64 = 8;
const CUTS: u32 = 130;
const PLIES: u16 = 100;

/// Reads a game from its beginning to its end, and is cut again and again on the way.
async fn read_in_pieces(
    nearby: &Client,
    far: &Client,
    game: &str,
    seed: u64,
) -> Vec<(i64, String, Option<String>)> {
    let mut rng = StdRng::seed_from_u64(seed);
    let (mut last, mut seen) = (0, Vec::new());
    let mut pieces = CUTS;
    loop {
        let client = if rng.random_range(0..2) == 0 { nearby } else { far };
        let mut stream = client.watches_after(game, last).await;
        let mut left = if pieces == 0 { u16::MAX } else { rng.random_range(0..3) };
        pieces = pieces.saturating_sub(1);
        while left > 0 {
            let event = stream.next().await.expect("the stream goes on");
            let Some(number) = event.id else { continue };
            assert_eq!(number, last + 1, "{event:?}");
            last = number;
            seen.push((number, event.kind.clone(), event.data["move"].as_str().map(str::to_owned)));
            if event.kind == "ended" {
                return seen;
            }
            left -= 1;
        }
    }
}

async fn play(players: [&Player; 2], game: &str) {
    let mut rng = StdRng::seed_from_u64(7);
    let mut now = players[0].sees(game).await;
    for ply in 1..=PLIES {
        let moves = now["legal_moves"].as_array().expect("moves");
        let Some(text) = moves.get(rng.random_range(0..moves.len().max(1))) else { break };
        let text = text.as_str().expect("text").to_owned();
        now = players[usize::from(ply % 2 == 0)].plays(game, ply, &text).await.ok(201);
    }
    if now["status"] == "ongoing" {
        players[0].post(&format!("/v1/games/{game}/resignation"), Value::Null).await.ok(200);
    }
}

/// A thousand cuts, at two processes, while the game goes on.
#[tokio::test]
async fn a_reader_who_is_cut_again_and_again_ends_with_the_log() {
    let app = TestApp::start_with(|settings| settings.streams.streams_per_address = 100_000).await;
    let other = app.second_process().await;
    let (ann, ben) = app.two_players().await;
    let terms = json!({"variant": "catch-the-hare", "rules": {"too_few": "cannot-enclose", "hunters": 14}});
    let game = app.game_by(&ann, &ben, terms).await;
    let (nearby, far) = (app.anonymous(), other.anonymous());

    let readers = (0..READERS).map(|seed| read_in_pieces(&nearby, &far, &game, seed));
    let (read, ()) = tokio::join!(join_all(readers), play([&ann, &ben], &game));

    let log = db_log(&app, &game).await;
    assert!(log.len() > 20, "{}", log.len());
    for seen in read {
        assert_eq!(seen, log);
    }
}
