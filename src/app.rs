//! Wires everything: the server, its tasks, and how both stop.

use std::{io, net::SocketAddr, net::TcpListener, time::Duration};

use actix_cors::Cors;
use actix_web::{
    App as Actix, Error, HttpServer,
    dev::{ServerHandle, ServiceFactory, ServiceRequest, ServiceResponse},
    http::Method,
    middleware::from_fn,
    web::Data,
};
use sqlx::{
    PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use tokio::task::JoinHandle;
use tracing_actix_web::TracingLogger;
use utoipa_actix_web::AppExt;

use crate::{
    accounts::{self, Accounts, access::AccessTokens},
    config::ServeSettings,
    dice::roll,
    events::{Events, bus, player_log},
    games::{self, HotGames, LivePositions, analysis, computer::ComputerPlayer, downtime, flags},
    http::{
        self,
        finish::{RequestSpan, admit, finish},
        limits::Limits,
        live::{Live, Slots, limit_stalling},
        lobby::PublicUrl,
        operations,
    },
    lobby::{matchmaker::Matchmaker, presence::Presence},
    solver::Solver,
    tables::{self, Background},
    wall_clock::{Timestamp, WallClock},
};

/// How many games that are being played a process remembers.
const HOT_GAMES: u64 = 20_000;
/// How often a process looks which sessions ended elsewhere.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// How often it tells who has left a game and who is back.
const TELL_PRESENCE: Duration = Duration::from_secs(2);
/// How often it sums up its measurements.
const COUNT: Duration = Duration::from_secs(5);
/// How often it throws away what is no longer needed.
const SWEEP: Duration = Duration::from_secs(600);
/// How often streams have a heartbeat, and are compared with the database.
const BEAT: Duration = Duration::from_secs(10);
/// How long a start waits for the bus.
const BUS_WITHIN: Duration = Duration::from_secs(3);
/// How long what is in flight may take when it stops, in seconds.
const DRAIN_S: u64 = 8;

/// What a server is started from.
pub struct Options {
    /// The database, migrated.
    pub db: PgPool,
    /// What time it is.
    pub clock: WallClock,
    /// The settings.
    pub serve: ServeSettings,
    /// Where to listen.
    pub listener: TcpListener,
    /// Where it has the tables of Catch the Hare; without, it has none.
    pub tables: Option<tables::Settings>,
    /// Whether its tasks run by themselves. Tests take their steps by hand.
    pub tasks: bool,
    /// Whether SIGTERM and SIGINT stop it.
    pub signals: bool,
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The accounts' settings or keys.
    #[error(transparent)]
    Accounts(#[from] accounts::StartError),
    /// The database.
    #[error("the database does not answer: {0}")]
    Database(#[from] sqlx::Error),
    /// The socket.
    #[error("cannot listen: {0}")]
    Listen(#[from] io::Error),
}

/// A running server.
pub struct App {
    address: SocketAddr,
    db: PgPool,
    clock: WallClock,
    tokens: AccessTokens,
    matchmaker: Matchmaker,
    computer: ComputerPlayer,
    solver: Solver,
    events: Events,
    slots: Slots,
    handle: ServerHandle,
    server: JoinHandle<io::Result<()>>,
    tasks: Vec<JoinHandle<()>>,
    tables: Option<Background>,
}

impl App {
    /// Starts a server and its tasks.
    ///
    /// # Errors
    ///
    /// When the settings make no sense, the database fails, or nothing can listen there.
    pub async fn start(options: Options) -> Result<App, StartError> {
        let Options { db, clock, serve, listener, tables, tasks, signals } = options;
        let address = listener.local_addr()?;
        // Before anybody's clock is looked at: the time that the service was down is not charged.
        if downtime::show_sign_of_life(&db, clock.now()).await? > 0 {
            downtime::stay_alive(&db, clock.now()).await?;
        }
        let limited = serve.rate_limits == "on";
        let mut accounts = Accounts::start(&db, &serve.accounts, clock.now(), roll(), roll()).await?;
        if !limited {
            accounts = accounts.without_limits();
        }
        if serve.trust_proxy {
            accounts = accounts.behind_proxy();
        }
        let tokens = accounts.tokens().clone();
        let presence = Presence::default();
        let events = Events::default();
        let matchmaker = Matchmaker::new(presence.clone(), events.clone());
        let limits = Data::new(Limits::new(limited));
        let public_url = serve.public_url.clone().unwrap_or_else(|| format!("http://{address}"));

        let solver = Solver::new();
        let hot = HotGames::new(HOT_GAMES);
        let computer = ComputerPlayer::new(solver.clone(), hot.clone(), events.clone());

        let workers = serve.workers.map_or_else(cores, usize::from);
        let slots = Slots::new(serve.streams.clone());
        let stalled_ms = serve.streams.stalled_seconds.saturating_mul(1000);
        let (wall_clock, access) = (Data::new(clock.clone()), Data::new(tokens.clone()));
        let (presence, public_url) = (Data::new(presence), Data::new(PublicUrl(public_url)));
        let announced = Data::new(events.clone());
        let live = Live {
            events: announced.clone(),
            clock: wall_clock.clone(),
            tokens: access.clone(),
            presence: presence.clone(),
            url: public_url.clone(),
        };
        let shared = Shared {
            workers_db: WorkersDb::new(&db, workers),
            clock: wall_clock,
            accounts: Data::new(accounts),
            tokens: access,
            hot: Data::new(hot),
            computer: Data::new(computer.clone()),
            live_positions: Data::new(LivePositions::default()),
            solver: Data::new(solver.clone()),
            events: announced,
            live: Data::new(live),
            slots: Data::new(slots.clone()),
            presence,
            matchmaker: Data::new(matchmaker.clone()),
            limits: limits.clone(),
            public_url,
        };
        operations::recorder();
        let tables = tables.map(|tables| Background::start(tables, solver.clone())).transpose()?;
        let server = HttpServer::new(move || {
            // Inside out: who asks and how often, then what browsers need, then what every answer has.
            shared
                .clone()
                .into_app()
                .wrap(from_fn(admit))
                .wrap(cors())
                .wrap(from_fn(finish))
                .wrap(TracingLogger::<RequestSpan>::new())
        })
        .client_request_timeout(Duration::from_secs(10))
        .workers(workers)
        .keep_alive(Duration::from_secs(75))
        .on_connect(move |connection, _| limit_stalling(connection, stalled_ms))
        .disable_signals()
        .shutdown_timeout(DRAIN_S);
        let server = server.listen(listener)?.run();
        let handle = server.handle();
        let server = tokio::spawn(server);

        let mut running = vec![tokio::spawn(bus::run(serve.bus, db.clone(), events.clone(), roll()))];
        if signals {
            running.push(tokio::spawn(stop_on_signal(events.clone(), handle.clone())));
        }
        if tasks {
            running.extend([
                tokio::spawn(matchmaker.clone().run(db.clone(), clock.clone())),
                actix_web::rt::spawn(computer.clone().run(db.clone(), clock.clone(), roll)),
                tokio::spawn(analysis::keep_analysing(db.clone(), solver.clone())),
                tokio::spawn(keep_telling_presence(db.clone(), events.clone(), clock.clone())),
                tokio::spawn(flags::run(db.clone(), events.clone(), clock.clone())),
                tokio::spawn(keep_looking(tokens.clone(), db.clone(), clock.clone())),
                tokio::spawn(keep_counting()),
                actix_web::rt::spawn(keep_sweeping(limits, db.clone(), events.clone(), clock.clone())),
                tokio::spawn(keep_beating(events.clone(), db.clone())),
            ]);
        }
        if tokio::time::timeout(BUS_WITHIN, events.outbox().bus_answered()).await.is_err() {
            tracing::warn!("serving without the bus until it answers");
        }
        Ok(App {
            address,
            db,
            clock,
            tokens,
            matchmaker,
            computer,
            solver,
            tables,
            events,
            slots,
            handle,
            server,
            tasks: running,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it knows about positions.
    pub fn solver(&self) -> &Solver {
        &self.solver
    }

    /// Takes one step of the matchmaker; answers how many games it made.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub async fn match_tickets(&self) -> Result<usize, sqlx::Error> {
        self.matchmaker.step(&self.db, self.clock.now(), roll).await
    }

    /// Lets the computer do what it has to do in all games; answers in how many it did something.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub async fn let_computer_play(&self) -> Result<usize, sqlx::Error> {
        self.computer.step(&self.db, &self.clock, roll).await
    }

    /// Computes the accuracies of the games that have ended; answers of how many.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub async fn analyse(&self) -> Result<usize, analysis::AnalysisError> {
        analysis::step(&self.db, &self.solver).await
    }

    /// Writes into the logs of live games who has left and who is back; answers in how many games somebody did.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub async fn tell_presence(&self) -> Result<usize, sqlx::Error> {
        games::tell_presence(&self.db, &self.events, self.clock.now()).await
    }

    /// Looks once whose time has run out, as the task does by itself; answers how many games it ended.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub async fn run_flags(&self) -> Result<usize, sqlx::Error> {
        flags::step(&self.db, &self.events, self.clock.now()).await
    }

    /// Looks which sessions ended elsewhere, as the task does by itself.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub async fn look_again(&self) -> Result<(), accounts::access::KeyError> {
        self.tokens.refresh_from(&self.db, self.clock.now()).await
    }

    /// Compares the open streams with the database and sends each its heartbeat, as the task does by itself.
    pub async fn beat(&self) {
        self.events.beat(&self.db).await;
    }

    /// How many streams and waiting polls are open.
    pub fn open_streams(&self) -> u32 {
        self.slots.taken()
    }

    /// Throws away what players were told long ago, as the task does by itself; answers how many events.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub async fn sweep_events(&self) -> Result<u64, sqlx::Error> {
        player_log::sweep(&self.db, self.clock.now()).await
    }

    /// Removes guests that have not been seen for long, as the task does by itself; answers how many.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub async fn sweep_guests(&self) -> Result<usize, sqlx::Error> {
        sweep_guests(&self.db, &self.events, self.clock.now()).await
    }

    /// Waits until a signal has stopped it and what was in flight is done.
    ///
    /// # Errors
    ///
    /// When the server failed.
    pub async fn wait(self) -> io::Result<()> {
        let outcome = self.server.await.map_err(io::Error::other)?;
        self.tasks.iter().for_each(JoinHandle::abort);
        drop(self.tables);
        self.db.close().await;
        outcome
    }

    /// Stops it and waits until what was in flight is done.
    ///
    /// # Errors
    ///
    /// When the server failed.
    pub async fn stop(self) -> io::Result<()> {
        self.events.hub().close();
        self.handle.stop(true).await;
        self.wait().await
    }
}

