-- Seats that the computer takes for players who have left, and presence as an event. Written by `games`.

alter type game_event_kind add value if not exists 'seat';
alter type game_event_kind add value if not exists 'presence';

-- What the log said last of each side's presence.
alter table game
    add column hounds_away boolean not null default false,
    add column hare_away   boolean not null default false;
