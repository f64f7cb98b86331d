use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Client, Contract, Operation, TestApp, operations};

const CHECKED_IN: &str = include_str!("../../openapi/v1.json");

/// A path that an operation could have.
fn some_path(operation: &Operation) -> String {
    operation
        .path
        .split('/')
        .map(|part| match part {
            "{game_id}" | "{challenge_id}" | "{id}" => "0199f3a0-5c1e-7b3a-9d2e-6a1f0c4b8e21",
            "{ply}" => "1",
            "{pool}" | "{variant}" => "hare-and-hounds",
            part if part.starts_with('{') => "somebody",
            part => part,
        })
        .collect::<Vec<_>>()
        .join("/")
}

fn needs_token(operation: &Operation) -> bool {
    let ways_in = operation.spec["security"].as_array().expect("every operation says who may ask");
    !ways_in.contains(&json!({}))
}

#[test]
fn the_document_in_the_repository_is_current() {
    assert!(
        CHECKED_IN == leveret::http::document::json(),
        "openapi/v1.json is not what the code says: run `cargo run -- openapi > openapi/v1.json`"
    );
}

#[test]
fn the_document_says_what_it_is_and_who_may_ask() {
    let document = Contract::document();
    assert!(document["openapi"].as_str().is_some_and(|version| version.starts_with("3.1")));
    assert_eq!(document["info"]["title"], "Leveret");
    assert_eq!(document["servers"], json!([{"url": "/"}]));
    assert_eq!(document["components"]["securitySchemes"]["bearer"]["scheme"], "bearer");
}

#[test]
fn every_operation_is_described() {
    let tags: BTreeSet<&str> = Contract::document()["tags"]
        .as_array()
        .expect("there are tags")
        .iter()
        .filter(|tag| tag["description"].is_string())
        .filter_map(|tag| tag["name"].as_str())
        .collect();
    let mut ids = BTreeSet::new();
    for Operation { method, path, spec, .. } in operations() {
        let id = spec["operationId"].as_str().unwrap_or_else(|| panic!("{method} {path} has no id"));
        assert!(ids.insert(id), "two operations are named {id}");
        assert!(spec["summary"].as_str().is_some_and(|text| !text.is_empty()), "{id} has no summary");
        let own = spec["tags"].as_array().unwrap_or_else(|| panic!("{id} has no tag"));
        assert_eq!(own.len(), 1, "{id} has not one tag: {own:?}");
        assert!(own.iter().all(|tag| tags.contains(tag.as_str().unwrap_or_default())), "{id}: {own:?}");
        for parameter in spec["parameters"].as_array().into_iter().flatten() {
            assert!(parameter["description"].is_string(), "{id} does not describe {}", parameter["name"]);
        }
        let answers = spec["responses"].as_object().expect("there are answers");
        assert!(answers.keys().any(|status| status.starts_with('2')), "{id} never succeeds");
        for (status, answer) in answers {
            let description = answer["description"].as_str().unwrap_or_default();
            assert!(!description.is_empty(), "{id} does not describe {status}");
            let fails = status.starts_with('4') || status.starts_with('5');
            assert_eq!(fails, answer["content"]["application/problem+json"].is_object(), "{id} {status}");
        }
    }
}

/// Every request body has an example, in the body or in each of its members, and the example is a valid one.
#[test]
fn every_body_has_an_example() {
    let document = Contract::document();
    for Operation { spec, .. } in operations() {
        let Some(content) = spec["requestBody"]["content"].as_object() else { continue };
        for (kind, content) in content {
            let schema = &content["schema"];
            let reference = schema["$ref"].as_str().map(|reference| reference.trim_start_matches('#'));
            let schema = reference.and_then(|pointer| document.pointer(pointer)).unwrap_or(schema);
            let has = |value: &Value| ["example", "examples"].iter().any(|key| !value[key].is_null());
            let members = schema["properties"].as_object();
            let is_told = has(content) || has(schema) || members.is_some_and(|all| all.values().all(has));
            assert!(is_told, "{} has no example of its {kind} body", spec["operationId"]);

            let mut whole = schema.clone();
            whole["components"] = json!({"schemas": document["components"]["schemas"]});
            let validator = jsonschema::validator_for(&whole).expect("the schema is one");
            for example in [&schema["example"], &content["example"]].into_iter().filter(|it| !it.is_null()) {
                assert!(validator.is_valid(example), "{}: {example}", spec["operationId"]);
            }
        }
    }
}

#[test]
fn every_schema_is_one() {
    let schemas = Contract::document()["components"]["schemas"].as_object().expect("there are schemas");
    for (name, schema) in schemas {
        assert!(jsonschema::draft202012::meta::is_valid(schema), "{name} is no schema: {schema}");
    }
}

/// Nothing in the document points to what is not there.
#[test]
fn every_reference_leads_somewhere() {
    fn visit(value: &Value, document: &Value) {
        match value {
            Value::Object(map) => {
                if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
                    let found = document.pointer(reference.trim_start_matches('#'));
                    assert!(found.is_some(), "{reference} leads nowhere");
                }
                map.values().for_each(|value| visit(value, document));
            }
            Value::Array(items) => items.iter().for_each(|value| visit(value, document)),
            _ => {}
        }
    }
    let document = Contract::document();
    visit(document, document);
}

