//! A server of one's own.

use std::{
    net::{SocketAddr, TcpListener},
    sync::{Arc, LazyLock},
    thread,
};

use chrono::{DateTime, TimeDelta, Utc};
use clap::Parser;
use leveret::{
    app::{App, Options},
    config::ServeSettings,
    db,
    wall_clock::WallClock,
};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Column, Connection, PgConnection, PgPool, Row};
use tokio::runtime::Runtime;

use super::{
    database::{TestDatabase, fresh_database},
    player::{Client, Player},
};

/// What must hold for every database, whatever was played on it. A query that finds a row has found a mistake.
const AUDIT: &str = include_str!("../../audit.sql");

/// When every test begins.
const BEGIN: &str = "2026-12-01T10:00:00Z";

/// The password of everybody.
const PASSWORD: &str = "correct-horse-battery";

/// How many connections a server of a test may hold.
const POOL_SIZE: u32 = 44;

static HTTP: LazyLock<reqwest::Client> = LazyLock::new(http_client);

/// Connections are not kept: one that belongs to another test's runtime would be dead, and one left open would hold
/// up the stop of its server.
fn http_client() -> reqwest::Client {
    reqwest::Client::builder()
        .pool_max_idle_per_host(0)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
        .expect("the settings of the client are fine")
}

#[derive(Parser)]
struct Defaults {
    #[command(flatten)]
    serve: ServeSettings,
}

/// The settings of `leveret serve`, but without limits, and with few threads.
fn settings() -> ServeSettings {
    let mut settings = Defaults::parse_from(["leveret"]).serve;
    settings.rate_limits = "off".to_owned();
    settings.workers = Some(2);
    settings
}

/// A running server, its database, and its clock.
pub struct TestApp {
    /// The database, for tests that look behind the scenes.
    pub db: PgPool,
    /// What time it is: moved by hand.
    pub clock: WallClock,
    /// The settings that the server was started with.
    pub settings: ServeSettings,
    address: SocketAddr,
    database: Arc<TestDatabase>,
    server: Option<Server>,
}

/// The server lives in a runtime of its own, so that it can be stopped when the test's runtime is busy.
struct Server {
    runtime: Runtime,
    app: Arc<App>,
}

impl TestApp {
    /// Starts a server on a fresh database.
    pub async fn start() -> TestApp {
        TestApp::start_with(|_| {}).await
    }

    /// Starts a server on a fresh database, with other settings.
    pub async fn start_with(change: impl FnOnce(&mut ServeSettings)) -> TestApp {
        let begin: DateTime<Utc> = BEGIN.parse().expect("an instant");
        let mut settings = settings();
        change(&mut settings);
        let database = Arc::new(fresh_database().await);
        TestApp::start_on(database, WallClock::by_hand(begin), settings).await
    }

    /// Starts one more server on the same database, with the same clock.
    pub async fn second_process(&self) -> TestApp {
        TestApp::start_on(self.database.clone(), self.clock.clone(), self.settings.clone()).await
    }

    async fn start_on(database: Arc<TestDatabase>, clock: WallClock, settings: ServeSettings) -> TestApp {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime can be made");
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let (url, serve, hand) = (database.url.clone(), settings.clone(), clock.clone());
        let starting = runtime.spawn(async move {
            let db = db::connect(&url, POOL_SIZE).await.expect("the database answers");
            let options =
                Options { db, clock: hand, serve, listener, tables: None, tasks: false, signals: false };
            App::start(options).await.expect("the server starts")
        });
        let app = Arc::new(starting.await.expect("the start does not panic"));
        let db = db::connect(&database.url, 4).await.expect("the database answers");
        let address = app.address();
        TestApp { db, clock, settings, address, database, server: Some(Server { runtime, app }) }
    }

    /// Somebody without a token.
    pub fn anonymous(&self) -> Client {
        Client::new(HTTP.clone(), self.address)
    }

    /// Somebody with this token, whatever it is worth.
    pub fn with_token(&self, token: &str) -> Client {
        self.anonymous().with_header("authorization", &format!("Bearer {token}"))
    }

