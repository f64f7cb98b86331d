//! Every setting, with its default and meaning. `leveret --help` prints this page.

use std::{net::SocketAddr, path::PathBuf, str::FromStr};

use clap::Args;

use crate::telemetry::LogFormat;

/// Where the database is.
#[derive(Args, Clone, Debug)]
pub struct DatabaseSettings {
    /// PostgreSQL to use, as postgres://user:password@host/database. Without it, a private PostgreSQL is
    /// started from the binaries on this machine and stopped at the end.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, global = true)]
    pub database_url: Option<String>,

    /// Folder of the private PostgreSQL and of the tables [default: the platform's data folder; /var/lib/leveret for root]
    #[arg(long, env = "LEVERET_DATA_DIR", global = true)]
    pub data_dir: Option<PathBuf>,

    /// Folder of PostgreSQL's programs (initdb, postgres) [default: looked for]
    #[arg(long, env = "LEVERET_POSTGRES_BIN_DIR", global = true)]
    pub postgres_bin_dir: Option<PathBuf>,

    /// How many connections to PostgreSQL one process may hold
    #[arg(long, env = "LEVERET_POOL_SIZE", default_value_t = 36, value_parser = clap::value_parser!(u32).range(8..=500), global = true)]
    pub pool_size: u32,
}

/// Where the tables of Catch the Hare are.
#[derive(Args, Clone, Debug)]
pub struct TablesSettings {
    /// Folder of the tables of Catch the Hare [default: tables, in the data folder]
    #[arg(long, env = "LEVERET_TABLES_DIR", global = true)]
    pub tables_dir: Option<PathBuf>,
}

/// How logs look and what they tell.
#[derive(Args, Clone, Debug)]
pub struct LogSettings {
    /// Format of the log on standard error; auto is human on a terminal and json otherwise
    #[arg(long, env = "LEVERET_LOG_FORMAT", value_enum, default_value_t = LogFormat::Auto, global = true)]
    pub log_format: LogFormat,

    /// What is logged, as in RUST_LOG: a level, or module=level pairs
    #[arg(long, env = "LEVERET_LOG", default_value = "info,actix_server=warn", global = true)]
    pub log: String,
}

/// What `serve` needs to know beside the database.
#[derive(Args, Clone, Debug)]
pub struct ServeSettings {
    /// Address and port to listen on
    #[arg(long, env = "LEVERET_LISTEN", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,

    /// How many threads answer requests [default: one a core]
    #[arg(long, env = "LEVERET_WORKERS", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub workers: Option<u16>,

    /// Address that clients use to reach the service, for the links in answers [default: http://LISTEN]
    #[arg(long, env = "LEVERET_PUBLIC_URL")]
    pub public_url: Option<String>,

    /// Take the client's address from the Forwarded and X-Forwarded-For headers: only behind a proxy that sets them
    #[arg(long, env = "LEVERET_TRUST_PROXY", default_value_t = false)]
    pub trust_proxy: bool,

    /// How often one may ask: `on`, or `off` for load tests
    #[arg(long, env = "LEVERET_RATE_LIMITS", default_value = "on", value_parser = ["on", "off"])]
    pub rate_limits: String,

    /// Whether to make the table of Catch the Hare in the background when it is not there
    #[arg(long, env = "LEVERET_SOLVE", default_value = "on", value_parser = ["on", "off"])]
    pub solve: String,

    /// How the processes of one database tell each other what happened: `postgres`, or nats://host:port
    #[arg(long, env = "LEVERET_BUS", default_value = "postgres")]
    pub bus: BusAddress,

    #[command(flatten)]
    #[allow(missing_docs, reason = "a doc here would become the heading of the help page")]
    pub streams: StreamSettings,

    #[command(flatten)]
    #[allow(missing_docs, reason = "a doc here would become the heading of the help page")]
    pub accounts: AccountSettings,
}

/// What the processes of one database talk through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BusAddress {
    /// The database itself.
    Postgres,
    /// NATS, at this address.
    Nats(String),
}

impl FromStr for BusAddress {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<BusAddress, &'static str> {
        match text {
            "postgres" => Ok(BusAddress::Postgres),
            _ if text.strip_prefix("nats://").is_some_and(|rest| !rest.is_empty()) => {
                Ok(BusAddress::Nats(text.to_owned()))
            }
            _ => Err("must be 'postgres' or nats://host:port"),
        }
    }
}

/// Streams of events.
#[derive(Args, Clone, Debug)]
pub struct StreamSettings {
    /// How many streams and waiting polls a process holds open
    #[arg(long, env = "LEVERET_STREAMS", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub streams: u32,

    /// How many of them one account may have
    #[arg(long, env = "LEVERET_STREAMS_PER_ACCOUNT", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub streams_per_account: u32,

    /// How many of them one address may have, of readers without a token
    #[arg(long, env = "LEVERET_STREAMS_PER_ADDRESS", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    pub streams_per_address: u32,

    /// After how many seconds a connection is cut whose client takes nothing of what is sent (on Linux)
    #[arg(long, env = "LEVERET_STALLED_SECONDS", default_value_t = 25, value_parser = clap::value_parser!(u32).range(1..=600))]
    pub stalled_seconds: u32,
}

/// Tokens and passwords.
#[derive(Args, Clone, Debug)]
pub struct AccountSettings {
    /// Keys that sign access tokens, as kid:base64[,kid:base64…], at least 32 bytes each: the first one signs, all
    /// verify [default: made on the first start and kept in the database]
    #[arg(long, env = "LEVERET_TOKEN_KEYS", hide_env_values = true)]
    pub token_keys: Option<String>,

    /// How long an access token is good for, in seconds
    #[arg(long, env = "LEVERET_ACCESS_TOKEN_SECONDS", default_value_t = 900, value_parser = clap::value_parser!(i64).range(10..=900))]
    pub access_token_seconds: i64,

    /// How long a refresh token is good for, in days
    #[arg(long, env = "LEVERET_REFRESH_TOKEN_DAYS", default_value_t = 60, value_parser = clap::value_parser!(i64).range(1..=400))]
    pub refresh_token_days: i64,

    /// Argon2id memory in KiB
    #[arg(long, env = "LEVERET_ARGON2_MEMORY_KIB", default_value_t = 19_456, value_parser = clap::value_parser!(u32).range(19_456..=1_048_576))]
    pub argon2_memory_kib: u32,

    /// Argon2id passes
    #[arg(long, env = "LEVERET_ARGON2_PASSES", default_value_t = 2, value_parser = clap::value_parser!(u32).range(2..=100))]
    pub argon2_passes: u32,

    /// How many password hashes may be worked on at once
    #[arg(long, env = "LEVERET_ARGON2_PARALLEL", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub argon2_parallel: u32,
}
