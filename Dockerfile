# The service alone: PostgreSQL runs elsewhere (see docker-compose.yml).

FROM rust:1.95-slim-trixie AS build
WORKDIR /build
# Queries are checked against .sqlx/, so that the build needs no database.
ENV SQLX_OFFLINE=true

# The dependencies, in a layer of their own that only Cargo.toml and Cargo.lock make anew.
COPY Cargo.toml Cargo.lock ./
RUN mkdir src benches \
    && touch src/lib.rs benches/perft.rs benches/pairing.rs benches/solver.rs \
    && echo 'fn main() {}' > src/main.rs \
    && cargo build --release --locked \
    && rm -r src

COPY migrations migrations
COPY .sqlx .sqlx
COPY src src
# Files keep their old times when copied; Cargo must see that they are newer than what it built above.
RUN find src -name '*.rs' -exec touch {} + \
    && cargo build --release --locked --bin leveret

FROM debian:trixie-slim
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin leveret \
    && install --directory --owner=leveret /var/lib/leveret/tables
COPY --from=build /build/target/release/leveret /usr/local/bin/leveret
COPY LICENSE-MIT LICENSE-APACHE /usr/share/doc/leveret/
USER leveret
ENV LEVERET_LISTEN=0.0.0.0:8080 LEVERET_TABLES_DIR=/var/lib/leveret/tables
EXPOSE 8080
# bash opens the connection by itself, so that the image needs no curl.
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8080 && printf 'GET /readyz HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3 && head -n 1 <&3 | grep -q ' 200 '"]
ENTRYPOINT ["leveret"]