    /// Signs somebody up.
    pub async fn player(&self, name: &str) -> Player {
        let credentials = json!({"username": name, "password": PASSWORD});
        let account = self.anonymous().post("/v1/accounts", credentials).await.ok(201);
        let token = |member: &str| account[member].as_str().expect("a token").to_owned();
        let (access_token, refresh_token) = (token("access_token"), token("refresh_token"));
        let client = self.with_token(&access_token);
        Player { name: name.to_owned(), access_token, refresh_token, client }
    }

    /// Somebody who plays without having signed up.
    pub async fn guest(&self) -> Player {
        let guest = self.anonymous().post("/v1/guests", Value::Null).await.ok(201);
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let (access_token, refresh_token) = (text(&guest["access_token"]), text(&guest["refresh_token"]));
        let client = self.with_token(&access_token);
        Player { name: text(&guest["account"]["username"]), access_token, refresh_token, client }
    }

    /// Somebody who has an account, in a new session.
    pub async fn log_in(&self, name: &str) -> Player {
        let credentials = json!({"username": name, "password": PASSWORD});
        let session = self.anonymous().post("/v1/sessions", credentials).await.ok(201);
        let token = |member: &str| session[member].as_str().expect("a token").to_owned();
        let (access_token, refresh_token) = (token("access_token"), token("refresh_token"));
        let client = self.with_token(&access_token);
        Player { name: name.to_owned(), access_token, refresh_token, client }
    }

    /// The same player, who now talks to this server.
    pub fn as_player(&self, player: &Player) -> Player {
        Player { client: self.with_token(&player.access_token), ..player.clone() }
    }

    /// Two players, ann and ben.
    pub async fn two_players(&self) -> (Player, Player) {
        (self.player("ann").await, self.player("ben").await)
    }

    /// A casual game by the default rules of a variant; answers its id.
    pub async fn game(&self, hounds: &Player, hare: &Player, variant: &str) -> String {
        self.game_by(hounds, hare, json!({"variant": variant})).await
    }

    /// A casual game on the terms of a challenge; answers its id.
    pub async fn game_by(&self, hounds: &Player, hare: &Player, mut terms: Value) -> String {
        terms["role"] = "hounds".into();
        terms["opponent"] = hare.name.clone().into();
        let challenge = hounds.post("/v1/challenges", terms).await.ok(201);
        let id = challenge["id"].as_str().expect("a challenge has an id");
        let accepted = hare.post(&format!("/v1/challenges/{id}/accept"), Value::Null).await;
        let game = accepted.ok_any(&[200, 201]);
        game["id"].as_str().expect("a game has an id").to_owned()
    }

    /// Takes one step of the matchmaker; answers how many games it made.
    pub async fn match_tickets(&self) -> usize {
        let Server { runtime, app } = self.server();
        let app = app.clone();
        let step = runtime.spawn(async move { app.match_tickets().await });
        step.await.expect("the matchmaker does not panic").expect("the matchmaker's database works")
    }

    /// Lets the computer do what it has to do; answers in how many games it did something.
    pub async fn let_computer_play(&self) -> usize {
        let Server { runtime, app } = self.server();
        let app = app.clone();
        let step = runtime.handle().clone();
        let play =
            runtime.spawn_blocking(move || step.block_on(async move { app.let_computer_play().await }));
        play.await.expect("the computer does not panic").expect("the computer's database works")
    }

    /// Writes who has left and who is back into the logs of live games; answers in how many games somebody did.
    pub async fn tell_presence(&self) -> usize {
        let Server { runtime, app } = self.server();
        let app = app.clone();
        let step = runtime.spawn(async move { app.tell_presence().await });
        step.await.expect("telling does not panic").expect("the database works")
    }

    /// Computes the accuracies of the games that have ended; answers of how many.
    pub async fn analyse(&self) -> usize {
        let Server { runtime, app } = self.server();
        let app = app.clone();
        let step = runtime.spawn(async move { app.analyse().await });
        step.await.expect("the analysis does not panic").expect("the analysis' database works")
    }

    /// A game against the computer; answers its snapshot.
    pub async fn game_with_computer(&self, player: &Player, level: u8, mut terms: Value) -> Value {
        terms["opponent"] = json!({"computer": level});
        player.post("/v1/games", terms).await.ok(201)
    }

