//! Clients that write down every request before they send it, and every answer after it came.

use std::{
    fmt,
    fs::File,
    io::Write,
    path::Path,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use rand::{RngExt, SeedableRng, rngs::StdRng};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

use super::process::Outcome;

/// How long one attempt may take before its outcome counts as unknown.
const ATTEMPT: Duration = Duration::from_secs(10);

/// For how long the same is asked again until there is an answer.
const PATIENCE: Duration = Duration::from_secs(90);

/// For how long an access token is used. It is good for five minutes more.
const TOKEN_USED_FOR: Duration = Duration::from_secs(600);

/// What a client asks for. Sent again, each of these is the same request.
#[derive(Clone, Debug)]
pub enum Act {
    /// Challenges somebody.
    Challenge {
        /// What makes a repeat the same.
        key: String,
        /// The wish.
        wish: Value,
    },
    /// Accepts a challenge.
    Accept {
        /// Its id.
        challenge: String,
    },
    /// Plays a move.
    Move {
        /// The game.
        game: String,
        /// Its ply.
        ply: u64,
        /// The move.
        text: String,
    },
    /// Offers a draw or accepts one.
    OfferDraw(String),
    /// Declines a draw or takes the offer back.
    ClearDraw(String),
    /// Resigns.
    Resign(String),
    /// Calls a game off.
    Abort(String),
    /// Wants a rematch.
    WantRematch(String),
    /// Wants no rematch any more.
    WithdrawRematch(String),
    /// Reads a game.
    Read(String),
}

impl Act {
    /// The game that it is about.
    pub fn game(&self) -> Option<&str> {
        match self {
            Act::Challenge { .. } | Act::Accept { .. } => None,
            Act::Move { game, .. }
            | Act::OfferDraw(game)
            | Act::ClearDraw(game)
            | Act::Resign(game)
            | Act::Abort(game)
            | Act::WantRematch(game)
            | Act::WithdrawRematch(game)
            | Act::Read(game) => Some(game),
        }
    }

    fn method_and_path(&self) -> (Method, String) {
        let of = |game: &String, what: &str| format!("/v1/games/{game}{what}");
        match self {
            Act::Challenge { .. } => (Method::POST, "/v1/challenges".to_owned()),
            Act::Accept { challenge } => (Method::POST, format!("/v1/challenges/{challenge}/accept")),
            Act::Move { game, ply, .. } => (Method::PUT, of(game, &format!("/moves/{ply}"))),
            Act::OfferDraw(game) => (Method::PUT, of(game, "/draw-offer")),
            Act::ClearDraw(game) => (Method::DELETE, of(game, "/draw-offer")),
            Act::Resign(game) => (Method::POST, of(game, "/resignation")),
            Act::Abort(game) => (Method::POST, of(game, "/abort")),
            Act::WantRematch(game) => (Method::PUT, of(game, "/rematch")),
            Act::WithdrawRematch(game) => (Method::DELETE, of(game, "/rematch")),
            Act::Read(game) => (Method::GET, of(game, "")),
        }
    }

    fn put_into(&self, request: RequestBuilder) -> RequestBuilder {
        match self {
            Act::Challenge { key, wish } => request.header("idempotency-key", key).json(wish),
            Act::Move { text, .. } => request.json(&json!({"move": text})),
            _ => request,
        }
    }
}

/// What came back in the end.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: Value,
}

impl Answer {
    /// Whether what was asked for is done.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// A request in the journal.
#[derive(Debug)]
pub struct Record {
    /// Who asked.
    pub who: String,
    /// For what.
    pub act: Act,
    /// How often it was sent.
    pub attempts: u64,
    /// When it was first sent, in the order of all that happened.
    pub sent: u64,
    /// When it was answered, in the same order, and how; nothing when its outcome stayed unknown.
    pub answered: Option<(u64, u16, Told)>,
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (method, path) = self.act.method_and_path();
        write!(f, "{} asked {} times for {method} {path} ({:?})", self.who, self.attempts, self.act)?;
        match &self.answered {
            Some((_, status, _)) => write!(f, " and was answered {status}"),
            None => write!(f, " and got no answer"),
        }
    }
}

/// What an answer has told.
#[derive(Debug)]
pub struct Told {
    /// The id of what it shows.
    pub id: String,
    /// The state of a game: see [`state_of`].
    pub state: String,
}

