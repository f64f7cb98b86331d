//! The database: connecting, migrating, and telling one constraint from another.

pub mod embedded;

use std::time::Duration;

use sqlx::{
    PgPool,
    migrate::{MigrateError, Migrator},
    postgres::{PgConnectOptions, PgPoolOptions},
};

/// The migrations that this program was built with. A database that has more of them is fine: it was migrated by the
/// next release, beside which this one works on until it is replaced.
pub static MIGRATOR: Migrator = Migrator { ignore_missing: true, ..sqlx::migrate!("./migrations") };

/// Opens the pool. The first connection is made at once, so that a wrong address is noticed here.
///
/// # Errors
///
/// When the address cannot be read or the server does not answer.
pub async fn connect(url: &str, pool_size: u32) -> Result<PgPool, sqlx::Error> {
    let options: PgConnectOptions = url.parse()?;
    PgPoolOptions::new()
        .max_connections(pool_size)
        .acquire_timeout(Duration::from_secs(5))
        .test_before_acquire(false)
        .connect_with(options.application_name("leveret"))
        .await
}

/// Brings the schema up to date. Safe to call from several processes at once.
///
/// # Errors
///
/// When a migration fails, or the database has one under the same number that is not the same.
pub async fn migrate(db: &PgPool) -> Result<(), MigrateError> {
    MIGRATOR.run(db).await
}

/// Whether the database refused a statement because of the constraint or unique index of this name.
pub fn violates(err: &sqlx::Error, constraint: &str) -> bool {
    err.as_database_error().is_some_and(|err| err.constraint() == Some(constraint))
}
