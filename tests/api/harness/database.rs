//! A database per test, cloned from a template that was migrated once.
//!
//! Without `DATABASE_URL`, all tests of this process share a private server, which is started at first need and
//! goes with the process, even after `kill -9`. With it, the databases are made on that server and dropped by their
//! tests; what a killed run left there is dropped by a later run.
//!
//! Every test has a runtime of its own, so no connection is kept between two operations here.

use std::{
    env,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    thread,
};

use leveret::{
    db::{MIGRATOR, embedded::PrivatePostgres},
    dice,
};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::sync::OnceCell;

/// A day: no test runs for longer.
const LEFT_BEHIND_SECONDS: i64 = 24 * 60 * 60;

/// Files in memory, on Linux.
const MEMORY: &str = "/dev/shm";

/// Marks our advisory lock among those that others may take.
const LOCK: i64 = 0x1e7e_4e70;

/// A database that belongs to one test, and is dropped with this value.
#[derive(Debug)]
pub struct TestDatabase {
    /// Where to connect.
    pub url: String,
    name: String,
    server: &'static Server,
}

/// Makes a database with the current schema and nothing in it.
pub async fn fresh_database() -> TestDatabase {
    static SERVER: OnceCell<Server> = OnceCell::const_new();
    let server = SERVER.get_or_init(Server::prepare).await;
    let name = format!("leveret_test_{}_{:016x}", server.began, dice::roll::<u64>());
    let mut connection = server.connect().await;
    execute(
        &mut connection,
        &format!("create database {name} template {} {}", server.template, server.strategy),
    )
    .await;
    connection.close().await.expect("the connection closes");
    TestDatabase { url: with_database(&server.url, &name), name, server }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let statement = format!("drop database if exists {} with (force)", self.name);
        let server = self.server;
        // The test's own runtime cannot wait here. Whether it works is no matter of the test's.
        let dropping = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let mut connection = PgConnection::connect(&server.url).await?;
                sqlx::query(AssertSqlSafe(statement)).execute(&mut connection).await?;
                connection.close().await
            })
        });
        // The private server goes with the process, so there nobody needs to wait: the drop only saves space, and
        // takes a tenth of a second when it must cut off connections.
        if server.private.is_none() && !matches!(dropping.join(), Ok(Ok(()))) {
            eprintln!("the database {} stays behind until a later run", self.name);
        }
    }
}

/// The server that the tests of this process share.
#[derive(Debug)]
struct Server {
    url: String,
    template: String,
    /// How the template is copied best.
    strategy: &'static str,
    /// The server's time when this run began, in seconds.
    began: i64,
    /// Never dropped, being in a static: it ends with the process. Nothing when the server is not ours.
    private: Option<PrivatePostgres>,
}

impl Server {
    async fn prepare() -> Server {
        let given = env::var("DATABASE_URL").ok().filter(|url| !url.is_empty());
        let (url, private, strategy) = match given {
            Some(url) => (url, None, ""),
            None => {
                let folder = fastest_folder();
                // In memory copying files is fastest; on a disk it is by far the slowest.
                let strategy = if folder == Path::new(MEMORY) { "strategy file_copy" } else { "" };
                let private =
                    tokio::task::spawn_blocking(|| start_private(folder)).await.expect("it does not panic");
                (private.url().to_owned(), Some(private), strategy)
            }
        };
        let mut server = Server { url, template: template_name(), strategy, began: 0, private };
        server.make_template().await;
        server
    }

    async fn connect(&self) -> PgConnection {
        PgConnection::connect(&self.url).await.expect("the database server takes connections")
    }

