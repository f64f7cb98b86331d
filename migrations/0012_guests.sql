-- Guests, who play at once without signing up, and challenges that change. `player` is written by `accounts`,
-- `challenge` by `lobby`.
--
-- A guest has a made-up name and no password. Once it is an account it is like any other. One that has not been seen
-- for long is removed: its row stays, since games point at it, under the name `guest`, which nobody can take.

alter table player
    add column is_guest boolean not null default false,
    -- What makes a repeated request for a guest known as one: a SHA-256 hash of its key.
    add column guest_key bytea,
    add constraint player_guest_key unique (guest_key),
    add constraint player_guest_key_is_a_guests check (guest_key is null or is_guest),
    drop constraint player_closed_has_no_name,
    add constraint player_closed_has_no_name check (
        case
            when closed_at is null then username is not null and username <> 'guest'
            when is_guest then username = 'guest'
            else username is null
        end
    );
create index player_guest_idx on player (created_at) where is_guest and closed_at is null;

-- How often the challenger has changed what is proposed, so that nobody accepts what they have not seen.
alter table challenge
    add column version integer not null default 1;

-- After how long a side that shows no sign of life has left, for what a casual game does then. `game` is written by
-- `games`, `challenge` by `lobby`.
alter table game
    add column drop_after_ms integer not null default 60000,
    add constraint game_drop_after_range check (drop_after_ms between 30000 and 600000);
alter table challenge
    add column drop_after_ms integer not null default 60000,
    add constraint challenge_drop_after_range check (drop_after_ms between 30000 and 600000);
