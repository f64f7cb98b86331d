-- Clocks that run: when to look at a game, and when the service was last alive. Written by `games`.
--
-- What a side has left is what the log adds up to, so a move still writes one row and no clock. A game has an
-- instant instead before which its time cannot run out, whatever is played: then somebody looks at its log, and
-- either ends it or writes down when to look again.

-- Time that the service was down and that was given back: `data` has how much, `{"ms": 4200}`.
alter type game_event_kind add value 'time_given';

-- Null: there is no clock. Games of an older version are to be looked at at once.
alter table game add column look_at timestamptz default '-infinity';
create index game_look_idx on game (look_at) where status = 'ongoing';

-- One row: when a process last showed that the service is alive, and since when it has been without a break. Both
-- are null until the first process with running clocks starts: nothing is charged for the time before.
create table sign_of_life (
    only_row boolean     not null default true,
    at       timestamptz,
    up_since timestamptz,

    constraint sign_of_life_pkey primary key (only_row),
    constraint sign_of_life_one check (only_row),
    constraint sign_of_life_whole check ((at is null) = (up_since is null))
);
insert into sign_of_life default values;

-- Whether the game was aborted by this player, or because this player did not begin to play in time.
alter table abort add column no_show boolean not null default false;
