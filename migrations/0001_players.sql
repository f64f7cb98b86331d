-- Who plays here. Written by `accounts`.
--
-- A closed account keeps its row, since games point at it: the name, the profile and the password
-- are gone, and `username_key` stays taken, so that nobody can play under a name that others knew.

create table player (
    player_id    uuid        not null,
    username     text,
    username_key text        not null,
    bio          text        not null default '',
    is_bot       boolean     not null default false,
    created_at   timestamptz not null,
    closed_at    timestamptz,
    banned_at    timestamptz,

    constraint player_pkey primary key (player_id),
    constraint player_username_key unique (username_key),
    constraint player_username_form check (username ~ '^[A-Za-z0-9_-]{3,20}$'),
    constraint player_username_key_lower check (username_key = lower(username_key)),
    constraint player_bio_length check (char_length(bio) <= 400),
    constraint player_closed_has_no_name check ((username is null) = (closed_at is not null))
);

-- One password a player, as an Argon2id hash in the PHC string form.
create table password (
    player_id  uuid        not null,
    hash       text        not null,
    changed_at timestamptz not null,

    constraint password_pkey primary key (player_id),
    constraint password_player_fkey foreign key (player_id) references player (player_id),
    constraint password_is_argon2id check (hash like '$argon2id$%')
);
