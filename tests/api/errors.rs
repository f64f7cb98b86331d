use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Client, Contract, Operation, TestApp, operations};

const SIGN_UP: &str = "/v1/accounts";

async fn posts(client: &Client, content_type: &str, body: impl Into<Vec<u8>>) -> crate::harness::Reply {
    client.send_raw(Method::POST, SIGN_UP, Some((content_type, body.into()))).await
}

#[tokio::test]
async fn an_unknown_address_is_not_found() {
    let app = TestApp::start().await;
    for path in
        ["/", "/v1", "/v1/", "/v1/nothing", "/v1/variants/", "/v2/variants", "/v1/games/x/y/z", "//", "/%00"]
    {
        app.anonymous().get(path).await.refused(404, "not-found");
        app.anonymous().post(path, json!({})).await.refused(404, "not-found");
    }
}

#[tokio::test]
async fn an_id_that_is_none_is_not_found() {
    let app = TestApp::start().await;
    let ann = app.player("ann").await;
    for id in ["1", "not-an-id", "0199f3a0-5c1e-7b3a-9d2e", "%00", "%F0%9F%90%87"] {
        ann.get(&format!("/v1/games/{id}")).await.refused(404, "not-found");
        ann.plays(id, 1, "b1-c1").await.refused(404, "not-found");
    }
}

#[tokio::test]
async fn a_wrong_method_is_told_the_right_ones() {
    let app = TestApp::start().await;
    let ann = app.player("ann").await;
    for (path, methods) in
        [("/v1/variants", "GET, HEAD"), (SIGN_UP, "POST"), ("/v1/me", "GET, HEAD, PATCH, DELETE")]
    {
        for method in [Method::PUT, Method::TRACE] {
            let reply = ann.send_raw(method, path, None).await;
            reply.refused(405, "method-not-allowed");
            assert_eq!(reply.header("allow"), Some(methods), "{path}");
        }
        let options = ann.send_raw(Method::OPTIONS, path, None).await;
        assert_eq!((options.status, options.header("allow")), (204, Some(methods)), "{options}");
    }
}

#[tokio::test]
async fn a_body_that_cannot_be_read_is_malformed() {
    let app = TestApp::start().await;
    let deep = "[".repeat(5000);
    for body in
        ["", "{", "null", "[]", "\"text\"", "{\"username\": 1, \"password\": []}", "{}", "\u{0}", &deep]
    {
        posts(&app.anonymous(), "application/json", body).await.refused(400, "malformed-request");
    }
    posts(&app.anonymous(), "application/json", vec![0xff, 0xfe, b'{'])
        .await
        .refused(400, "malformed-request");
    let unknown = json!({"username": "ann", "password": "correct-horse-battery", "admin": true});
    app.anonymous().post(SIGN_UP, unknown).await.refused(400, "malformed-request");
}

#[tokio::test]
async fn a_body_of_another_type_is_refused() {
    let app = TestApp::start().await;
    for kind in ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "nonsense"] {
        posts(&app.anonymous(), kind, "{}").await.refused(415, "unsupported-media-type");
    }
    let with_charset = "application/json; charset=utf-8";
    posts(&app.anonymous(), with_charset, "{").await.refused(400, "malformed-request");
}

#[tokio::test]
async fn a_large_body_is_refused() {
    let app = TestApp::start().await;
    let large = json!({"username": "ann", "password": "x".repeat(20_000)});
    app.anonymous().post(SIGN_UP, large).await.refused(413, "payload-too-large");
    let fits = json!({"username": "ann", "password": "x".repeat(10_000)});
    app.anonymous().post(SIGN_UP, fits).await.refused(422, "invalid-fields");
}

#[tokio::test]
async fn a_zero_character_never_reaches_the_database() {
    let app = TestApp::start().await;
    let ann = app.player("ann").await;
    let name = json!({"username": "an\u{0}n", "password": "correct-horse-battery"});
    app.anonymous().post(SIGN_UP, name).await.refused(422, "invalid-fields");
    ann.patch("/v1/me", json!({"bio": "a\u{0}b"})).await.refused(422, "invalid-fields");
    for path in ["/v1/players/%00", "/v1/pools/%00", "/v1/players/a%00b"] {
        ann.get(path).await.refused(404, "not-found");
    }
    for query in ["player=%00", "cursor=%00", "pool=%00", "opponent=a%00"] {
        let reply = ann.get(&format!("/v1/games?{query}")).await;
        assert!(reply.status < 500, "{reply}");
    }
}

