//! Rematches.

use serde_json::{Value, json};

use crate::harness::{Player, TestApp};

async fn finished(app: &TestApp, hounds: &Player, hare: &Player, terms: Value) -> String {
    let game = app.game_by(hounds, hare, terms).await;
    hare.post(&format!("/v1/games/{game}/resignation"), Value::Null).await.ok(200);
    game
}

async fn asks(player: &Player, game: &str) -> Value {
    player.put(&format!("/v1/games/{game}/rematch"), Value::Null).await.ok(200)
}

#[tokio::test]
async fn a_rematch_that_both_want_begins_with_the_roles_swapped() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let rules = json!({"getting_away": "ten-vertical"});
    let game = finished(&app, &ann, &ben, json!({"variant": "hare-and-hounds", "rules": rules})).await;

    assert_eq!(asks(&ben, &game).await["rematch"], json!({"offered_by": ["hare"], "game": null}));
    let old = asks(&ann, &game).await;

    let id = old["rematch"]["game"].as_str().expect("a rematch");
    let rematch = ann.sees(id).await;
    assert_eq!(rematch["players"]["hounds"]["username"], "ben");
    assert_eq!(rematch["players"]["hare"]["username"], "ann");
    assert_eq!(rematch["rules"], old["rules"]);
    assert_eq!(rematch["rematch_of"], game);
    assert_eq!(asks(&ann, &game).await["rematch"]["game"], id, "again is safe");
    ann.delete(&format!("/v1/games/{game}/rematch")).await.refused(409, "rematch-exists");
}

#[tokio::test]
async fn the_roles_stay_where_that_house_rule_is_off() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = finished(&app, &ann, &ben, json!({"variant": "hare-and-hounds", "swap_roles": false})).await;

    asks(&ann, &game).await;
    let old = asks(&ben, &game).await;

    let rematch = ann.sees(old["rematch"]["game"].as_str().expect("a rematch")).await;
    assert_eq!(rematch["players"]["hounds"]["username"], "ann");
}

#[tokio::test]
async fn a_wish_for_a_rematch_can_be_taken_back() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = finished(&app, &ann, &ben, json!({"variant": "hare-and-hounds"})).await;

    asks(&ann, &game).await;
    let path = format!("/v1/games/{game}/rematch");
    assert_eq!(ann.delete(&path).await.ok(200)["rematch"]["offered_by"], json!([]));
    ann.delete(&path).await.ok(200);

    assert_eq!(asks(&ben, &game).await["rematch"], json!({"offered_by": ["hare"], "game": null}));
    app.player("eve").await.put(&path, Value::Null).await.refused(403, "not-a-player");
}

#[tokio::test]
async fn there_is_no_rematch_of_a_game_that_goes_on() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;
    let path = format!("/v1/games/{game}/rematch");

    ann.put(&path, Value::Null).await.refused(409, "game-not-over");
    ann.delete(&path).await.refused(409, "game-not-over");
}
