use std::{
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
};

use leveret::config::BusAddress;
use serde_json::Value;

use super::{db_log, plays_on};
use crate::harness::{Player, Stream, TestApp};

/// A NATS server of one's own, killed with this value.
struct Nats {
    port: u16,
    server: Option<Child>,
}

impl Nats {
    fn start() -> Nats {
        let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
        let mut nats = Nats { port, server: None };
        nats.restart();
        nats
    }

    fn address(&self) -> BusAddress {
        format!("nats://127.0.0.1:{}", self.port).parse().expect("an address")
    }

    fn restart(&mut self) {
        // Where Debian puts it is not in everybody's path.
        let program =
            if Path::new("/usr/sbin/nats-server").exists() { "/usr/sbin/nats-server" } else { "nats-server" };
        let server = Command::new(program)
            .args(["--addr", "127.0.0.1", "--port", &self.port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nats-server can be run (apt install nats-server)");
        self.server = Some(server);
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            std::thread::yield_now();
        }
    }

    fn kill(&mut self) {
        if let Some(mut server) = self.server.take() {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Two servers, two players who play at one each, and readers at both.
struct Site {
    app: TestApp,
    other: TestApp,
    players: [Player; 2],
    game: String,
    streams: Vec<Stream>,
    plies: i64,
}

impl Site {
    async fn start(bus: BusAddress) -> Site {
        let app = TestApp::start_with(|settings| settings.bus = bus).await;
        let other = app.second_process().await;
        let (ann, ben) = app.two_players().await;
        let game = app.game(&ann, &ben, "catch-the-hare").await;
        let far_ben = other.as_player(&ben);
        let mut streams = Vec::new();
        for client in [&app.anonymous(), &other.anonymous(), &*ann, &*far_ben] {
            streams.push(client.watches_after(&game, 0).await);
        }
        Site { app, other, players: [ann, far_ben], game, streams, plies: 0 }
    }

    async fn play(&mut self, plies: i64) {
        for _ in 0..plies {
            plays_on(&self.players[usize::from(self.plies % 2 == 1)], &self.game).await;
            self.plies += 1;
        }
    }

    /// Every reader is sent what was played.
    async fn everybody_sees_it(&mut self) {
        let log = db_log(&self.app, &self.game).await;
        let last = log.last().expect("a log").0;
        for stream in &mut self.streams {
            let from = usize::try_from(stream.last.unwrap_or(0)).expect("a number");
            let seen: Vec<_> = stream
                .reads_until(last)
                .await
                .into_iter()
                .map(|event| {
                    (event.id.expect("a number"), event.kind, event.data["move"].as_str().map(str::to_owned))
                })
                .collect();
            assert_eq!(seen, log[from..]);
        }
    }
}

#[tokio::test]
async fn over_postgres_a_move_at_one_process_is_seen_at_the_other() {
    let mut site = Site::start(BusAddress::Postgres).await;
    for _ in 0..4 {
        site.play(1).await;
        site.everybody_sees_it().await;
    }
}

#[tokio::test]
async fn over_nats_a_move_at_one_process_is_seen_at_the_other() {
    let nats = Nats::start();
    let mut site = Site::start(nats.address()).await;
    for _ in 0..4 {
        site.play(1).await;
        site.everybody_sees_it().await;
    }
}

#[tokio::test]
async fn what_is_played_while_postgres_cuts_the_listeners_is_seen_by_everybody() {
    let mut site = Site::start(BusAddress::Postgres).await;
    for _ in 0..3 {
        site.play(2).await;
        let cut: i64 = sqlx::query_scalar(
            "select count(pg_terminate_backend(pid)) from pg_stat_activity
             where datname = current_database() and query ilike 'listen%'",
        )
        .fetch_one(&site.app.db)
        .await
        .expect("they can be cut");
        assert!(cut > 0);
        site.play(2).await;
        site.everybody_sees_it().await;
    }
}

#[tokio::test]
async fn what_is_played_while_nats_is_away_is_seen_by_everybody() {
    let mut nats = Nats::start();
    let mut site = Site::start(nats.address()).await;
    site.play(2).await;
    nats.kill();
    until_status(&site.app, 503).await;
    site.play(3).await;
    nats.restart();
    until_status(&site.app, 200).await;
    site.play(1).await;
    site.everybody_sees_it().await;
    until_status(&site.other, 200).await;
}

async fn until_status(app: &TestApp, status: u16) {
    for _ in 0..100_000 {
        if app.anonymous().get("/readyz").await.status == status {
            return;
        }
    }
    panic!("still not {status}");
}

/// Nobody announces what this test writes by hand: the next heartbeat finds it.
#[tokio::test]
async fn a_lost_notice_costs_a_heartbeat() {
    let mut site = Site::start(BusAddress::Postgres).await;
    site.play(1).await;
    site.everybody_sees_it().await;
    sqlx::query(
        "insert into game_event (game_id, number, kind, at, role)
         select game_id, max(number) + 1, 'draw_offered', max(at), 'hounds' from game_event group by game_id",
    )
    .execute(&site.app.db)
    .await
    .expect("it is written");
    site.app.beat().await;
    site.other.beat().await;
    site.everybody_sees_it().await;

    // The rest of the game fits.
    let draw = format!("/v1/games/{}/draw-offer?accept_only=true", site.game);
    site.players[1].put(&draw, Value::Null).await.ok(200);
    site.everybody_sees_it().await;
}
