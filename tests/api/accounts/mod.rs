//! Accounts and sessions, from outside.

mod close;
mod guests;
mod log_in;
mod password;
mod profile;
mod refresh;
mod register;
mod sessions;
mod tokens_forged;

use serde_json::{Value, json};

use crate::harness::{Client, TestApp};

/// A password that is good enough.
const PASSWORD: &str = "correct-horse-battery";

/// Signs somebody up; the answer has `account`, `access_token`, `refresh_token`.
async fn sign_up(app: &TestApp, name: &str) -> Value {
    app.anonymous().post("/v1/accounts", credentials(name, PASSWORD)).await.ok(201)
}

/// Logs somebody in from one more place.
async fn log_in(app: &TestApp, name: &str) -> Value {
    app.anonymous().post("/v1/sessions", credentials(name, PASSWORD)).await.ok(201)
}

fn credentials(username: &str, password: &str) -> Value {
    json!({"username": username, "password": password})
}

/// The client that an answer with tokens makes.
fn bearer(app: &TestApp, tokens: &Value) -> Client {
    app.with_token(text(tokens, "access_token"))
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_else(|| panic!("no text {member} in {value}"))
}
