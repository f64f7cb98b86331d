//! The command line: `serve` (the default), `migrate`, `openapi`, and what operators do.

use std::{net::TcpListener, process::ExitCode, time::Instant};

use clap::{Parser, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use leveret::{
    accounts,
    app::{App, Options},
    config::{DatabaseSettings, LogSettings, ServeSettings, TablesSettings},
    db::{
        self,
        embedded::{PrivatePostgres, default_data_dir},
    },
    dice::roll,
    games::{self, ClockSetting, fair_play::Standing},
    http::document,
    ids::GameId,
    lobby::pools,
    ratings,
    rules::catch_the_hare::{BoardLines, HouseRules, TooFew},
    solver::{Key, MOST_HUNTERS, Progress, Stopped, Table},
    tables::{self, Folder, Name, Priority},
    telemetry,
    wall_clock::WallClock,
};
use serde_json::{Map, Value};
use sqlx::PgPool;

/// Ranked play for hunt games: Hare and Hounds, and Catch the Hare.
///
/// Without a command it serves. Every setting can be given as a flag or by the environment variable beside it.
#[derive(Parser)]
#[command(version, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: ServeSettings,
    #[command(flatten)]
    database: DatabaseSettings,
    #[command(flatten)]
    tables: TablesSettings,
    #[command(flatten)]
    log: LogSettings,
}

#[derive(Subcommand)]
enum Command {
    /// Answers requests until it is stopped by SIGTERM or SIGINT (the default)
    Serve,
    /// Brings the database's schema up to date and ends
    Migrate,
    /// Prints the OpenAPI document and ends
    Openapi,
    /// Makes a table of Catch the Hare if it is not there, checks it, and says what is in it
    Solve(SolveCommand),
    /// Ratings: rebuild them from the log, publish a role offset, annul a game
    #[command(subcommand)]
    Ratings(RatingsCommand),
    /// Pools: list, add, close
    #[command(subcommand)]
    Pools(PoolsCommand),
    /// Accounts: ban, unban
    #[command(subcommand)]
    Accounts(AccountsCommand),
    /// Lists accounts that found the only good move more often than their rating explains: numbers, no verdict
    FairPlay {
        /// Only accounts that were tested at least so often
        #[arg(long, default_value_t = 50)]
        least_tests: i64,
        /// Only accounts that passed at least so many standard deviations more tests than expected
        #[arg(long, default_value_t = 3.0)]
        least_z: f64,
    },
    /// Keys that sign access tokens: rotate
    #[command(subcommand)]
    Keys(KeysCommand),
}

#[derive(clap::Args)]
struct SolveCommand {
    /// Which diagonals the board has: alquerque, long-diagonals or no-diagonals
    #[arg(long, default_value_t = HouseRules::DEFAULT.board)]
    board: BoardLines,
    /// When the hunters are too few: below-ten or cannot-enclose
    #[arg(long, default_value_t = HouseRules::DEFAULT.too_few)]
    too_few: TooFew,
    /// The number of hunters up to which the table goes
    #[arg(long, default_value_t = HouseRules::DEFAULT.hunters, value_parser = clap::value_parser!(u8).range(1..=i64::from(MOST_HUNTERS)))]
    hunters: u8,
    /// Make nothing: exit with 1 if the table is not there or not as it should be
    #[arg(long)]
    check: bool,
}

#[derive(Subcommand)]
enum RatingsCommand {
    /// Computes every rating again from the log and writes what differs
    Rebuild {
        /// Only report what differs, and exit with 1 if anything does
        #[arg(long)]
        check: bool,
    },
    /// What the hounds are worth in a pool
    #[command(subcommand)]
    Offset(OffsetCommand),
    /// Annuls a finished rated game and rebuilds the ratings without it
    Annul {
        /// The game's id
        game: GameId,
        /// Why, for the game's log
        #[arg(long)]
        why: String,
    },
}

#[derive(Subcommand)]
enum OffsetCommand {
    /// Fits the role offset from the pool's log and publishes it for the games to come
    Publish {
        /// The pool's id
        pool: String,
    },
}