/// Who has no token, or a bad one, is told so before anything is said about the body.
#[tokio::test]
async fn every_secured_operation_guards_itself() {
    let app = TestApp::start().await;
    let guarded = operations().iter().filter(|operation| needs_token(operation)).collect::<Vec<_>>();
    assert!(guarded.len() > 10, "{}", guarded.len());
    for operation in guarded {
        let malformed = || Some(("application/json", b"{\"a\":".to_vec()));
        let (method, path) = (&operation.method, some_path(operation));
        app.anonymous().send_raw(method.clone(), &path, malformed()).await.refused(401, "token-missing");
        let bad = app.with_token("not.a.token");
        let reply = bad.send_raw(method.clone(), &path, malformed()).await;
        reply.refused(401, "token-invalid");
        assert!(reply.header("www-authenticate").is_some(), "{reply}");
        let basic = app.anonymous().with_header("authorization", "Basic YW5uOmJlbg==");
        basic.send_raw(method.clone(), &path, malformed()).await.refused(401, "token-invalid");
    }
}

/// Whatever is documented is served: no documented path answers that there is no such path or method. The reverse,
/// that whatever is served is documented, every other test checks with every answer.
#[tokio::test]
async fn every_documented_operation_is_served() {
    let app = TestApp::start().await;
    // Who asks for JSON is answered, where others would be sent a stream without an end.
    let ann = app.player("ann").await.with_header("accept", "application/json");
    for operation in operations() {
        let reply = ann.send_raw(operation.method.clone(), &some_path(operation), None).await;
        assert_ne!(reply.status, 405, "{reply}");
        if reply.status == 404 {
            let detail = reply.json()["detail"].as_str().unwrap_or_default().to_owned();
            assert!(!detail.starts_with("nothing is at"), "{reply}");
        }
    }
}

#[tokio::test]
async fn the_document_is_served() {
    let app = TestApp::start().await;
    let reply = app.anonymous().get("/openapi.json").await;
    assert_eq!(&reply.ok(200), Contract::document());

    let etag = reply.header("etag").expect("an ETag").to_owned();
    let again = app.anonymous().with_header("if-none-match", &etag).get("/openapi.json").await;
    assert_eq!((again.status, again.body.len()), (304, 0));
}

/// Every file that the page asks for comes from this server.
#[tokio::test]
async fn the_reference_needs_nothing_from_outside() {
    let app = TestApp::start().await;
    let anyone = app.anonymous();
    assert_eq!(anyone.get("/docs").await.header("location"), Some("/docs/"));

    let page = anyone.get("/docs/").await;
    assert_eq!(page.header("content-type"), Some("text/html"), "{page}");
    let files = asked_for(&page.text());
    assert!(files.len() >= 4, "{files:?}");
    for file in files {
        assert!(!file.contains("//"), "the page loads {file}");
        let file = read(&anyone, &format!("/docs/{}", file.trim_start_matches("./"))).await;
        assert!(!file.is_empty());
    }

    let start = read(&anyone, "/docs/swagger-initializer.js").await;
    assert!(start.contains("\"/openapi.json\""), "{start}");
    assert!(start.contains("\"validatorUrl\": \"none\""), "{start}");
    assert!(!start.contains("://"), "{start}");
    for style in ["/docs/swagger-ui.css", "/docs/index.css"] {
        let style = read(&anyone, style).await;
        assert!(!style.contains("@import") && !style.contains("url(http"), "a style loads from outside");
    }
    anyone.get("/docs/nothing.js").await.refused(404, "not-found");
    anyone.post("/docs/", Value::Null).await.refused(405, "method-not-allowed");
}

async fn read(client: &Client, path: &str) -> String {
    let reply = client.get(path).await;
    assert_eq!(reply.status, 200, "{reply}");
    reply.text()
}

/// What the attributes `src` and `href` of a page name.
fn asked_for(page: &str) -> Vec<String> {
    let attributes = ["src=\"", "href=\""].into_iter();
    let named = attributes.flat_map(|attribute| page.split(attribute).skip(1));
    named.filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
}

#[tokio::test]
async fn the_process_tells_how_it_is() {
    let app = TestApp::start().await;
    let anyone = app.anonymous();
    assert_eq!(anyone.get("/healthz").await.ok(200)["status"], "ok");
    assert_eq!(anyone.get("/readyz").await.ok(200)["status"], "ok");
    let numbers = anyone.get("/metrics").await;
    assert!(numbers.text().contains("leveret_request_seconds_bucket"), "{numbers}");
    assert!(numbers.text().contains("route=\"/healthz\""), "{numbers}");
    assert!(numbers.text().contains("leveret_db_connections"), "{numbers}");
}

#[tokio::test]
async fn a_server_that_lacks_a_migration_is_not_ready() {
    let app = TestApp::start().await;
    let last = "(select max(version) from _sqlx_migrations)";
    for undo in
        [format!("delete from _sqlx_migrations where version = {last}"), "drop table _sqlx_migrations".into()]
    {
        sqlx::query(sqlx::AssertSqlSafe(undo)).execute(&app.db).await.expect("it can be undone");
        let reply = app.anonymous().get("/readyz").await;
        reply.refused(503, "unavailable");
        assert_eq!(reply.header("retry-after"), Some("1"));
        app.anonymous().get("/healthz").await.ok(200);
    }
}

#[tokio::test]
async fn a_head_is_a_get_without_its_body() {
    let app = TestApp::start().await;
    let anyone = app.anonymous();
    for operation in operations().iter().filter(|operation| operation.method == Method::GET) {
        let path = some_path(operation);
        let (get, head) = (anyone.get(&path).await, anyone.head(&path).await);
        assert_eq!((head.status, head.body.len()), (get.status, 0), "{path}");
        assert_eq!(head.header("content-type"), get.header("content-type"), "{path}");
        assert_eq!(head.header("etag"), get.header("etag"), "{path}");
    }
}
