-- Being logged in. Written by `accounts`.
--
-- Secrets are stored as SHA-256 hashes only. (They have 256 random bits each, so a plain hash is enough.)

-- The keys that sign access tokens, made on the first start when none is configured. The newest that
-- is not retired signs; a retired one still verifies until the last token that it signed has expired.
create table signing_key (
    kid        text        not null,
    secret     bytea       not null,
    created_at timestamptz not null,
    retired_at timestamptz,

    constraint signing_key_pkey primary key (kid),
    constraint signing_key_strength check (octet_length(secret) >= 32)
);

-- A session is a family of refresh tokens, each made from the one before it.
create table session (
    session_id      uuid        not null,
    player_id       uuid        not null,
    created_at      timestamptz not null,
    last_used_at    timestamptz not null,
    user_agent      text        not null,
    address         text        not null,
    idempotency_key text,
    ended_at        timestamptz,
    end_reason      text,

    constraint session_pkey primary key (session_id),
    constraint session_player_fkey foreign key (player_id) references player (player_id),
    constraint session_idempotency_key unique (player_id, idempotency_key),
    constraint session_end_reason_known check (
        end_reason in ('logged-out', 'ended-by-player', 'password-changed', 'token-reused', 'banned', 'account-closed')
    ),
    constraint session_end_has_reason check ((ended_at is null) = (end_reason is null))
);
create index session_player_idx on session (player_id) where ended_at is null;
-- Every process asks twice a second which sessions ended lately.
create index session_ended_idx on session (ended_at) where ended_at is not null;

create table refresh_token (
    token_hash   bytea       not null,
    session_id   uuid        not null,
    created_at   timestamptz not null,
    expires_at   timestamptz not null,
    -- Set when the token is spent: its successor is sha256(token || salt), so that the same successor
    -- can be told once more to a client that lost the answer, without being stored.
    spent_at     timestamptz,
    salt         bytea,
    replayed_at  timestamptz,

    constraint refresh_token_pkey primary key (token_hash),
    constraint refresh_token_session_fkey foreign key (session_id) references session (session_id),
    constraint refresh_token_spent_has_salt check ((spent_at is null) = (salt is null))
);
-- A session has one token that can be spent.
create unique index refresh_token_one_live on refresh_token (session_id) where spent_at is null;
create index refresh_token_expiry_idx on refresh_token (expires_at);
