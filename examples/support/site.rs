//! The service as its clients see it: two processes behind one list of addresses, and accounts on them.

use std::{
    fmt,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use rand::{RngExt, rngs::StdRng};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::process::Outcome;

/// For how long an access token is used. It is good for twice as long.
pub const TOKEN_USED_FOR: Duration = Duration::from_secs(30);

/// Some processes that serve the same database.
pub struct Site {
    http: reqwest::Client,
    addresses: Vec<String>,
    /// How many requests were sent.
    pub requests: AtomicU64,
    /// How many of them were refused as they had to be.
    pub refused: AtomicU64,
}

/// What came back.
pub struct Answer {
    request: String,
    /// The HTTP status.
    pub status: u16,
    /// The body, null if there is none.
    pub body: Value,
}

/// One of the processes.
#[derive(Clone, Copy)]
pub struct Process(usize);

impl Site {
    /// A site at these addresses.
    pub fn new(addresses: Vec<String>) -> Outcome<Site> {
        let http = reqwest::Client::builder().timeout(Duration::from_secs(30)).no_proxy().build()?;
        Ok(Site { http, addresses, requests: AtomicU64::new(0), refused: AtomicU64::new(0) })
    }

    /// Any of the processes.
    pub fn any(&self, rng: &mut StdRng) -> Process {
        Process(rng.random_range(0..self.addresses.len()))
    }

    /// Another one than this.
    pub fn other(&self, process: Process) -> Process {
        Process((process.0 + 1) % self.addresses.len())
    }

    /// Sends a request to one process, with the account's token if one is given.
    pub async fn send(
        &self,
        to: Process,
        account: Option<&Account>,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Outcome<Answer> {
        let mut request = self.http.request(method.clone(), format!("http://{}{path}", self.addresses[to.0]));
        if let Some(account) = account {
            request = request.bearer_auth(account.token(self, to).await?);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        self.requests.fetch_add(1, Ordering::Relaxed);
        let response = request.send().await?;
        let status = response.status().as_u16();
        let problem =
            response.headers().get("content-type").is_some_and(|kind| kind == "application/problem+json");
        let text = response.text().await?;
        let body = if text.is_empty() { Value::Null } else { serde_json::from_str(&text)? };
        let answer = Answer { request: format!("{method} {path}"), status, body };
        if (status >= 400) != problem {
            return Err(format!("not a problem document, or one without a problem: {answer}").into());
        }
        Ok(answer)
    }

    /// The answer to what must be refused: of this status, and with this problem.
    pub fn refused(&self, answer: &Answer, status: u16, problem: &str) -> Outcome<()> {
        if answer.is_refusal(status, problem) {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        Err(format!("expected {status} {problem}, got {answer}").into())
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} to {}", self.status, self.body, self.request)
    }
}

impl Answer {
    /// The body, if the status is this one.
    pub fn body(self, status: u16) -> Outcome<Value> {
        if self.status == status {
            Ok(self.body)
        } else {
            Err(format!("expected {status}, got {self}").into())
        }
    }

    /// Whether it is this problem.
    pub fn is_refusal(&self, status: u16, problem: &str) -> bool {
        self.status == status && self.body["type"] == format!("/problems/{problem}")
    }
}

/// Somebody who plays.
pub struct Account {
    /// The username.
    pub name: String,
    /// Whether a ticket of theirs is looked after.
    pub waits: AtomicBool,
    tokens: Mutex<Tokens>,
}

struct Tokens {
    access: String,
    refresh: String,
    since: Instant,
}

impl Tokens {
    fn read(body: &Value) -> Outcome<Tokens> {
        let text = |name: &str| body[name].as_str().map(str::to_owned).ok_or("an answer without tokens");
        Ok(Tokens { access: text("access_token")?, refresh: text("refresh_token")?, since: Instant::now() })
    }
}

impl Account {
    /// Signs up.
    pub async fn sign_up(site: &Site, rng: &mut StdRng, name: String) -> Outcome<Account> {
        let body = json!({"username": name, "password": format!("{:032x}", rng.random::<u128>())});
        let answer =
            site.send(site.any(rng), None, Method::POST, "/v1/accounts", Some(&body)).await?.body(201)?;
        let tokens = Mutex::new(Tokens::read(&answer)?);
        Ok(Account { name, waits: AtomicBool::new(false), tokens })
    }

    /// An access token that is good for a while, refreshed when the last one is not.
    async fn token(&self, site: &Site, to: Process) -> Outcome<String> {
        let mut tokens = self.tokens.lock().await;
        if tokens.since.elapsed() > TOKEN_USED_FOR {
            let body = json!({"refresh_token": tokens.refresh});
            let answer = Box::pin(site.send(to, None, Method::POST, "/v1/sessions/refresh", Some(&body)));
            *tokens = Tokens::read(&answer.await?.body(200)?)?;
        }
        Ok(tokens.access.clone())
    }
}