    /// Lets time pass while the service lives: moves the clock, and the last sign of life with it.
    pub async fn db_time_passes(&self, by: TimeDelta) {
        self.clock.advance(by);
        sqlx::query("update sign_of_life set at = $1")
            .bind(self.clock.now())
            .execute(&self.db)
            .await
            .expect("the sign of life can be written");
    }

    /// Lets the server look once whose time has run out; answers how many games it ended.
    pub async fn run_flags(&self) -> usize {
        let Server { runtime, app } = self.server();
        let app = app.clone();
        let step = runtime.spawn(async move { app.run_flags().await });
        step.await.expect("the look does not panic").expect("the database works")
    }

    /// Compares the open streams with the database, and sends each its heartbeat.
    pub async fn beat(&self) {
        let Server { runtime, app } = self.server();
        let app = app.clone();
        runtime.spawn(async move { app.beat().await }).await.expect("a beat does not panic");
    }

    /// How many streams and waiting polls are open.
    pub fn open_streams(&self) -> u32 {
        self.server().app.open_streams()
    }

    /// Throws away what players were told long ago; answers how many events.
    pub async fn sweep_events(&self) -> u64 {
        let Server { runtime, app } = self.server();
        let app = app.clone();
        let sweep = runtime.spawn(async move { app.sweep_events().await });
        sweep.await.expect("sweeping does not panic").expect("the database works")
    }

    /// Removes guests that have not been seen for long; answers how many.
    pub async fn sweep_guests(&self) -> usize {
        let Server { runtime, app } = self.server();
        let app = app.clone();
        let step = runtime.handle().clone();
        let sweep = runtime.spawn_blocking(move || step.block_on(async move { app.sweep_guests().await }));
        sweep.await.expect("sweeping does not panic").expect("the database works")
    }

    /// Stops the server as a signal does, and waits until it has stopped. Tests go on without it.
    pub async fn stop(&mut self) {
        let Some(Server { runtime, app }) = self.server.take() else { return };
        let stopping = runtime.spawn(async move {
            Arc::try_unwrap(app).unwrap_or_else(|_| panic!("nobody else has it")).stop().await
        });
        stopping.await.expect("stopping does not panic").expect("the server stops well");
        runtime.shutdown_background();
    }

    /// Lets the server look which sessions ended elsewhere.
    pub async fn look_again(&self) {
        let Server { runtime, app } = self.server();
        let app = app.clone();
        let look = runtime.spawn(async move { app.look_again().await });
        look.await.expect("looking does not panic").expect("the database works");
    }

    fn server(&self) -> &Server {
        self.server.as_ref().expect("only drop takes the server away")
    }
}

impl Drop for TestApp {
    /// Stops the server, and audits the database if the test went well.
    fn drop(&mut self) {
        let Some(Server { runtime, app }) = self.server.take() else { return };
        let (url, went_well) = (self.database.url.clone(), !thread::panicking());
        let stopping = thread::spawn(move || {
            let found = runtime.block_on(async move {
                if let Ok(app) = Arc::try_unwrap(app) {
                    app.stop().await.expect("the server stops well");
                }
                if went_well { db_audit(&url).await } else { Vec::new() }
            });
            runtime.shutdown_background();
            found
        });
        let found = stopping.join();
        if went_well {
            let found = found.expect("the audit does not panic");
            assert!(found.is_empty(), "the audit found:\n{}", found.join("\n"));
        }
    }
}

/// What the audit finds wrong, a line each.
async fn db_audit(url: &str) -> Vec<String> {
    let mut db = PgConnection::connect(url).await.expect("the database answers");
    let mut found = Vec::new();
    for section in AUDIT.split("-- name:").skip(1) {
        let (name, query) = section.split_once('\n').expect("a query follows its name");
        let query = query.trim().trim_end_matches(';');
        let query = format!("select row_to_json(finding)::text as finding from ({query}) finding");
        let rows = sqlx::query(AssertSqlSafe(query)).fetch_all(&mut db).await;
        let rows = rows.unwrap_or_else(|err| panic!("the audit {} cannot be run: {err}", name.trim()));
        for row in rows {
            let finding: String = row.get(row.columns()[0].name());
            found.push(format!("{}: {finding}", name.trim()));
        }
    }
    let _ = db.close().await;
    found
}