    /// Makes the template unless an earlier run has, and drops what killed runs have left.
    async fn make_template(&mut self) {
        let mut connection = self.connect().await;
        // Held until this connection closes, against other processes on the same server.
        sqlx::query("select pg_advisory_lock($1)")
            .bind(LOCK)
            .execute(&mut connection)
            .await
            .expect("the lock is got");
        self.began = sqlx::query_scalar("select extract(epoch from now())::bigint")
            .fetch_one(&mut connection)
            .await
            .expect("the server tells the time");

        let databases: Vec<String> = sqlx::query_scalar(
            "select datname::text from pg_database where datname like 'leveret\\_test\\_%'",
        )
        .fetch_all(&mut connection)
        .await
        .expect("the server lists its databases");
        for name in databases.iter().filter(|name| self.was_left_behind(name)) {
            execute(&mut connection, &format!("drop database if exists {name} with (force)")).await;
        }

        let template = &self.template;
        let exists: bool = sqlx::query_scalar("select exists (select from pg_database where datname = $1)")
            .bind(template)
            .fetch_one(&mut connection)
            .await
            .expect("the server lists its databases");
        if !exists {
            // It gets its name when it is complete, so that a killed run leaves no half of it.
            let unfinished = format!("{template}_unfinished");
            execute(&mut connection, &format!("drop database if exists {unfinished} with (force)")).await;
            execute(&mut connection, &format!("create database {unfinished} template template0")).await;
            let mut inside = PgConnection::connect(&with_database(&self.url, &unfinished))
                .await
                .expect("the template takes connections");
            MIGRATOR.run(&mut inside).await.expect("the migrations run");
            inside.close().await.expect("the connection closes");
            // A database cannot be copied while somebody is connected to it.
            execute(&mut connection, &format!("alter database {unfinished} with allow_connections false"))
                .await;
            execute(&mut connection, &format!("alter database {unfinished} rename to {template}")).await;
        }
        connection.close().await.expect("the connection closes");
    }

    fn was_left_behind(&self, name: &str) -> bool {
        let began = name.split('_').nth(2).and_then(|began| began.parse::<i64>().ok());
        began.is_some_and(|began| began < self.began - LEFT_BEHIND_SECONDS)
    }
}

fn start_private(folder: PathBuf) -> PrivatePostgres {
    let name = format!("leveret-test-{:08x}", dice::roll::<u32>());
    PrivatePostgres::start_for_tests(&folder.join(name)).unwrap_or_else(|error| panic!("{error}"))
}

/// Where files of tests go: memory where there is enough, since a database is three hundred files; in containers
/// there often is not.
pub fn fastest_folder() -> PathBuf {
    const ENOUGH: u64 = 2 << 30;
    match rustix::fs::statvfs(MEMORY) {
        Ok(about) if about.f_bavail * about.f_frsize >= ENOUGH => MEMORY.into(),
        _ => env::temp_dir(),
    }
}

/// A name that changes with the migrations.
fn template_name() -> String {
    let mut hasher = DefaultHasher::new();
    for migration in MIGRATOR.iter() {
        (migration.version, &migration.checksum).hash(&mut hasher);
    }
    format!("leveret_template_{:016x}", hasher.finish())
}

/// The same server, another database.
fn with_database(url: &str, name: &str) -> String {
    let (address, options) =
        url.split_once('?').map_or((url, None), |(address, options)| (address, Some(options)));
    let (scheme, rest) = address.split_once("://").expect("DATABASE_URL begins with postgres://");
    let server = rest.split_once('/').map_or(rest, |(server, _)| server);
    let options = options.map(|options| format!("?{options}")).unwrap_or_default();
    format!("{scheme}://{server}/{name}{options}")
}

async fn execute(connection: &mut PgConnection, statement: &str) {
    // Names are made here, of letters and digits.
    sqlx::query(AssertSqlSafe(statement))
        .execute(connection)
        .await
        .unwrap_or_else(|error| panic!("{statement}: {error}"));
}

#[tokio::test]
async fn every_test_has_a_database_of_its_own_with_the_current_schema() {
    let (one, other) = tokio::join!(fresh_database(), fresh_database());
    assert_ne!(one.url, other.url);
    for database in [&one, &other] {
        let mut connection = PgConnection::connect(&database.url).await.unwrap();
        let applied: i64 = sqlx::query_scalar("select count(*) from _sqlx_migrations where success")
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert_eq!(applied, MIGRATOR.iter().count() as i64);
        execute(&mut connection, "create table mark ()").await;
    }
}

#[test]
fn the_database_in_a_url_is_exchanged() {
    assert_eq!(
        with_database("postgres://me@here/old?host=/run/pg", "new"),
        "postgres://me@here/new?host=/run/pg"
    );
    assert_eq!(with_database("postgres://me:secret@here:5433", "new"), "postgres://me:secret@here:5433/new");
    assert_eq!(with_database("postgres:///old?host=/a/b", "new"), "postgres:///new?host=/a/b");
}
