-- The computer as a player, and how well finished games were played. The player's row is `accounts`', the rest is
-- written by `games`.
--
-- The computer has a row like everybody, so that its games are found like all others, and no password: nobody logs
-- in as it. Who moves the pieces of a side is the seat's: a level when the computer does, null when the player does.

insert into player (player_id, username, username_key, bio, is_bot, created_at) values
    ('00000000-0000-7000-8000-000000000001', 'computer', 'computer',
     'Plays at eight levels, the highest perfectly where the game is solved. Begin a game with POST /v1/games.',
     true, now());

alter table game
    add column hounds_computer smallint,
    add column hare_computer   smallint,
    -- Whether it is known how well both sides played; false for as long as no table knows the rules.
    add column analysed boolean not null default false,
    add constraint game_computer_level check (
        coalesce(hounds_computer, 1) between 1 and 8 and coalesce(hare_computer, 1) between 1 and 8
    ),
    add constraint game_computer_casual check (not rated or (hounds_computer is null and hare_computer is null));
create index game_with_computer_idx on game (game_id)
    where status = 'ongoing' and (hounds_computer is not null or hare_computer is not null);
create index game_not_analysed_idx on game (ended_at, game_id) where status = 'finished' and not analysed;

-- What makes a repeated POST of a game known as one.
create table game_request (
    player_id       uuid        not null,
    idempotency_key text        not null,
    request_hash    bytea       not null,
    game_id         uuid        not null,

    constraint game_request_pkey primary key (player_id, idempotency_key),
    constraint game_request_player_fkey foreign key (player_id) references player (player_id),
    constraint game_request_game_fkey foreign key (game_id) references game (game_id) deferrable initially deferred
);

-- How well each side of a finished game played, from the tables. A choice is a position with moves of different
-- worth; a test is one in which a single move keeps the result.
create table accuracy (
    game_id  uuid             not null,
    role     game_role        not null,
    player_id uuid            not null,
    accuracy double precision,
    choices  integer          not null,
    tests    integer          not null,
    passed   integer          not null,

    constraint accuracy_pkey primary key (game_id, role),
    constraint accuracy_game_fkey foreign key (game_id) references game (game_id),
    constraint accuracy_player_fkey foreign key (player_id) references player (player_id),
    constraint accuracy_range check (accuracy between 0 and 100),
    constraint accuracy_counts check (0 <= passed and passed <= tests and tests <= choices)
);
create index accuracy_player_idx on accuracy (player_id);