/// All that an answer tells about the log of a game, as one text.
pub fn state_of(game: &Value) -> String {
    let rematch = &game["rematch"];
    json!([
        game["moves"],
        game["draw_offer"],
        game["status"],
        game["result"],
        game["reason"],
        rematch["offered_by"],
        rematch["game"]
    ])
    .to_string()
}

/// The journal of all clients: in memory, and as lines in a file.
pub struct Journal {
    records: Mutex<Vec<Record>>,
    file: Mutex<File>,
    order: AtomicU64,
    began: Instant,
    /// Requests that went out, repeats included.
    pub sent: AtomicU64,
    /// Those of them whose outcome was not told: the connection broke, it took too long, or 503.
    pub unknown: AtomicU64,
    /// Those of them that could not be sent, since nobody listened.
    pub unheard: AtomicU64,
    faults: Mutex<Vec<String>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Journal {
    /// An empty one, with a file to be made.
    pub fn new(file: &Path) -> Outcome<Journal> {
        Ok(Journal {
            records: Mutex::default(),
            file: Mutex::new(File::create_new(file)?),
            order: AtomicU64::new(0),
            began: Instant::now(),
            sent: AtomicU64::new(0),
            unknown: AtomicU64::new(0),
            unheard: AtomicU64::new(0),
            faults: Mutex::default(),
        })
    }

    /// Notes something that must not be.
    pub fn fault(&self, what: impl fmt::Display) {
        let what = what.to_string();
        eprintln!("fault: {what}");
        locked(&self.faults).push(what);
    }

    /// What must not be and was.
    pub fn faults(&self) -> usize {
        locked(&self.faults).len()
    }

    /// All requests.
    pub fn records(&self) -> MutexGuard<'_, Vec<Record>> {
        locked(&self.records)
    }

    fn write(&self, mut line: Value) -> Outcome<()> {
        line["after_ms"] = json!(self.began.elapsed().as_secs_f64() * 1e3);
        Ok(locked(&self.file).write_all(format!("{line}\n").as_bytes())?)
    }

    /// Writes down that something is about to be sent for the first time.
    fn begin(&self, who: &str, act: &Act) -> Outcome<usize> {
        let sent = self.order.fetch_add(1, Ordering::SeqCst);
        let mut records = locked(&self.records);
        let number = records.len();
        records.push(Record { who: who.to_owned(), act: act.clone(), attempts: 0, sent, answered: None });
        drop(records);
        self.write(json!({"request": number, "who": who, "act": format!("{act:?}")}))?;
        Ok(number)
    }

    fn attempt(&self, number: usize, address: &str) -> Outcome<()> {
        self.write(json!({"request": number, "sent_to": address}))?;
        locked(&self.records)[number].attempts += 1;
        self.sent.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn unknown(&self, number: usize, why: &str) -> Outcome<()> {
        self.unknown.fetch_add(1, Ordering::Relaxed);
        self.write(json!({"request": number, "unknown": why}))
    }

    fn answered(&self, number: usize, answer: &Answer) -> Outcome<()> {
        self.write(json!({"request": number, "status": answer.status, "body": answer.body}))?;
        let id = answer.body["id"].as_str().unwrap_or_default().to_owned();
        let told = Told { id, state: state_of(&answer.body) };
        let at = self.order.fetch_add(1, Ordering::SeqCst);
        locked(&self.records)[number].answered = Some((at, answer.status, told));
        Ok(())
    }
}

/// The processes that clients may ask.
pub struct Addresses(Mutex<Vec<String>>);

impl Addresses {
    /// These.
    pub fn new(addresses: Vec<String>) -> Addresses {
        Addresses(Mutex::new(addresses))
    }

    /// Any of them.
    pub fn any(&self, rng: &mut StdRng) -> String {
        let addresses = locked(&self.0);
        addresses[rng.random_range(0..addresses.len())].clone()
    }

    /// Nobody shall ask this one any more.
    pub fn leave(&self, address: &str) {
        locked(&self.0).retain(|other| other != address);
    }
}

/// Whether the same is asked again until it is answered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Persistence {
    /// Until it is answered.
    Repeat,
    /// Only once: if the outcome is unknown, it stays so.
    Once,
}

/// Somebody who plays, and journals.
pub struct Client {
    /// The username.
    pub name: String,
    password: String,
    http: reqwest::Client,
    token: tokio::sync::Mutex<(String, Instant)>,
}

