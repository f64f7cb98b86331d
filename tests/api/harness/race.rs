//! Races that are races: the rows are held until everybody waits for them.

use std::{future::Future, time::Duration};

use futures_util::future::join_all;
use sqlx::{AssertSqlSafe, PgPool};

/// How often to look, and how many times before giving up.
const LOOK_EVERY: Duration = Duration::from_millis(5);
const LOOKS: usize = 2000;

/// Runs all of these at once: holds the rows that `rows` selects (`select … for update`) until each of them waits
/// for a lock, then lets go and answers what became of them, in the order given.
pub async fn holding<T, F: Future<Output = T>>(
    db: &PgPool,
    rows: &str,
    contenders: impl IntoIterator<Item = F>,
) -> Vec<T> {
    let contenders: Vec<F> = contenders.into_iter().collect();
    let expected = i64::try_from(contenders.len()).expect("there are few");
    let mut held = db.begin().await.expect("a transaction");
    let found = sqlx::query(AssertSqlSafe(rows)).fetch_all(&mut *held).await.expect("the rows can be read");
    assert!(!found.is_empty(), "nothing to hold: {rows}");

    let let_go = async {
        for _ in 0..LOOKS {
            if db_waiting(db).await >= expected {
                held.rollback().await.expect("the rows are let go");
                return;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        panic!("{} of {expected} wait for a lock", db_waiting(db).await);
    };
    let (outcomes, ()) = tokio::join!(join_all(contenders), let_go);
    outcomes
}

/// How many connections wait for a lock.
async fn db_waiting(db: &PgPool) -> i64 {
    sqlx::query_scalar(
        "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    )
    .fetch_one(db)
    .await
    .expect("a count")
}
