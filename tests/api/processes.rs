//! The program as an operator runs it: from its first start to its clean end, and what it says on the way.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::Duration,
};

use leveret::dice;
use serde_json::{Value, json};

use crate::harness::{Client, database::fastest_folder};

/// A folder for a private PostgreSQL that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        Folder(fastest_folder().join(format!("leveret-process-{:016x}", dice::roll::<u64>())))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The program, with nothing of this machine's settings.
fn leveret(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_leveret"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("LEVERET_") || name == "DATABASE_URL" {
            command.env_remove(name);
        }
    }
    command
        .args(["--log-format", "json"])
        .env("LEVERET_DATA_DIR", folder)
        .env("LEVERET_SOLVE", "off")
        .stdin(Stdio::null());
    command
}

fn run(command: &mut Command) -> Output {
    command.output().expect("the program can be run")
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A running service; killed if the test does not stop it.
struct Service {
    child: Child,
    address: String,
}

impl Service {
    /// Starts it and waits for the line that says where it is.
    fn start(folder: &Path) -> Service {
        Service::start_with(folder, &[])
    }

    fn start_with(folder: &Path, settings: &[(&str, &Path)]) -> Service {
        let mut child = leveret(folder)
            .envs(settings.iter().copied())
            .args(["--listen", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program can be run");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let address = lines
            .by_ref()
            .map(|line| line.expect("text"))
            .find_map(|line| Some(line.split("ready: http://").nth(1)?.split('/').next()?.to_owned()))
            .expect("a line that says where it listens");
        thread::spawn(move || lines.for_each(drop));
        Service { child, address }
    }

    fn client(&self) -> Client {
        let http = reqwest::Client::builder().pool_max_idle_per_host(0).no_proxy().build().expect("a client");
        Client::new(http, self.address.parse().expect("an address"))
    }

    /// Stops it in order; answers its exit code.
    fn stop(mut self) -> Option<i32> {
        let told = Command::new("kill").arg(self.child.id().to_string()).status().expect("kill can be run");
        assert!(told.success());
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn what_was_played_is_there_after_a_restart() {
    let folder = Folder::new();
    let service = Service::start(&folder.0);
    let credentials = |name: &str| json!({"username": name, "password": "moss-on-the-old-weir"});
    let mut tokens = Vec::new();
    for name in ["ann", "ben"] {
        let account = service.client().post("/v1/accounts", credentials(name)).await.ok(201);
        tokens.push(format!("Bearer {}", account["access_token"].as_str().expect("a token")));
    }
    let (ann, ben) = (
        service.client().with_header("authorization", &tokens[0]),
        service.client().with_header("authorization", &tokens[1]),
    );
    let terms = json!({"variant": "hare-and-hounds", "role": "hounds", "opponent": "ben"});
    let challenge = ann.post("/v1/challenges", terms).await.ok(201);
    let accept = format!("/v1/challenges/{}/accept", challenge["id"].as_str().expect("an id"));
    let game = ben.post(&accept, Value::Null).await.ok(201);
    let path = format!("/v1/games/{}", game["id"].as_str().expect("an id"));
    ann.put(&format!("{path}/moves/1"), json!({"move": "b1-b2"})).await.ok(201);

    assert_eq!(service.stop(), Some(0));
    let service = Service::start(&folder.0);

    let ben = service.client().with_header("authorization", &tokens[1]);
    assert_eq!(ben.get(&path).await.ok(200)["moves"], json!(["b1-b2"]));
    ben.put(&format!("{path}/moves/2"), json!({"move": "e2-d2"})).await.ok(201);
    service.client().post("/v1/sessions", credentials("ann")).await.ok(201);
    service.client().get("/readyz").await.ok(200);

    // A second one on the same folder says what to do, and the first one is none the worse for it.
    let second = run(leveret(&folder.0).args(["--listen", "127.0.0.1:0"]));
    assert!(!second.status.success());
    assert!(said(&second).contains("LEVERET_DATA_DIR"), "{}", said(&second));
    service.client().get("/readyz").await.ok(200);
    assert_eq!(service.stop(), Some(0));

    // The log reproduces the ratings, the pools are there, and a ban reaches who it is meant for.
    let check = run(leveret(&folder.0).args(["ratings", "rebuild", "--check"]));
    assert!(check.status.success() && said(&check).contains("0 differences"), "{}", said(&check));
    let add = ["pools", "add", "big-board", "--variant", "catch-the-hare", "--rules", "{\"hunters\": 11}"];
    let added =
        run(leveret(&folder.0).args(add).args(["--clock", "{\"kind\": \"per_turn\", \"turn_ms\": 60000}"]));
    assert!(added.status.success(), "{}", said(&added));
    assert!(run(leveret(&folder.0).args(["pools", "close", "hare-and-hounds-daily"])).status.success());
    let pools = said(&run(leveret(&folder.0).args(["pools", "list"])));
    assert!(pools.contains("hunters=11") && pools.contains("closed"), "{pools}");
    assert!(run(leveret(&folder.0).args(["accounts", "ban", "ann"])).status.success());
    assert!(!run(leveret(&folder.0).args(["accounts", "ban", "nobody"])).status.success());
    assert!(run(leveret(&folder.0).args(["keys", "rotate"])).status.success());
    let few = run(leveret(&folder.0).args(["ratings", "offset", "publish", "hare-and-hounds"]));
    assert!(!few.status.success() && said(&few).contains("500"), "{}", said(&few));
    assert!(said(&run(leveret(&folder.0).arg("migrate"))).contains("up to date"));

    let service = Service::start(&folder.0);
    service.client().post("/v1/sessions", credentials("ann")).await.refused(403, "account-banned");
    assert_eq!(service.stop(), Some(0));
}

/// `leveret solve` of a table that takes a second.
fn solve(folder: &Path, further: &[&str]) -> Output {
    let few = ["solve", "--board", "no-diagonals", "--too-few", "cannot-enclose", "--hunters", "4"];
    run(leveret(folder).args(few).args(further))
}

/// A number that the service measures.
async fn measured(service: &Service, name: &str) -> Option<f64> {
    let metrics = service.client().get("/metrics").await.text();
    metrics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

/// Looks until it is so, for as long as a slow machine may take.
async fn until(is_so: impl Fn() -> bool) {
    for _ in 0..600 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("it never comes to be so");
}

/// Asks until it is so, for as long as a slow machine may take.
async fn until_measured(service: &Service, name: &str, is_so: impl Fn(f64) -> bool) {
    for _ in 0..600 {
        if measured(service, name).await.is_some_and(&is_so) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{name} is {:?}", measured(service, name).await);
}

#[tokio::test]
async fn a_table_is_made_once_checked_each_time_and_opened_by_the_service() {
    let folder = Folder::new();
    let missing = solve(&folder.0, &["--check"]);
    assert!(!missing.status.success() && said(&missing).contains("there is no"), "{}", said(&missing));
    assert!(!folder.0.exists(), "whoever only looks makes nothing");

    let made = solve(&folder.0, &[]);
    assert!(made.status.success() && said(&made).contains("table made"), "{}", said(&made));
    assert!(said(&made).contains(" 4 hunters to move:          24 won"), "{}", said(&made));
    for further in [&["--check"][..], &[]] {
        let again = solve(&folder.0, further);
        assert!(again.status.success() && !said(&again).contains("table made"), "{}", said(&again));
    }

    let service = Service::start(&folder.0);
    until_measured(&service, "leveret_solver_tables", |tables| tables == 1.0).await;
    let rules = "board=no-diagonals&too_few=cannot-enclose&hunters=9";
    let path = format!("/v1/variants/catch-the-hare/analysis?{rules}&position=a2a3b1d1/a1%20hounds");
    let told = service.client().get(&path).await.ok(200);
    assert_eq!((&told["value"], &told["distance"]), (&"hounds".into(), &1.into()), "{told}");
    let best = serde_json::json!({"move": "d1-c1", "value": "hounds", "distance": 0});
    assert_eq!(told["moves"][0], best, "it encloses the hare: {told}");
    assert_eq!(service.stop(), Some(0));

    let file = folder.0.join("tables/catch-the-hare-no-diagonals-cannot-enclose-4.table");
    let mut bytes = fs::read(&file).expect("a file");
    bytes[1000] ^= 1;
    fs::write(&file, bytes).expect("it can be written");
    let damaged = solve(&folder.0, &["--check"]);
    assert!(!damaged.status.success() && said(&damaged).contains("is damaged"), "{}", said(&damaged));
    let service = Service::start(&folder.0);
    service.client().get("/v1/variants").await.ok(200);
    assert_eq!(service.stop(), Some(0), "a damaged table is no reason not to serve");
    let anew = solve(&folder.0, &[]);
    assert!(said(&anew).contains("made anew") && said(&anew).contains("table made"), "{}", said(&anew));
    assert!(solve(&folder.0, &["--check"]).status.success());
}

#[test]
fn a_table_without_a_game_is_refused() {
    let nothing = run(leveret(Path::new("/nowhere")).args(["solve", "--hunters", "9"]));
    assert!(!nothing.status.success() && said(&nothing).contains("--hunters"), "{}", said(&nothing));
}

#[tokio::test]
async fn a_service_makes_its_table_while_it_serves_and_leaves_it_when_it_is_stopped() {
    let folder = Folder::new();
    let solve = ("LEVERET_SOLVE", Path::new("on"));
    let service = Service::start_with(&folder.0, &[solve]);
    let tables = folder.0.join("tables");
    until(|| tables.join("lock").exists()).await;
    until_measured(&service, "leveret_solver_progress_ratio", |ratio| ratio < 1.0).await;
    service.client().get("/v1/variants").await.ok(200);

    // A second one is told to wait, which is none of its players' business.
    let second = Service::start_with(&folder.0.join("second"), &[solve, ("LEVERET_TABLES_DIR", &tables)]);
    until_measured(&second, "leveret_solver_tables", |opened| opened == 0.0).await;
    assert_eq!(second.stop(), Some(0));

    assert_eq!(service.stop(), Some(0));
    let left = fs::read_dir(&tables).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["lock"]);

    // Where no folder can be, the table is made for this process alone.
    let nowhere = tables.join("lock/tables");
    let service = Service::start_with(&folder.0, &[solve, ("LEVERET_TABLES_DIR", &nowhere)]);
    until_measured(&service, "leveret_solver_progress_ratio", |ratio| ratio < 1.0).await;
    assert_eq!(service.stop(), Some(0));
}

#[test]
fn the_help_tells_every_setting() {
    let help = said(&run(leveret(Path::new("/nowhere")).arg("--help")));
    let settings = [
        "LEVERET_LISTEN",
        "DATABASE_URL",
        "LEVERET_DATA_DIR",
        "LEVERET_TOKEN_KEYS",
        "LEVERET_ACCESS_TOKEN_SECONDS",
        "LEVERET_REFRESH_TOKEN_DAYS",
        "LEVERET_ARGON2_MEMORY_KIB",
        "LEVERET_POOL_SIZE",
        "LEVERET_TABLES_DIR",
        "LEVERET_SOLVE",
        "LEVERET_LOG_FORMAT",
    ];
    for setting in settings {
        assert!(help.contains(setting), "{setting} is missing from:\n{help}");
    }
}

#[test]
fn a_folder_without_postgresql_gets_one_clear_sentence() {
    let folder = Folder::new();
    fs::create_dir_all(&folder.0).expect("a folder");
    let output = run(leveret(&folder.0).arg("--postgres-bin-dir").arg(&folder.0));

    assert!(!output.status.success());
    assert!(said(&output).contains("correct LEVERET_POSTGRES_BIN_DIR"), "{}", said(&output));
}

#[test]
fn a_database_that_does_not_answer_gets_one_clear_sentence() {
    let folder = Folder::new();
    let output = run(leveret(&folder.0).args(["--database-url", "postgres://nobody@127.0.0.1:1/none"]));

    assert!(!output.status.success());
    assert!(said(&output).contains("check DATABASE_URL"), "{}", said(&output));
}

#[tokio::test]
async fn streams_say_goodbye_when_the_service_is_told_to_stop() {
    let folder = Folder::new();
    let service = Service::start(&folder.0);
    let credentials = json!({"username": "ann", "password": "moss-on-the-old-weir"});
    let account = service.client().post("/v1/accounts", credentials).await.ok(201);
    let token = format!("Bearer {}", account["access_token"].as_str().expect("a token"));
    let mut stream = service.client().with_header("authorization", &token).opens("/v1/me/events").await;
    stream.next_event("snapshot").await;

    let began = std::time::Instant::now();
    assert_eq!(service.stop(), Some(0));
    assert!(began.elapsed() < std::time::Duration::from_secs(7), "an open stream held up the stop");
    assert_eq!(stream.ends_with("goodbye").await.data["reason"], "restart");
}
