-- What players are told, each in a numbered log of their own. Written by `events`; the one statement that records a
-- move writes the opponent's `your_turn` by itself (games/store.rs).
--
-- An event is written in the transaction of what it tells, as the last thing before the commit: the counters are the
-- last rows that any transaction takes, in the order of the players, so that two never wait for each other.

create type player_event_kind as enum ('ticket', 'challenge', 'game_started', 'your_turn', 'game_ended');

-- The number of each player's last event. No foreign keys here: they would lock the player's row for every move.
create table player_log (
    player_id   uuid    not null,
    last_number integer not null,

    constraint player_log_pkey primary key (player_id),
    constraint player_log_counts check (last_number > 0)
) with (fillfactor = 50);

-- Numbered from 1 without a gap. The oldest are swept away after a month.
create table player_event (
    player_id uuid              not null,
    number    integer           not null,
    kind      player_event_kind not null,
    at        timestamptz       not null,
    data      jsonb             not null,

    constraint player_event_pkey primary key (player_id, number)
);
-- Rows lie in the order of their time, so that the coarsest index finds the old ones, and it costs a move next to
-- nothing.
create index player_event_at_idx on player_event using brin (at);
