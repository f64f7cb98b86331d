//! The log reproduces every number; what was tampered with is found and mended; a game can be annulled.

use leveret::{games, ratings};

use super::{POOL, opens, rated_game, rating_of, resigns};
use crate::harness::TestApp;

async fn db_run(app: &TestApp, statement: &'static str) {
    sqlx::query(statement).execute(&app.db).await.expect("the statement works");
}

#[tokio::test]
async fn the_log_reproduces_every_number_and_finds_what_was_changed() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    for round in 0..6 {
        let (game, hounds, hare) = rated_game(&app, POOL, &ann, &ben).await;
        opens(&game, &hounds, &hare).await;
        resigns(if round == 4 { &hounds } else { &hare }, &game).await;
        app.clock.advance(chrono::TimeDelta::hours(31));
    }
    assert_eq!(ratings::rebuild(&app.db, false).await.expect("a rebuild"), []);
    let truth = rating_of(&app, "ann").await;

    db_run(&app, "update rating set rating = rating + 1e-6 where rating < 1500").await;
    db_run(&app, "update rating_event set rd_after = rd_after + 1e-6 where role = 'hare' and settled = 2")
        .await;

    let found = ratings::rebuild(&app.db, false).await.expect("a rebuild");
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(ratings::rebuild(&app.db, true).await.expect("a rebuild"), found);
    assert_eq!(ratings::rebuild(&app.db, false).await.expect("a rebuild"), []);
    assert_eq!(rating_of(&app, "ann").await, truth);
}

#[tokio::test]
async fn an_annulled_game_stays_and_rates_nothing() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let (first, hounds, hare) = rated_game(&app, POOL, &ann, &ben).await;
    opens(&first, &hounds, &hare).await;
    resigns(if hounds.name == "ann" { &hounds } else { &hare }, &first).await;
    let after_first = rating_of(&app, "ann").await["rating"].clone();
    let (second, hounds, hare) = rated_game(&app, POOL, &ann, &ben).await;
    opens(&second, &hounds, &hare).await;
    resigns(if hounds.name == "ann" { &hounds } else { &hare }, &second).await;

    let id = second.parse().expect("an id");
    games::annul(&app.db, app.clock.now(), id, "played by another hand").await.expect("annulled");
    ratings::rebuild(&app.db, true).await.expect("a rebuild");

    assert_eq!(rating_of(&app, "ann").await["rating"], after_first);
    let game = ann.sees(&second).await;
    assert_eq!(game["reason"], "resignation");
    assert!(game["rating_changes"].is_null());
    assert_eq!(ratings::rebuild(&app.db, false).await.expect("a rebuild"), []);
}