impl Client {
    /// Signs up at a server that is well.
    pub async fn sign_up(address: &str, name: String, rng: &mut StdRng) -> Outcome<Client> {
        let http = reqwest::Client::builder().timeout(ATTEMPT).no_proxy().build()?;
        let password = format!("{:032x}", rng.random::<u128>());
        let body = json!({"username": name, "password": password});
        let response = http.post(format!("http://{address}/v1/accounts")).json(&body).send().await?;
        let token = access_token(response).await?.ok_or("nobody can sign up")?;
        Ok(Client { name, password, http, token: tokio::sync::Mutex::new((token, Instant::now())) })
    }

    /// An access token; after a while a new one, by logging in.
    pub async fn token(&self, addresses: &Addresses, rng: &mut StdRng) -> Outcome<String> {
        let mut token = self.token.lock().await;
        if token.1.elapsed() > TOKEN_USED_FOR {
            let url = format!("http://{}/v1/sessions", addresses.any(rng));
            let body = json!({"username": self.name, "password": self.password});
            // If nobody answers just now, the old one is good for a while.
            if let Ok(response) = self.http.post(url).json(&body).send().await
                && let Some(fresh) = access_token(response).await?
            {
                *token = (fresh, Instant::now());
            }
        }
        Ok(token.0.clone())
    }

    /// Asks for something, and again where the outcome is unknown. Nothing when it stays unknown.
    pub async fn ask(
        &self,
        journal: &Journal,
        addresses: &Addresses,
        rng: &mut StdRng,
        act: Act,
        persistence: Persistence,
    ) -> Outcome<Option<Answer>> {
        let (method, path) = act.method_and_path();
        let number = journal.begin(&self.name, &act)?;
        let began = Instant::now();
        loop {
            let address = addresses.any(rng);
            let token = self.token(addresses, rng).await?;
            let request = self.http.request(method.clone(), format!("http://{address}{path}"));
            let request = act.put_into(request.bearer_auth(token));
            journal.attempt(number, &address)?;
            match complete(request).await {
                Ok((503, retry_after, _)) => {
                    if !retry_after {
                        journal.fault(format!("503 to {method} {path} does not say when to come back"));
                    }
                    journal.unknown(number, "503")?;
                }
                Ok((status, _, body)) if status >= 500 => {
                    journal.fault(format!("{status} to {method} {path}: {body}"));
                    journal.unknown(number, "a fault")?;
                }
                Ok((status, _, body)) => {
                    let answer = Answer { status, body };
                    journal.answered(number, &answer)?;
                    return Ok(Some(answer));
                }
                Err(err) if err.is_connect() => {
                    journal.unheard.fetch_add(1, Ordering::Relaxed);
                }
                Err(err) => journal.unknown(number, &err.to_string())?,
            }
            if persistence == Persistence::Once {
                return Ok(None);
            }
            if began.elapsed() > PATIENCE {
                return Err(format!("no answer to {method} {path} for {PATIENCE:?}").into());
            }
            tokio::time::sleep(Duration::from_millis(rng.random_range(10..150))).await;
        }
    }

    /// Opens a stream after a number.
    pub async fn open(&self, url: &str, token: Option<&str>, after: i32) -> reqwest::Result<Response> {
        // A stream has no end: the time limit is for what is between two pieces of it.
        let request = self.http.get(url).timeout(Duration::from_secs(3600)).header("last-event-id", after);
        let request = match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        request.header("accept", "text/event-stream").send().await
    }

    /// Two things at once that do not draw from the same dice.
    pub fn fork(rng: &mut StdRng) -> StdRng {
        StdRng::seed_from_u64(rng.random())
    }
}

/// The status, whether it says when to come back, and the whole body.
async fn complete(request: RequestBuilder) -> reqwest::Result<(u16, bool, Value)> {
    let response = request.send().await?;
    let (status, retry_after) = (response.status().as_u16(), response.headers().contains_key("retry-after"));
    let text = response.text().await?;
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Ok((status, retry_after, body))
}

async fn access_token(response: Response) -> Outcome<Option<String>> {
    let body: Value = serde_json::from_str(&response.text().await.unwrap_or_default()).unwrap_or_default();
    Ok(body["access_token"].as_str().map(str::to_owned))
}
