use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::TestApp;

async fn variant(name: &str) -> Value {
    let app = TestApp::start().await;
    app.anonymous().get(&format!("/v1/variants/{name}")).await.ok(200)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("not a list: {value}"))
}

#[tokio::test]
async fn every_variant_is_listed_as_it_is_shown() {
    let app = TestApp::start().await;
    let listed = app.anonymous().get("/v1/variants").await.ok(200);
    assert_eq!(listed["next"], Value::Null);
    let ids: Vec<&str> = list(&listed["items"]).iter().filter_map(|variant| variant["id"].as_str()).collect();
    assert_eq!(ids, ["hare-and-hounds", "catch-the-hare"]);
    for item in list(&listed["items"]) {
        let id = item["id"].as_str().expect("an id");
        assert_eq!(&app.anonymous().get(&format!("/v1/variants/{id}")).await.ok(200), item);
    }
}

#[tokio::test]
async fn an_unknown_variant_is_not_found() {
    let app = TestApp::start().await;
    for name in ["chess", "Hare-And-Hounds", "%00", "hare-and-hounds%20"] {
        app.anonymous().get(&format!("/v1/variants/{name}")).await.refused(404, "not-found");
    }
}

/// The board of the design: eleven points, twenty-two lines.
#[tokio::test]
async fn hare_and_hounds_can_be_drawn() {
    let shown = variant("hare-and-hounds").await;
    let board = &shown["board"];
    assert_eq!((list(&board["points"]).len(), list(&board["lines"]).len()), (11, 22));
    assert_eq!(board["points"][0], json!({"name": "a2", "x": 0, "y": 1}));
    assert!(list(&board["lines"]).contains(&json!(["b1", "c2"])));
    assert!(!list(&board["lines"]).contains(&json!(["b2", "c1"])));
    assert_eq!(shown["boards"], json!([{"rules": {}, "board": board}]));
    assert_eq!(shown["role_names"], json!({"hounds": "Hounds", "hare": "Hare"}));
    assert_eq!(shown["notation"]["position"], "a2b1b3/e2 hounds");
    let starts: Vec<&Value> = list(&shown["starts"]).iter().map(|start| &start["rules"]).collect();
    assert_eq!(starts, [&json!({}), &json!({"hare_start": "centre"}), &json!({"hare_start": "random"})]);
    assert_eq!(list(&shown["starts"][2]["positions"]).len(), 4);
}

#[tokio::test]
async fn catch_the_hare_can_be_drawn_on_each_of_its_boards() {
    let shown = variant("catch-the-hare").await;
    let boards: Vec<(&Value, usize)> = list(&shown["boards"])
        .iter()
        .map(|choice| (&choice["rules"]["board"], list(&choice["board"]["lines"]).len()))
        .collect();
    let expected =
        [(json!("alquerque"), 40 + 16), (json!("long-diagonals"), 40 + 8), (json!("no-diagonals"), 40)];
    assert_eq!(boards, expected.iter().map(|(name, lines)| (name, *lines)).collect::<Vec<_>>());
    assert_eq!(shown["role_names"], json!({"hounds": "Hunters", "hare": "Hare"}));
    let hunters = list(&shown["house_rules"]).iter().find(|rule| rule["name"] == "hunters").expect("hunters");
    assert_eq!(
        (&hunters["type"], &hunters["min"], &hunters["max"]),
        (&json!("number"), &json!(9), &json!(14))
    );
    assert_eq!(hunters["default"], 12);
}

/// A client that knows nothing but this can draw it: lines join points, defaults are allowed, texts are there.
#[tokio::test]
async fn a_description_is_whole() {
    for name in ["hare-and-hounds", "catch-the-hare"] {
        let shown = variant(name).await;
        for choice in list(&shown["boards"]) {
            let points = list(&choice["board"]["points"]).iter().map(|point| &point["name"]);
            let points: BTreeSet<String> = points.map(ToString::to_string).collect();
            for line in list(&choice["board"]["lines"]) {
                assert!(list(line).iter().all(|end| points.contains(&end.to_string())), "{line}");
            }
        }
        for rule in list(&shown["house_rules"]) {
            assert!(rule["explanation"].as_str().is_some_and(|text| text.len() > 10), "{rule}");
            if rule["type"] == "choice" {
                let values = list(&rule["values"]);
                assert!(values.iter().any(|choice| choice["value"] == rule["default"]), "{rule}");
                assert!(values.iter().all(|choice| choice["explanation"].as_str() > Some("")), "{rule}");
            }
        }
        for end in list(&shown["ends"]) {
            assert!(
                ["hounds", "hare", "draw"].contains(&end["result"].as_str().unwrap_or_default()),
                "{end}"
            );
            assert!(end["explanation"].as_str().is_some_and(|text| text.len() > 10), "{end}");
        }
        assert!(!list(&shown["notation"]["moves"]).is_empty());
        assert!(!list(&shown["rulings"]).is_empty());
    }
}

#[tokio::test]
async fn what_never_changes_is_not_sent_twice() {
    let app = TestApp::start().await;
    for path in ["/v1/variants", "/v1/variants/catch-the-hare", "/problems", "/problems/illegal-move"] {
        let first = app.anonymous().get(path).await;
        let etag = first.header("etag").unwrap_or_else(|| panic!("{path} has no ETag")).to_owned();
        assert!(first.header("cache-control").is_some_and(|text| text.contains("max-age")), "{path}");
        for sent in [etag.clone(), format!("\"other\", W/{etag}"), "*".to_owned()] {
            let again = app.anonymous().with_header("if-none-match", &sent).get(path).await;
            assert_eq!((again.status, again.body.len()), (304, 0), "{path} {sent}");
            assert_eq!(again.header("etag"), Some(etag.as_str()));
        }
        app.anonymous().with_header("if-none-match", "\"other\"").get(path).await.ok(200);
    }
}
