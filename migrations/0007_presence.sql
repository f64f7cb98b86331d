-- Players who leave: when everybody was last there, and what becomes of a game whose player is gone.

-- When a player last showed a sign of life: any call with their token, or an open stream. Written by `lobby`, every
-- two seconds for all who did.
create table presence (
    player_id uuid        not null,
    seen_at   timestamptz not null,

    constraint presence_pkey primary key (player_id)
) with (fillfactor = 50);

-- What a casual game does for a side that has left; in rated games it follows from the clock. `game` is written by
-- `games`, `challenge` by `lobby`.
alter table game
    add column on_drop text not null default 'wait',
    add constraint game_on_drop_known check (on_drop in ('computer', 'claim', 'wait'));
alter table challenge
    add column on_drop text not null default 'wait',
    add constraint challenge_on_drop_known check (on_drop in ('computer', 'claim', 'wait'));
create index game_computer_idx on game (game_id) where status = 'ongoing' and on_drop = 'computer';
