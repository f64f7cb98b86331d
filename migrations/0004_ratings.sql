-- Ratings and where they came from. Written by `ratings`.

-- The published role offsets, append-only: what the hounds are worth in a pool, in rating points, is
-- a + b * (mean rating - 1500).
create table role_offset (
    role_offset_id bigint generated always as identity,
    pool_id        text             not null,
    a              double precision not null,
    b              double precision not null,
    a_error        double precision not null,
    b_error        double precision not null,
    sample_size    integer          not null,
    published_at   timestamptz      not null,

    constraint role_offset_pkey primary key (role_offset_id),
    constraint role_offset_pool_fkey foreign key (pool_id) references pool (pool_id)
);
create index role_offset_pool_idx on role_offset (pool_id, role_offset_id desc);

create table rating (
    player_id     uuid             not null,
    pool_id       text             not null,
    rating        double precision not null default 1500,
    rd            double precision not null default 350,
    volatility    double precision not null default 0.06,
    hounds_games  integer          not null default 0,
    hare_games    integer          not null default 0,
    last_rated_at timestamptz,

    constraint rating_pkey primary key (player_id, pool_id),
    constraint rating_player_fkey foreign key (player_id) references player (player_id),
    constraint rating_pool_fkey foreign key (pool_id) references pool (pool_id),
    constraint rating_bounds check (rating between 100 and 4000),
    constraint rating_rd_bounds check (rd between 45 and 350),
    constraint rating_volatility_bounds check (volatility between 0.03 and 0.1),
    constraint rating_played_has_time check ((last_rated_at is null) = (hounds_games + hare_games = 0))
);
create index rating_leaderboard_idx on rating (pool_id, rating desc, player_id desc) where rd <= 75;

-- In which order rated games were settled: drawn while both players' rows are held, so that for each
-- player it is the order in which the games changed the rating.
create sequence rating_order;

-- One row a game and player. The numbers can be computed again from the log, to the last bit.
create table rating_event (
    game_id        uuid             not null,
    player_id      uuid             not null,
    pool_id        text             not null,
    settled        bigint           not null,
    role           text             not null,
    opponent_id    uuid             not null,
    score          double precision not null,
    rating_before  double precision not null,
    rd_before      double precision not null,
    volatility_before double precision not null,
    rating_after   double precision not null,
    rd_after       double precision not null,
    volatility_after  double precision not null,
    expected_score double precision not null,
    advantage      double precision not null,
    role_offset_id bigint,
    rule_version   integer          not null,
    rated_at       timestamptz      not null,

    constraint rating_event_pkey primary key (game_id, player_id),
    constraint rating_event_game_fkey foreign key (game_id) references game (game_id),
    constraint rating_event_player_fkey foreign key (player_id) references player (player_id),
    constraint rating_event_pool_fkey foreign key (pool_id) references pool (pool_id),
    constraint rating_event_offset_fkey foreign key (role_offset_id) references role_offset (role_offset_id),
    constraint rating_event_one_per_role unique (game_id, role),
    constraint rating_event_role_known check (role in ('hounds', 'hare')),
    constraint rating_event_score_known check (score in (0, 0.5, 1)),
    constraint rating_event_bounds check (
        rating_after between 100 and 4000 and rd_after between 45 and 350 and volatility_after between 0.03 and 0.1
    )
);
create index rating_event_history_idx on rating_event (player_id, pool_id, settled desc);
create index rating_event_order_idx on rating_event (pool_id, settled);
