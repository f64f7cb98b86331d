-- Finding an opponent. Written by `lobby`.

-- A player's last ticket in each pool; the queued ones are the live ones.
create table ticket (
    player_id    uuid        not null,
    pool_id      text        not null,
    ticket_id    uuid        not null,
    status       text        not null,
    created_at   timestamptz not null,
    last_seen_at timestamptz not null,
    game_id      uuid,
    ended_at     timestamptz,

    constraint ticket_pkey primary key (player_id, pool_id),
    constraint ticket_player_fkey foreign key (player_id) references player (player_id),
    constraint ticket_pool_fkey foreign key (pool_id) references pool (pool_id),
    -- The ticket is consumed before its game is made, in the same transaction.
    constraint ticket_game_fkey foreign key (game_id) references game (game_id) deferrable initially deferred,
    constraint ticket_status_known check (status in ('queued', 'matched', 'expired', 'cancelled')),
    constraint ticket_matched_has_game check ((status = 'matched') = (game_id is not null)),
    constraint ticket_ended_has_time check ((status = 'queued') = (ended_at is null))
);
-- One live ticket a player.
create unique index ticket_one_live on ticket (player_id) where status = 'queued';
create index ticket_queue_idx on ticket (pool_id) where status = 'queued';
create index ticket_matched_idx on ticket (pool_id, ended_at desc) where status = 'matched';

create table challenge (
    challenge_id    uuid        not null,
    challenger_id   uuid        not null,
    opponent_id     uuid,
    variant         text        not null,
    rules           jsonb       not null,
    clock           jsonb       not null,
    pool_id         text,
    rated           boolean     not null,
    role            text        not null,
    swap_roles      boolean     not null default true,
    status          text        not null default 'open',
    created_at      timestamptz not null,
    expires_at      timestamptz not null,
    ended_at        timestamptz,
    game_id         uuid,
    idempotency_key text,
    request_hash    bytea,

    constraint challenge_pkey primary key (challenge_id),
    constraint challenge_challenger_fkey foreign key (challenger_id) references player (player_id),
    constraint challenge_opponent_fkey foreign key (opponent_id) references player (player_id),
    constraint challenge_pool_fkey foreign key (pool_id) references pool (pool_id),
    constraint challenge_game_fkey foreign key (game_id) references game (game_id) deferrable initially deferred,
    constraint challenge_idempotency_key unique (challenger_id, idempotency_key),
    constraint challenge_to_another check (opponent_id <> challenger_id),
    constraint challenge_variant_known check (variant in ('hare-and-hounds', 'catch-the-hare')),
    constraint challenge_role_known check (role in ('hounds', 'hare', 'random')),
    constraint challenge_rated_is_fair check (not rated or (pool_id is not null and role = 'random')),
    constraint challenge_status_known check (status in ('open', 'accepted', 'declined', 'withdrawn', 'expired')),
    constraint challenge_accepted_has_game check ((status = 'accepted') = (game_id is not null)),
    constraint challenge_ended_has_time check ((status = 'open') = (ended_at is null))
);
-- Ids sort by time of creation.
create index challenge_open_idx on challenge (challenge_id) where status = 'open' and opponent_id is null;
create index challenge_challenger_idx on challenge (challenger_id, challenge_id) where status = 'open';
create index challenge_opponent_idx on challenge (opponent_id, challenge_id) where status = 'open';
create index challenge_expiry_idx on challenge (expires_at) where status = 'open';