#[tokio::test]
async fn a_page_has_1_to_200_items() {
    let app = TestApp::start().await;
    let ann = app.player("ann").await;
    let paged = operations().iter().filter(|operation| {
        let parameters = operation.spec["parameters"].as_array();
        operation.path.matches('{').count() == 0
            && parameters.is_some_and(|all| all.iter().any(|parameter| parameter["name"] == "limit"))
    });
    let mut count = 0;
    for Operation { path, .. } in paged {
        for limit in ["0", "201", "-1", "70000", "many", ""] {
            ann.get(&format!("{path}?limit={limit}")).await.refused(400, "malformed-request");
        }
        for limit in [1, 200] {
            ann.get(&format!("{path}?limit={limit}")).await.ok(200);
        }
        for cursor in ["x", "%00", "%F0%9F%90%87", "AAAA", "MDE5OWYzYTA"] {
            ann.get(&format!("{path}?cursor={cursor}")).await.refused(400, "malformed-request");
        }
        count += 1;
    }
    assert!(count > 0, "no list has pages");
}

#[tokio::test]
async fn every_problem_is_explained_at_its_type() {
    let app = TestApp::start().await;
    let all = app.anonymous().get("/problems").await.ok(200);
    let all = all["items"].as_array().expect("a list").clone();
    let named =
        Contract::document()["components"]["schemas"]["Problem"]["properties"]["type"]["enum"].clone();
    assert_eq!(
        all.iter().map(|entry| entry["type"].clone()).collect::<Vec<_>>(),
        *named.as_array().expect("types")
    );
    for entry in all {
        let kind = entry["type"].as_str().expect("a type");
        assert_eq!(app.anonymous().get(kind).await.ok(200), entry);
    }
    app.anonymous().get("/problems/none").await.refused(404, "not-found");
}

/// No entry of the catalogue is a dead letter: each can come from somewhere.
#[test]
fn every_problem_belongs_to_an_operation() {
    let mut named: Vec<&str> = operations()
        .iter()
        .flat_map(|operation| operation.spec["x-problems"].as_array().expect("a list"))
        .filter_map(Value::as_str)
        .chain(["method-not-allowed"])
        .collect();
    named.sort_unstable();
    named.dedup();
    let mut known: Vec<&str> = leveret::http::error::PROBLEMS.iter().map(|problem| problem.name).collect();
    known.sort_unstable();
    assert_eq!(named, known);
}

#[tokio::test]
async fn any_page_may_call_and_read_the_errors_too() {
    let app = TestApp::start().await;
    let page = app.anonymous().with_header("origin", "https://hare.example");
    let preflight = page
        .with_header("access-control-request-method", "PUT")
        .with_header("access-control-request-headers", "authorization,content-type,idempotency-key");
    let reply = preflight.send(Method::OPTIONS, "/v1/games/x/moves/1", Value::Null).await;
    assert_eq!((reply.status, reply.header("access-control-allow-origin")), (200, Some("*")), "{reply}");
    let told =
        |reply: &crate::harness::Reply, name: &str| reply.header(name).unwrap_or_default().to_lowercase();
    assert!(told(&reply, "access-control-allow-methods").contains("put"), "{:?}", reply.headers);
    assert!(told(&reply, "access-control-allow-headers").contains("idempotency-key"), "{:?}", reply.headers);
    assert_eq!(reply.header("access-control-allow-credentials"), None);

    for (path, status) in
        [("/v1/variants", 200), ("/v1/nothing", 404), ("/v1/me", 401), ("/v1/accounts", 405)]
    {
        let reply = page.get(path).await;
        assert_eq!(
            (reply.status, reply.header("access-control-allow-origin")),
            (status, Some("*")),
            "{reply}"
        );
        assert!(
            told(&reply, "access-control-expose-headers").contains("x-request-id"),
            "{:?}",
            reply.headers
        );
    }
}

#[tokio::test]
async fn budgets_are_told_and_moves_have_their_own() {
    let app = TestApp::start_with(|settings| settings.rate_limits = "on".to_owned()).await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;
    let reply = ann.get("/v1/me").await;
    assert_eq!(reply.header("ratelimit-policy"), Some("\"reads\";q=1200;w=60"));
    assert!(
        reply.header("ratelimit").is_some_and(|text| text.starts_with("\"reads\";r=11")),
        "{:?}",
        reply.headers
    );

    let mut spent = 0;
    let refused = loop {
        let reply = ann.delete("/v1/pools/hare-and-hounds/ticket").await;
        if reply.status == 429 {
            break reply;
        }
        spent += 1;
        assert!(spent < 1000, "writes have no end");
    };
    let problem = refused.refused(429, "too-many-requests");
    assert!(problem["retry_after_ms"].as_u64().is_some_and(|millis| millis > 0));
    assert!(refused.header("retry-after").is_some());
    ann.plays(&game, 1, "b1-c1").await.ok(201);
    assert_eq!(ben.sees(&game).await["ply"], 1);
}

#[tokio::test]
async fn the_database_being_away_is_not_told_as_our_mistake() {
    let app = TestApp::start().await;
    let ann = app.player("ann").await;
    sqlx::query("select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()")
        .execute(&app.db)
        .await
        .expect("the connections can be ended");
    for _ in 0..20 {
        let reply = ann.get("/v1/me").await;
        if reply.status != 200 {
            reply.refused(503, "unavailable");
        }
    }
    ann.get("/v1/me").await.ok(200);
}

