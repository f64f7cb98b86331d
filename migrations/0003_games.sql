-- Games and their log. `pool` is written by `lobby` and by the operator, the rest by `games`.
--
-- The log is the record. Everything that happens in a game takes the next number of its log, so of all that is
-- tried at the same instant one thing happens, and a move is a single insert. Position, ply and draw offer are what
-- the log adds up to and are stored nowhere else; status, result and reason are kept with the game as well, for the
-- lists. tests/audit.sql says when they disagree.

create table pool (
    pool_id    text        not null,
    variant    text        not null,
    rules      jsonb       not null,
    clock      jsonb       not null,
    created_at timestamptz not null default now(),
    closed_at  timestamptz,

    constraint pool_pkey primary key (pool_id),
    constraint pool_id_form check (pool_id ~ '^[a-z0-9-]{3,60}$'),
    constraint pool_variant_known check (variant in ('hare-and-hounds', 'catch-the-hare'))
);

insert into pool (pool_id, variant, rules, clock) values
    ('hare-and-hounds', 'hare-and-hounds',
     '{"getting_away": "thirty-moves", "hare_start": "right-end"}', '{"kind": "per_turn", "turn_ms": 30000}'),
    ('hare-and-hounds-daily', 'hare-and-hounds',
     '{"getting_away": "thirty-moves", "hare_start": "right-end"}', '{"kind": "correspondence", "days": 1}'),
    ('catch-the-hare', 'catch-the-hare',
     '{"board": "alquerque", "hunters": 12, "too_few": "below-ten"}', '{"kind": "per_turn", "turn_ms": 30000}'),
    ('catch-the-hare-daily', 'catch-the-hare',
     '{"board": "alquerque", "hunters": 12, "too_few": "below-ten"}', '{"kind": "correspondence", "days": 1}');

create table game (
    game_id     uuid        not null,
    variant     text        not null,
    rules       jsonb       not null,
    clock       jsonb       not null,
    pool_id     text,
    rated       boolean     not null,
    hounds_id   uuid        not null,
    hare_id     uuid        not null,
    -- The ratings that both had in the pool when the game began, for show.
    hounds_rating      double precision,
    hounds_provisional boolean not null default true,
    hare_rating        double precision,
    hare_provisional   boolean not null default true,
    start       text        not null,
    -- What the coin for the roles and the drawn starting point came from.
    seed        bigint      not null,
    swap_roles  boolean     not null default true,
    rematch_of  uuid,
    created_at  timestamptz not null,

    status      text        not null default 'ongoing',
    hounds_rematch boolean  not null default false,
    hare_rematch   boolean  not null default false,
    result      text,
    reason      text,
    ended_at    timestamptz,

    constraint game_pkey primary key (game_id),
    constraint game_pool_fkey foreign key (pool_id) references pool (pool_id),
    constraint game_hounds_fkey foreign key (hounds_id) references player (player_id),
    constraint game_hare_fkey foreign key (hare_id) references player (player_id),
    constraint game_rematch_of_fkey foreign key (rematch_of) references game (game_id),
    -- A game has one rematch, whoever asks how often.
    constraint game_one_rematch unique (rematch_of),
    constraint game_two_players check (hounds_id <> hare_id),
    constraint game_variant_known check (variant in ('hare-and-hounds', 'catch-the-hare')),
    constraint game_rated_in_pool check (not rated or pool_id is not null),
    constraint game_status_known check (status in ('ongoing', 'finished', 'aborted')),
    constraint game_result_known check (result in ('hounds', 'hare', 'draw')),
    constraint game_finished_has_result check ((status = 'finished') = (result is not null)),
    constraint game_ended_has_reason check ((status = 'ongoing') = (reason is null)),
    constraint game_ended_has_time check ((status = 'ongoing') = (ended_at is null))
);
-- Ids sort by time of creation.
create index game_hounds_idx on game (hounds_id, game_id);
create index game_hare_idx on game (hare_id, game_id);
create index game_pool_idx on game (pool_id, game_id);
create index game_live_idx on game (pool_id) where status = 'ongoing';

-- Types rather than checks: PostgreSQL reads the text of a check anew for every statement that writes.
create type game_event_kind as enum (
    'started', 'move', 'draw_offered', 'draw_withdrawn', 'draw_declined', 'rematch_offered', 'rematch_withdrawn',
    'rematch_accepted', 'ended', 'annulled'
);
create type game_role as enum ('hounds', 'hare');

-- One row for everything that happened in a game, numbered from 1 without a gap. No foreign key leads to the game:
-- it would lock the game's row for every move, and games are never deleted.
create table game_event (
    game_id uuid            not null,
    number  integer         not null,
    kind    game_event_kind not null,
    at      timestamptz     not null,
    role    game_role,
    ply     smallint,
    move    text,
    data    jsonb,

    constraint game_event_pkey primary key (game_id, number),
    constraint game_event_move_whole check ((kind = 'move') = (ply is not null and move is not null))
);
-- One move a ply.
create unique index game_event_one_move_per_ply on game_event (game_id, ply) where kind = 'move';
-- One ending a game.
create unique index game_event_one_ending on game_event (game_id) where kind = 'ended';

-- A player is in at most one live rated real-time game: a row from its beginning to its end.
create table live_seat (
    player_id uuid not null,
    game_id   uuid not null,

    constraint live_seat_pkey primary key (player_id),
    constraint live_seat_game_fkey foreign key (game_id) references game (game_id),
    constraint live_seat_player_fkey foreign key (player_id) references player (player_id)
);
create index live_seat_game_idx on live_seat (game_id);

-- Who is owed which role: rated games with the hounds less rated games with the hare, ongoing ones
-- counted and aborted ones not.
create table role_balance (
    player_id uuid    not null,
    pool_id   text    not null,
    debt      integer not null default 0,
    last_role text,

    constraint role_balance_pkey primary key (player_id, pool_id),
    constraint role_balance_player_fkey foreign key (player_id) references player (player_id),
    constraint role_balance_pool_fkey foreign key (pool_id) references pool (pool_id),
    constraint role_balance_role_known check (last_role in ('hounds', 'hare'))
);

-- Aborted rated games, for the cool-down.
create table abort (
    game_id    uuid        not null,
    player_id  uuid        not null,
    pool_id    text        not null,
    aborted_at timestamptz not null,

    constraint abort_pkey primary key (game_id),
    constraint abort_game_fkey foreign key (game_id) references game (game_id),
    constraint abort_player_fkey foreign key (player_id) references player (player_id)
);
create index abort_player_idx on abort (player_id, aborted_at desc);
