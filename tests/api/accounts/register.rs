use serde_json::{Value, json};

use super::{PASSWORD, bearer, credentials, sign_up, text};
use crate::harness::TestApp;

#[tokio::test]
async fn signing_up_logs_in() {
    let app = TestApp::start().await;

    let reply = app.anonymous().post("/v1/accounts", credentials("Moor-Hen", PASSWORD)).await;
    assert_eq!(reply.header("location"), Some("/v1/players/Moor-Hen"));
    let body = reply.ok(201);

    assert_eq!(body["account"]["username"], "Moor-Hen");
    assert_eq!(body["token_type"], "Bearer");
    assert_eq!(body["expires_in_ms"], 900_000);
    let me = bearer(&app, &body).get("/v1/me").await.ok(200);
    for (member, value) in body["account"].as_object().expect("an account") {
        assert_eq!(&me[member], value, "{member}");
    }
    assert_eq!(me["cooldown"], Value::Null);
}

#[tokio::test]
async fn a_name_is_taken_without_regard_to_case() {
    let app = TestApp::start().await;
    sign_up(&app, "ann").await;

    app.anonymous().post("/v1/accounts", credentials("ANN", PASSWORD)).await.refused(409, "username-taken");
}

#[tokio::test]
async fn of_two_who_want_a_name_at_once_one_gets_it() {
    let app = TestApp::start().await;
    let client = app.anonymous();
    let (one, two) = tokio::join!(
        client.post("/v1/accounts", credentials("ann", PASSWORD)),
        client.post("/v1/accounts", credentials("Ann", PASSWORD)),
    );
    let mut statuses = [one.status(), two.status()];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409]);
}

#[tokio::test]
async fn a_bad_or_reserved_name_is_refused() {
    let app = TestApp::start().await;
    for name in
        ["", "an", "abcdefghij01234567890", "a n", "ann/", "änne", "ann\0", "closed", "Guest", "ADMIN"]
    {
        let problem = app.anonymous().post("/v1/accounts", credentials(name, PASSWORD)).await;
        let problem = problem.refused(422, "invalid-fields");
        assert_eq!(problem["errors"][0]["pointer"], "/username", "{name:?}");
    }
}

#[tokio::test]
async fn a_weak_password_is_refused_with_advice() {
    let app = TestApp::start().await;
    let long = "xk2 ".repeat(33);
    for password in ["short7c", "password1", "leveretleveret", "xx-MoorHen-99-qq", "meadow\0clover-77", &long]
    {
        let problem = app.anonymous().post("/v1/accounts", credentials("moorhen", password)).await;
        let problem = problem.refused(422, "invalid-fields");
        assert_eq!(problem["errors"][0]["pointer"], "/password");
        assert!(text(&problem["errors"][0], "detail").len() > 10);
        assert!(!problem.to_string().contains(password), "the password came back");
    }
}

#[tokio::test]
async fn any_unicode_password_works_in_full_length() {
    let app = TestApp::start().await;
    let words = "møørkanin spiser 7 gulrøtter 🥕 ";
    let longest: String = words.chars().cycle().take(128).collect();
    app.anonymous().post("/v1/accounts", credentials("ann", &longest)).await.ok(201);

    app.anonymous().post("/v1/sessions", credentials("ann", &longest)).await.ok(201);
    let cut: String = longest.chars().take(127).collect();
    app.anonymous().post("/v1/sessions", credentials("ann", &cut)).await.refused(401, "wrong-credentials");
}

#[tokio::test]
async fn unknown_fields_are_refused() {
    let app = TestApp::start().await;
    for extra in ["rating", "role", "is_bot", "banned_at"] {
        let mut body = credentials("ann", PASSWORD);
        body[extra] = json!(1);
        app.anonymous().post("/v1/accounts", body).await.refused(400, "malformed-request");
    }
    sign_up(&app, "ann").await;
}

#[tokio::test]
async fn a_repeat_with_the_same_key_answers_for_the_same_account() {
    let app = TestApp::start().await;
    let client = app.anonymous().with_header("idempotency-key", "sign-up-1");
    let first = client.post("/v1/accounts", credentials("ann", PASSWORD)).await.ok(201);

    let again = client.post("/v1/accounts", credentials("ann", PASSWORD)).await.ok(201);
    assert_eq!(again["account"], first["account"]);
    assert_eq!(again["session"], first["session"]);

    let other = credentials("ann", "another-good-one-77");
    client.post("/v1/accounts", other).await.refused(409, "username-taken");
    let stranger = app.anonymous().with_header("idempotency-key", "sign-up-2");
    stranger.post("/v1/accounts", credentials("ann", PASSWORD)).await.refused(409, "username-taken");
}

#[tokio::test]
async fn a_bad_idempotency_key_is_refused() {
    let app = TestApp::start().await;
    for key in ["two words", &"k".repeat(101)] {
        let client = app.anonymous().with_header("idempotency-key", key);
        client.post("/v1/accounts", credentials("ann", PASSWORD)).await.refused(400, "malformed-request");
    }
}

#[tokio::test]
async fn sign_ups_from_one_address_are_limited() {
    let app = TestApp::start_with(|settings| settings.rate_limits = "on".to_owned()).await;
    for n in 0..20 {
        let weak = credentials(&format!("ann{n}"), "weak");
        app.anonymous().post("/v1/accounts", weak).await.refused(422, "invalid-fields");
    }

    let reply = app.anonymous().post("/v1/accounts", credentials("ann", PASSWORD)).await;
    assert!(reply.header("retry-after").is_some());
    let problem = reply.refused(429, "too-many-requests");
    assert!(problem["retry_after_ms"].as_u64().is_some_and(|millis| millis > 0));
}
