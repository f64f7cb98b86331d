//! People who use the service, and the answers that they get.

use std::{fmt, net::SocketAddr, ops::Deref};

use reqwest::{Method, header::HeaderMap};
use serde_json::{Value, json};

use super::contract::Contract;

/// Whoever sends requests.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    address: SocketAddr,
    headers: Vec<(String, String)>,
}

impl Client {
    /// Somebody who says nothing of themselves.
    pub fn new(http: reqwest::Client, address: SocketAddr) -> Client {
        Client { http, address, headers: Vec::new() }
    }

    /// The same client, sending one more header, or another value of it.
    #[must_use]
    pub fn with_header(&self, name: &str, value: &str) -> Client {
        let mut client = self.clone();
        client.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        client.headers.push((name.to_owned(), value.to_owned()));
        client
    }

    /// The same client at another address, as a proxy tells it.
    #[must_use]
    #[expect(
        clippy::wrong_self_convention,
        reason = "the person acting is the receiver: ann, from this address"
    )]
    pub fn from_address(&self, address: &str) -> Client {
        self.with_header("x-forwarded-for", address)
    }

    /// Reads.
    pub async fn get(&self, path: &str) -> Reply {
        self.send(Method::GET, path, Value::Null).await
    }

    /// Asks for the headers only.
    pub async fn head(&self, path: &str) -> Reply {
        self.send(Method::HEAD, path, Value::Null).await
    }

    /// Puts; null stands for no body.
    pub async fn put(&self, path: &str, body: Value) -> Reply {
        self.send(Method::PUT, path, body).await
    }

    /// Posts; null stands for no body.
    pub async fn post(&self, path: &str, body: Value) -> Reply {
        self.send(Method::POST, path, body).await
    }

    /// Changes; null stands for no body.
    pub async fn patch(&self, path: &str, body: Value) -> Reply {
        self.send(Method::PATCH, path, body).await
    }

    /// Deletes.
    pub async fn delete(&self, path: &str) -> Reply {
        self.send(Method::DELETE, path, Value::Null).await
    }

    /// Deletes with a body.
    pub async fn delete_with(&self, path: &str, body: Value) -> Reply {
        self.send(Method::DELETE, path, body).await
    }

    /// Sends JSON; null stands for no body.
    pub async fn send(&self, method: Method, path: &str, body: Value) -> Reply {
        if body.is_null() {
            self.send_raw(method, path, None).await
        } else {
            self.send_raw(method, path, Some(("application/json", body.to_string().into_bytes()))).await
        }
    }

    /// Asks, and leaves the body unread.
    pub async fn open(&self, path: &str) -> reqwest::Response {
        let mut request = self.http.get(format!("http://{}{path}", self.address));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        request.send().await.unwrap_or_else(|err| panic!("{path} got no answer: {err}"))
    }

    /// Where the server is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends whatever is given: a content type and bytes, or nothing.
    pub async fn send_raw(&self, method: Method, path: &str, body: Option<(&str, Vec<u8>)>) -> Reply {
        let mut request = self.http.request(method.clone(), format!("http://{}{path}", self.address));
        if let Some((content_type, bytes)) = body {
            request = request.body(bytes);
            if !content_type.is_empty() {
                request = request.header("content-type", content_type);
            }
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let mut response =
            request.send().await.unwrap_or_else(|err| panic!("{method} {path} got no answer: {err}"));
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let is_stream =
            headers.get("content-type").is_some_and(|kind| kind.as_bytes() == b"text/event-stream");
        // A stream has no end: its first piece says enough.
        let body = if is_stream {
            response.chunk().await.map(Option::unwrap_or_default)
        } else {
            response.bytes().await
        };
        let body = body.unwrap_or_else(|err| panic!("{method} {path} broke off: {err}"));
        let reply = Reply { method, path: path.to_owned(), status, headers, body: body.to_vec() };
        Contract::check(&reply);
        reply
    }
}

/// Somebody with an account.
#[derive(Clone)]
pub struct Player {
    /// The username.
    pub name: String,
    /// The access token that it sends.
    pub access_token: String,
    /// The refresh token of its session.
    pub refresh_token: String,
    /// Whoever sends the requests.
    pub client: Client,
}

impl Deref for Player {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Player {
    /// The same player, sending one more header, or another value of it.
    #[must_use]
    pub fn with_header(&self, name: &str, value: &str) -> Player {
        Player { client: self.client.with_header(name, value), ..self.clone() }
    }

    /// Plays a move at a ply.
    pub async fn plays(&self, game: &str, ply: u16, text: &str) -> Reply {
        self.put(&format!("/v1/games/{game}/moves/{ply}"), json!({"move": text})).await
    }

    /// Looks at a game.
    pub async fn sees(&self, game: &str) -> Value {
        self.get(&format!("/v1/games/{game}")).await.ok(200)
    }
}

/// An answer. Whoever reads it says what it should be.
#[derive(Clone)]
pub struct Reply {
    /// How it was asked.
    pub method: Method,
    /// What it was asked, with the query.
    pub path: String,
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, as it came.
    pub body: Vec<u8>,
}

impl Reply {
    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// A header, if it is there and text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON; null if there is none.
    #[track_caller]
    pub fn json(&self) -> Value {
        if self.body.is_empty() {
            return Value::Null;
        }
        serde_json::from_slice(&self.body).unwrap_or_else(|err| panic!("{self} is not JSON: {err}"))
    }

    /// The body of a success: null if there is none, and a text if it is not JSON.
    #[track_caller]
    pub fn ok(&self, status: u16) -> Value {
        self.ok_any(&[status])
    }

    /// The body of a success of one of some kinds.
    #[track_caller]
    pub fn ok_any(&self, statuses: &[u16]) -> Value {
        assert!(statuses.contains(&self.status), "expected {statuses:?}, but {self}");
        if self.is_json() || self.body.is_empty() { self.json() } else { self.text().into() }
    }

    /// Whether the body is one JSON value.
    pub fn is_json(&self) -> bool {
        matches!(self.content_type(), "application/json" | "application/problem+json")
    }

    /// The content type without its parameters.
    pub fn content_type(&self) -> &str {
        self.header("content-type").and_then(|text| text.split(';').next()).unwrap_or_default().trim()
    }

    /// The problem that it is.
    #[track_caller]
    pub fn refused(&self, status: u16, name: &str) -> Value {
        assert_eq!(self.status, status, "expected {status} {name}, but {self}");
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self}");
        let problem = self.json();
        assert_eq!(problem["type"], format!("/problems/{name}"), "{self}");
        assert_eq!(problem["status"], status, "{self}");
        assert_eq!(problem["instance"].as_str(), self.header("x-request-id"), "{self}");
        let is_told = |member: &str| problem[member].as_str().is_some_and(|text| !text.is_empty());
        assert!(is_told("instance") && is_told("title") && is_told("detail"), "{self}");
        problem
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} was answered with {}: {}", self.method, self.path, self.status, self.text())
    }
}