/// How many connections the tasks have to themselves.
const TASK_CONNECTIONS: u32 = 6;

/// How each worker comes to connections of its own. A connection belongs to the thread that opened it: one that is
/// used by another thread wakes both up for every answer, which costs a third of the moves a second.
#[derive(Clone)]
struct WorkersDb {
    pool: PgPoolOptions,
    connect: PgConnectOptions,
}

impl WorkersDb {
    fn new(db: &PgPool, workers: usize) -> WorkersDb {
        let workers = u32::try_from(workers).unwrap_or(u32::MAX).max(1);
        let left = db.options().get_max_connections().saturating_sub(TASK_CONNECTIONS);
        WorkersDb {
            pool: db.options().clone().max_connections((left / workers).max(1)),
            connect: (*db.connect_options()).clone(),
        }
    }

    /// A pool for the thread that asks. Connections are opened when they are needed.
    fn pool(self) -> PgPool {
        self.pool.connect_lazy_with(self.connect)
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// What every worker's copy of the application has in common.
#[derive(Clone)]
struct Shared {
    workers_db: WorkersDb,
    clock: Data<WallClock>,
    accounts: Data<Accounts>,
    tokens: Data<AccessTokens>,
    hot: Data<HotGames>,
    computer: Data<ComputerPlayer>,
    live_positions: Data<LivePositions>,
    solver: Data<Solver>,
    events: Data<Events>,
    live: Data<Live>,
    slots: Data<Slots>,
    presence: Data<Presence>,
    matchmaker: Data<Matchmaker>,
    limits: Data<Limits>,
    public_url: Data<PublicUrl>,
}

impl Shared {
    fn into_app(
        self,
    ) -> Actix<
        impl ServiceFactory<
            ServiceRequest,
            Config = (),
            Response = ServiceResponse,
            Error = Error,
            InitError = (),
        >,
    > {
        Actix::new()
            .app_data(Data::new(self.workers_db.pool()))
            .app_data(self.clock)
            .app_data(self.accounts)
            .app_data(self.tokens)
            .app_data(self.hot)
            .app_data(self.computer)
            .app_data(self.live_positions)
            .app_data(self.solver)
            .app_data(self.events)
            .app_data(self.live)
            .app_data(self.slots)
            .app_data(self.presence)
            .app_data(self.matchmaker)
            .app_data(self.limits)
            .app_data(self.public_url)
            .into_utoipa_app()
            .configure(http::routes)
            .into_app()
            .configure(operations::pages)
            .configure(http::defaults)
    }
}

/// Lets streams say goodbye first: an open one would hold up the stop until its time is over.
async fn stop_on_signal(events: Events, handle: ServerHandle) {
    use tokio::signal::unix::{SignalKind, signal};

    let (Ok(mut term), Ok(mut int)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        tracing::error!("cannot listen for signals");
        return;
    };
    let graceful = tokio::select! {
        _ = term.recv() => true,
        _ = int.recv() => false,
    };
    events.hub().close();
    handle.stop(graceful).await;
}

async fn keep_beating(events: Events, db: PgPool) {
    let mut pace = tokio::time::interval(BEAT);
    loop {
        pace.tick().await;
        events.beat(&db).await;
    }
}

/// Open to every page: tokens are sent by hand, never by cookies.
fn cors() -> Cors {
    Cors::default()
        .allow_any_origin()
        .send_wildcard()
        .allowed_methods([
            Method::GET,
            Method::HEAD,
            Method::POST,
            Method::PUT,
            Method::PATCH,
            Method::DELETE,
        ])
        .allow_any_header()
        .expose_headers([
            "etag",
            "link",
            "location",
            "retry-after",
            "ratelimit",
            "ratelimit-policy",
            "x-request-id",
        ])
        .max_age(86_400)
}

async fn keep_looking(tokens: AccessTokens, db: PgPool, clock: WallClock) {
    let mut pace = tokio::time::interval(LOOK_AGAIN);
    loop {
        pace.tick().await;
        if let Err(err) = tokens.refresh_from(&db, clock.now()).await {
            tracing::warn!(cause = %err, "cannot look which sessions have ended");
        }
    }
}

/// Tells in the logs of the games who has left and who is back.
async fn keep_telling_presence(db: PgPool, events: Events, clock: WallClock) {
    let mut pace = tokio::time::interval(TELL_PRESENCE);
    loop {
        pace.tick().await;
        if let Err(err) = games::tell_presence(&db, &events, clock.now()).await {
            tracing::warn!(cause = %err, "cannot tell who has left");
        }
    }
}

/// Sums up what was measured, so that it takes no memory while nobody asks for it.
async fn keep_counting() {
    let mut pace = tokio::time::interval(COUNT);
    loop {
        pace.tick().await;
        operations::recorder().run_upkeep();
    }
}

/// Removes guests that have not been seen for long; what they still play they resign.
async fn sweep_guests(db: &PgPool, events: &Events, now: Timestamp) -> Result<usize, sqlx::Error> {
    let mut removed = 0;
    for guest in accounts::idle_guests(db, now).await? {
        games::resign_all(db, events, now, guest).await?;
        removed += usize::from(accounts::remove_guest(db, guest, now).await?.is_some());
    }
    Ok(removed)
}

async fn keep_sweeping(limits: Data<Limits>, db: PgPool, events: Events, clock: WallClock) {
    let mut pace = tokio::time::interval(SWEEP);
    loop {
        pace.tick().await;
        limits.forget_idle();
        match accounts::sweep(&db, clock.now()).await {
            Ok(gone) if gone > 0 => tracing::debug!(rows = gone, "swept"),
            Ok(_) => {}
            Err(err) => tracing::warn!(cause = %err, "cannot sweep"),
        }
        match sweep_guests(&db, &events, clock.now()).await {
            Ok(gone) if gone > 0 => {
                tracing::info!(guests = gone, "removed guests that were not seen for 30 days")
            }
            Ok(_) => {}
            Err(err) => tracing::warn!(cause = %err, "cannot remove guests"),
        }
        match player_log::sweep(&db, clock.now()).await {
            Ok(gone) if gone > 0 => tracing::debug!(events = gone, "swept"),
            Ok(_) => {}
            Err(err) => tracing::warn!(cause = %err, "cannot sweep"),
        }
    }
}