#[derive(Subcommand)]
enum PoolsCommand {
    /// Lists the pools with who waits and who plays
    List,
    /// Opens a pool
    Add {
        /// Its id: 3 to 60 of a-z, 0-9 and -
        pool: String,
        /// hare-and-hounds or catch-the-hare
        #[arg(long)]
        variant: leveret::rules::Variant,
        /// House rules that differ from the usual ones, as a JSON object
        #[arg(long, default_value = "{}", value_parser = json_object)]
        rules: Map<String, Value>,
        /// The clock, as in the API: {"kind": "per_turn", "turn_ms": 30000}
        #[arg(long, value_parser = clock_setting)]
        clock: ClockSetting,
    },
    /// Closes a pool: no tickets, no new rated games; games and ratings stay
    Close {
        /// Its id
        pool: String,
    },
}

#[derive(Subcommand)]
enum AccountsCommand {
    /// Ends a player's sessions and lets them log in no more
    Ban {
        /// The username
        name: String,
    },
    /// Lets a banned player log in again
    Unban {
        /// The username
        name: String,
    },
}

#[derive(Subcommand)]
enum KeysCommand {
    /// Makes a new signing key; tokens signed by the old one stay good until they expire
    Rotate,
}

type Failure = Box<dyn std::error::Error>;

fn json_object(text: &str) -> Result<Map<String, Value>, serde_json::Error> {
    serde_json::from_str(text)
}