/// A small xorshift: the same garbage every time.
struct Garbage(u64);

impl Garbage {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits fit") % below
    }

    fn text(&mut self) -> String {
        const TEXTS: &[&str] = &[
            "",
            "ann",
            "ben",
            "hare-and-hounds",
            "catch-the-hare",
            "b1-c1",
            "hounds",
            "random",
            "0",
            "-1",
            "1",
            "99999999999999999999",
            "0199f3a0-5c1e-7b3a-9d2e-6a1f0c4b8e21",
            "\u{0}",
            "a\u{0}b",
            "🐇",
            "'; --",
            "%",
            "..",
            "2026-12-01T10:00:00Z",
            "2026-13-01",
            "-271821-04-20T00:00:00Z",
            "true",
            "null",
            "\u{202e}",
            "\\",
            "%00",
            "thirty-moves",
            "correct-horse-battery",
        ];
        if self.next(20) == 0 {
            "x".repeat(self.next(3000))
        } else {
            TEXTS[self.next(TEXTS.len())].to_owned()
        }
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.next(if depth == 0 { 6 } else { 8 }) {
            0 => Value::Null,
            1 => self.text().into(),
            2 => (self.next(2) == 0).into(),
            3 => [0, 1, -1, 12, 14, 255, 65_536, i64::MAX, i64::MIN][self.next(9)].into(),
            4 => 1e300.into(),
            5 => self.text().into(),
            6 => (0..self.next(4)).map(|_| self.value(depth - 1)).collect(),
            _ => (0..self.next(4))
                .map(|_| (self.text(), self.value(depth - 1)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
        }
    }

    /// An object with the members that a schema knows, some with values that it takes, some with garbage.
    fn body(&mut self, schema: &Value) -> Value {
        let document = Contract::document();
        let reference = schema["$ref"].as_str().map(|reference| reference.trim_start_matches('#'));
        let schema = reference.and_then(|pointer| document.pointer(pointer)).unwrap_or(schema);
        let mut body = serde_json::Map::new();
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            let example = schema["example"].get(name).or_else(|| member.get("example"));
            match (self.next(3), example) {
                (0, _) => {}
                (1, Some(example)) => drop(body.insert(name.clone(), example.clone())),
                _ => drop(body.insert(name.clone(), self.value(2))),
            }
        }
        if self.next(6) == 0 {
            body.insert(self.text(), self.value(1));
        }
        body.into()
    }
}

fn encoded(text: &str) -> String {
    text.bytes()
        .map(
            |byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            },
        )
        .collect()
}

/// Whatever comes, no operation fails on it: the contract checks that each answer is a documented one.
#[tokio::test]
async fn garbage_is_never_our_mistake() {
    let app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;
    let mut garbage = Garbage(0x9e37_79b9_7f4a_7c15);
    let survivable = operations().iter().filter(|operation| {
        // These end the session or the account that asks.
        let id = operation.spec["operationId"].as_str().unwrap_or_default().to_lowercase().replace('_', "");
        !["endallsessions", "endsession", "closeaccount"].contains(&id.as_str())
    });
    for operation in survivable.collect::<Vec<_>>() {
        for _ in 0..25 {
            let path: Vec<String> = operation
                .path
                .split('/')
                .map(|part| match part {
                    "{game_id}" if garbage.next(2) == 0 => game.clone(),
                    part if part.starts_with('{') => encoded(&garbage.text()),
                    part => part.to_owned(),
                })
                .collect();
            let mut path = path.join("/");
            let queries = operation.spec["parameters"].as_array().into_iter().flatten();
            let queries: Vec<&str> = queries
                .filter(|parameter| parameter["in"] == "query")
                .filter_map(|parameter| parameter["name"].as_str())
                .collect();
            for (position, name) in
                queries.into_iter().filter(|_| garbage.next(3) == 0).collect::<Vec<_>>().iter().enumerate()
            {
                path.push_str(&format!(
                    "{}{name}={}",
                    if position == 0 { "?" } else { "&" },
                    encoded(&garbage.text())
                ));
            }
            let schema = &operation.spec["requestBody"]["content"]["application/json"]["schema"];
            let body = if schema.is_null() { Value::Null } else { garbage.body(schema) };
            let client = match garbage.next(3) {
                0 => app.anonymous(),
                1 => ann.client.clone(),
                _ => ben.client.clone(),
            };
            let client =
                if garbage.next(4) == 0 { client.with_header("idempotency-key", "k") } else { client };
            let reply = client.send(operation.method.clone(), &path, body.clone()).await;
            assert!(reply.status < 500, "{body} made {reply}");
            if reply.status >= 400 {
                let name = reply.json()["type"].as_str().unwrap_or_default().replace("/problems/", "");
                reply.refused(reply.status, &name);
            }
        }
    }
}
