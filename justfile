# `just` lists what there is; `just check` is what CI runs. https://just.systems, or `pip install rust-just`

set positional-arguments

# Lists the recipes
default:
    @just --list --unsorted

# Everything that CI checks, with the tools that are here
check: fmt-check clippy test doc openapi-check prepare-check deny

# The same from a clean machine: installs what is missing
ci:
    .ci/run

# Formats the code
fmt:
    cargo fmt

fmt-check:
    cargo fmt --check

clippy:
    cargo clippy --all-targets --locked -- -D warnings

# All tests, or those whose name contains a text: just test refused_move
test *args:
    cargo test "$@"

# Only the rules of the games: perft counts, recorded games, properties
rules *args:
    cargo test --test rules "$@"

# Only the ratings, the role offset and the pairing
numbers *args:
    cargo test --test numbers "$@"

doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --locked

# Writes openapi/v1.json anew
openapi:
    cargo run -q -- openapi > target/openapi.json
    cp target/openapi.json openapi/v1.json

openapi-check:
    cargo run -q --locked -- openapi | diff openapi/v1.json -

# Writes .sqlx/ anew; needs DATABASE_URL
prepare:
    cargo sqlx migrate run
    cargo sqlx prepare

# Needs DATABASE_URL
prepare-check:
    cargo sqlx migrate run
    cargo sqlx prepare --check

deny:
    cargo deny check bans licenses sources

# Known defects in dependencies; needs the network
advisories:
    cargo deny check advisories

# Starts the service with a private PostgreSQL
run *args:
    cargo run --release -- "$@"

# Random games against two processes, then an audit: just games --games 200 --accounts 40
games *args:
    cargo build --release --bin leveret
    cargo run --release --example random_games -- "$@"

# Kills servers and PostgreSQL under clients that journal: just faults, or just faults --server-kills 50 --postgres-kills 20
faults *args='--short':
    cargo build --bin leveret
    cargo run --example faults -- {{args}}

# Solves Catch the Hare by all its readings and compares with what is known; takes minutes
prove:
    cargo run --release --example prove_tables

# Benchmarks of the rules, of the pairing and of the solver
bench *args:
    cargo bench "$@"
# Moves a second against pgbench on the same PostgreSQL: just load --seconds 10
load *args:
    cargo build --release --bin leveret
    cargo run --release --example load -- "$@"

# How long a move takes to reach the opponent's stream, and what 10,000 idle streams cost
watch *args:
    cargo build --release --bin leveret
    cargo run --release --example watch -- "$@"