fn clock_setting(text: &str) -> Result<ClockSetting, serde_json::Error> {
    serde_json::from_str(text)
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    telemetry::start(cli.log.log_format, &cli.log.log);
    match run(cli) {
        Ok(code) => code,
        Err(err) => {
            tracing::error!("{err}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Result<ExitCode, Failure> {
    if let Some(Command::Openapi) = cli.command {
        return print(&document::json());
    }
    if let Some(Command::Solve(command)) = cli.command {
        return solve_command(&tables_folder(&cli.tables, &cli.database)?, &command);
    }
    let tables = tables_folder(&cli.tables, &cli.database).ok();
    // On this thread and before the runtime: the private server ends with the thread that started it.
    let private = match &cli.database.database_url {
        Some(_) => None,
        None => {
            let data_dir = cli.database.data_dir.clone().map_or_else(default_data_dir, Ok)?;
            tracing::info!(folder = %data_dir.display(), "starting a private PostgreSQL");
            Some(PrivatePostgres::start(&data_dir, cli.database.postgres_bin_dir.as_deref())?)
        }
    };
    let url = match (&cli.database.database_url, &private) {
        (Some(url), _) => url.clone(),
        (None, Some(private)) => private.url().to_owned(),
        (None, None) => return Err("no database".into()),
    };
    // The tasks run on this thread; each worker of the server has a thread and a runtime of its own.
    let outcome = actix_web::rt::System::new().block_on(async {
        let db = db::connect(&url, cli.database.pool_size).await.map_err(|err| {
            format!("the database does not answer: {err}; check DATABASE_URL and that the server runs")
        })?;
        db::migrate(&db).await?;
        let clock = WallClock::system();
        match cli.command {
            None | Some(Command::Serve) => serve(db, clock, cli.serve, tables).await,
            Some(Command::Migrate | Command::Openapi | Command::Solve(_)) => {
                print("the schema is up to date\n")
            }
            Some(Command::Ratings(command)) => ratings_command(&db, &clock, command).await,
            Some(Command::Pools(command)) => pools_command(&db, &clock, command).await,
            Some(Command::Accounts(command)) => accounts_command(&db, &clock, command).await,
            Some(Command::FairPlay { least_tests, least_z }) => fair_play(&db, least_tests, least_z).await,
            Some(Command::Keys(KeysCommand::Rotate)) => {
                let kid = accounts::access::rotate_key(&db, clock.now(), roll()).await?;
                print(&format!("{kid} signs from now on\n"))
            }
        }
    });
    if let Some(private) = private {
        private.stop()?;
        tracing::info!("the private PostgreSQL has stopped");
    }
    outcome
}

/// Where the tables are: also without a private PostgreSQL, they lie beside it.
fn tables_folder(tables: &TablesSettings, database: &DatabaseSettings) -> Result<Folder, Failure> {
    if let Some(folder) = &tables.tables_dir {
        return Ok(Folder::at(folder));
    }
    let data_dir = database.data_dir.clone().map_or_else(default_data_dir, Ok)?;
    Ok(Folder::at(data_dir.join("tables")))
}

async fn serve(
    db: PgPool,
    clock: WallClock,
    serve: ServeSettings,
    tables: Option<Folder>,
) -> Result<ExitCode, Failure> {
    let listener = TcpListener::bind(serve.listen).map_err(|err| {
        format!("cannot listen on {}: {err}; set LEVERET_LISTEN to a free address and port", serve.listen)
    })?;
    listener.set_nonblocking(true)?;
    let tables = Some(tables::Settings { folder: tables, make: serve.solve == "on" });
    let app = App::start(Options { db, clock, serve, listener, tables, tasks: true, signals: true }).await?;
    let address = app.address();
    tracing::info!("ready: http://{address}/docs in a browser, or curl http://{address}/v1/variants");
    app.wait().await?;
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}

/// Makes a table if need be, and says what is in it.
fn solve_command(folder: &Folder, command: &SolveCommand) -> Result<ExitCode, Failure> {
    let &SolveCommand { board, too_few, hunters: most_hunters, check } = command;
    let name = Name { key: Key { board, too_few }, most_hunters };
    if name.key.numbers_of_hunters(most_hunters).is_empty() {
        return Err(
            format!("with {most_hunters} hunters the hare has won already; give --hunters more").into()
        );
    }
    let table = match folder.open(name) {
        Ok(Some(table)) => table,
        Ok(None) if check => return Err(format!("there is no {}", folder.file(name).display()).into()),
        Err(error) if check => return Err(error.into()),
        Ok(None) => make_table(folder, name)?,
        Err(error) => {
            tracing::warn!("{error}; it is made anew");
            make_table(folder, name)?
        }
    };
    print(&format!("{}\n", folder.file(name).display()))?;
    for count in table.counts() {
        print(&format!(
            "{:>2} hunters to move: {:>11} won, the longest in {} plies; {:>11} lost; {:>11} drawn\n",
            count.hunters, count.won_by_hunters, count.longest, count.won_by_hare, count.drawn,
        ))?;
    }
    let starts = name.key.numbers_of_hunters(most_hunters).map(|hunters| name.key.with_hunters(hunters));
    for start in starts.filter(|rules| rules.check().is_ok()).flat_map(|rules| rules.starts()) {
        let value = table.value(start);
        let plies = value.plies.map_or_else(String::new, |plies| format!(" in {plies} plies"));
        print(&format!("{start}: {}{plies}\n", value.result))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Solves a table and writes it, and reads it again as everybody else will.
fn make_table(folder: &Folder, name: Name) -> Result<Table, Failure> {
    let Some(lock) = folder.lock()? else {
        return Err("another process is making a table in this folder; try again when it is done".into());
    };
    let begun = Instant::now();
    let bar =
        ProgressBar::new(1000).with_style(ProgressStyle::with_template("{wide_bar} {percent}%, {eta} left")?);
    let mut told = 0.0;
    let solved = tables::solve(name, Priority::Normal, &Progress::default(), |ratio| {
        bar.set_position((ratio * 1000.0) as u64);
        if bar.is_hidden() && ratio >= told + 0.1 {
            told = ratio;
            let seconds_left = (begun.elapsed().as_secs_f64() * (1.0 / ratio - 1.0)) as u64;
            tracing::info!(table = %name, percent = (ratio * 100.0) as u8, seconds_left, "making a table");
        }
    });
    bar.finish_and_clear();
    let table = solved.map_err(|Stopped| "the table is left unfinished")?;
    folder.write(&lock, &table)?;
    tracing::info!(table = %name, seconds = begun.elapsed().as_secs_f64(), "table made");
    drop(table);
    Ok(folder.open(name)?.ok_or("the table is gone again")?)
}

async fn ratings_command(
    db: &PgPool,
    clock: &WallClock,
    command: RatingsCommand,
) -> Result<ExitCode, Failure> {
    match command {
        RatingsCommand::Rebuild { check } => rebuild(db, !check).await,
        RatingsCommand::Offset(OffsetCommand::Publish { pool }) => {
            if pools::find(db, &pool).await?.is_none() {
                return Err(format!("no pool is called {pool}").into());
            }
            match ratings::publish_offset(db, &pool, clock.now()).await? {
                Some(published) => print(&format!(
                    "role offset {} of {pool}: a = {} (standard error {}), b = {} ({}), from {} games\n",
                    published.id,
                    published.fit.offset.a,
                    published.fit.a_standard_error,
                    published.fit.offset.b,
                    published.fit.b_standard_error,
                    published.fit.sample_size,
                )),
                None => Err(format!(
                    "{pool} has fewer than {} rated games of two established players: nothing published",
                    ratings::offset::LEAST_GAMES
                )
                .into()),
            }
        }
        RatingsCommand::Annul { game, why } => {
            games::annul(db, clock.now(), game, &why).await?;
            rebuild(db, true).await
        }
    }
}

async fn rebuild(db: &PgPool, repair: bool) -> Result<ExitCode, Failure> {
    let differences = ratings::rebuild(db, repair).await?;
    for difference in &differences {
        let game = difference.game.map_or_else(|| "rating".to_owned(), |game| format!("game {game}"));
        print(&format!(
            "{} in {}, {game}: stored {}, computed {}\n",
            difference.player, difference.pool, difference.stored, difference.computed
        ))?;
    }
    let done = if repair { "mended" } else { "found" };
    print(&format!("{} differences {done}\n", differences.len()))?;
    Ok(if differences.is_empty() || repair { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn pools_command(db: &PgPool, clock: &WallClock, command: PoolsCommand) -> Result<ExitCode, Failure> {
    match command {
        PoolsCommand::List => {
            for busy in pools::list(db).await? {
                let state = if busy.pool.closed_at.is_some() { "closed" } else { "open" };
                print(&format!(
                    "{:<32} {:<16} {state:<6} {:>6} waiting {:>6} playing  {}\n",
                    busy.pool.id,
                    busy.pool.variant.to_string(),
                    busy.waiting,
                    busy.playing,
                    games::house_rules::to_text(&busy.pool.rules),
                ))?;
            }
            Ok(ExitCode::SUCCESS)
        }
        PoolsCommand::Add { pool, variant, rules, clock: setting } => {
            let pool = pools::add(db, &pool, variant, &rules, setting, clock.now()).await?;
            print(&format!("{} is open\n", pool.id))
        }
        PoolsCommand::Close { pool } => match pools::close(db, &pool, clock.now()).await? {
            Some(pool) => print(&format!("{} is closed\n", pool.id)),
            None => Err(format!("no pool is called {pool}").into()),
        },
    }
}

async fn accounts_command(
    db: &PgPool,
    clock: &WallClock,
    command: AccountsCommand,
) -> Result<ExitCode, Failure> {
    match command {
        AccountsCommand::Ban { name } => {
            accounts::ban(db, &name, clock.now()).await?;
            print(&format!("{name} is banned\n"))
        }
        AccountsCommand::Unban { name } => {
            accounts::unban(db, &name).await?;
            print(&format!("{name} may log in again\n"))
        }
    }
}

async fn fair_play(db: &PgPool, least_tests: i64, least_z: f64) -> Result<ExitCode, Failure> {
    let striking = games::fair_play::striking(db, least_tests, least_z).await?;
    print(
        "account               variant          role    rating  games  tests  passed  expected      z  accuracy\n",
    )?;
    for Standing { record, expected, z } in striking {
        let name = record.username.unwrap_or_else(|| "closed".to_owned());
        let name = if record.is_bot { format!("{name} (bot)") } else { name };
        print(&format!(
            "{name:<21} {:<16} {:<6} {:>7.0} {:>6} {:>6} {:>7} {expected:>9.1} {z:>6.1} {:>9.1}\n",
            record.variant.to_string(),
            record.role.to_string(),
            record.rating,
            record.games,
            record.tests,
            record.passed,
            record.accuracy,
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints to standard output; a reader that has gone away is no failure.
fn print(text: &str) -> Result<ExitCode, Failure> {
    use std::io::Write;

    match std::io::stdout().write_all(text.as_bytes()) {
        Err(err) if err.kind() != std::io::ErrorKind::BrokenPipe => Err(err.into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}
