-- What must hold in a database of Leveret whatever happened to it: every query here returns no row.
--
-- Each one begins with a line that names what holds, and ends with a semicolon. They read no clock, so a test that
-- moves its own can run them. Run all with: psql "$DATABASE_URL" -f tests/audit.sql

-- name: the events of a game run from 1 without a gap
select game.game_id, count(event.number) as events, min(event.number), max(event.number)
from game
left join game_event event using (game_id)
group by game.game_id
having count(event.number) is distinct from max(event.number) or min(event.number) is distinct from 1;

-- name: every event is of a game
select event.game_id, event.number
from game_event event
left join game using (game_id)
where game.game_id is null;

-- name: the log begins with 'started' at the time of creation, and only there
select game.game_id, event.number, event.kind, event.at, game.created_at
from game
join game_event event using (game_id)
where (event.number = 1) <> (event.kind = 'started')
    or (event.kind = 'started' and event.at <> game.created_at);

-- name: the plies are in the order of the events, and the roles alternate: the hounds have the odd ones
select game_id, number, ply, role
from (
    select game_id, number, ply, role, row_number() over (partition by game_id order by number) as place
    from game_event
    where kind = 'move'
) move
where ply <> place or role::text is distinct from case when ply % 2 = 1 then 'hounds' else 'hare' end;

-- name: a game has ended exactly if its log has an 'ended' event with the same result, reason and time
select game.game_id, game.status, game.result, game.reason, game.ended_at, event.at, event.data
from game
left join game_event event on event.game_id = game.game_id and event.kind = 'ended'
where (game.status <> 'ongoing') <> (event.game_id is not null)
    or event.data ->> 'result' is distinct from game.result
    or event.data ->> 'reason' is distinct from game.reason
    or event.at is distinct from game.ended_at;

-- name: after the end there are no moves, draw offers or answers to one
select late.game_id, late.number, late.kind
from game_event ended
join game_event late on late.game_id = ended.game_id and late.number > ended.number
where ended.kind = 'ended'
    and late.kind not in ('rematch_offered', 'rematch_withdrawn', 'rematch_accepted', 'annulled');

-- name: rematches are spoken of, and games annulled, only after the end
select event.game_id, event.number, event.kind
from game_event event
left join game_event ended on ended.game_id = event.game_id and ended.kind = 'ended'
where event.kind in ('rematch_offered', 'rematch_withdrawn', 'rematch_accepted', 'annulled')
    and (ended.number is null or ended.number > event.number);

-- name: result and reason go together, and with who ended it and after how many plies
select game.game_id, game.status, game.result, game.reason, event.role
from game
join game_event event on event.game_id = game.game_id and event.kind = 'ended'
where (game.status = 'aborted') <> (game.reason = 'aborted')
    or (game.status = 'aborted' and (game.result is not null or (select count(*) from game_event where game_event.game_id = game.game_id and kind = 'move') >= 2 or event.role is null))
    or (game.reason = 'agreement' and (game.result <> 'draw' or event.role is null))
    or (game.reason = 'resignation' and (game.result not in ('hounds', 'hare') or event.role is null
        or event.role::text = game.result))
    or (game.reason = 'abandonment' and (event.role is null
        or (game.result <> 'draw' and event.role::text <> game.result)))
    or (game.reason = 'timeout' and (game.result not in ('hounds', 'hare') or event.role is null
        or event.role::text = game.result))
    or (game.reason in ('cornered', 'enclosed') and game.result <> 'hounds')
    or (game.reason in ('escaped', 'move-limit', 'stalling', 'hounds-stuck', 'hunters-too-few')
        and game.result <> 'hare')
    or (game.reason in ('repetition', 'no-progress') and game.result <> 'draw');

-- name: no move stands after its deadline, and a game ends on time exactly if its deadline is over
-- What a clock allows is added up from the log once more.
with event as (
    select
        event.game_id, number, kind, at, role, data, clock,
        count(*) filter (where kind = 'move') over earlier as plies,
        max(at) filter (where kind in ('started', 'move')) over earlier as began
    from game_event event
    join game using (game_id)
    where clock ->> 'kind' <> 'none'
    window earlier as (
        partition by event.game_id order by number rows between unbounded preceding and 1 preceding
    )
),
counted as (
    select
        *,
        coalesce(sum((data ->> 'ms')::bigint) filter (where kind = 'time_given') over (
            partition by game_id, plies order by number rows between unbounded preceding and 1 preceding
        ), 0) as given_ms
    from event
),
spent as (
    select
        *,
        case when kind = 'move' and plies >= 2
            then (clock ->> 'increment_ms')::bigint
                - greatest(0, round(extract(epoch from at - began) * 1000) - given_ms)
        end as gained_ms
    from counted
),
allowed as (
    select
        *,
        case
            when clock ->> 'kind' = 'correspondence' then (clock ->> 'days')::bigint * 86400000
            when plies < 2 then greatest(60000, (clock ->> 'turn_ms')::bigint)
            when clock ->> 'kind' = 'per_turn' then (clock ->> 'turn_ms')::bigint
            else (clock ->> 'initial_ms')::bigint + coalesce(sum(gained_ms) over (
                partition by game_id, plies % 2 order by number rows between unbounded preceding and 1 preceding
            ), 0)
        end as allowed_ms
    from spent
),
judged as (
    select
        *,
        began + (allowed_ms + given_ms)::bigint * interval '1 millisecond' as deadline,
        case plies % 2 when 0 then 'hounds' else 'hare' end as turn
    from allowed
)
select game_id, number, kind, at, role, data, plies, began, given_ms, allowed_ms, deadline
from judged
where (kind = 'move' and at > deadline)
    or (kind = 'time_given' and (
        role::text is distinct from turn
        or (data ->> 'ms')::bigint not between 1 and extract(epoch from at - began) * 1000 - given_ms
    ))
    or (kind = 'ended' and (
        (at > deadline) <> (data ->> 'deadline' is not null)
        or (data ->> 'deadline')::timestamptz <> deadline
        or (data ->> 'deadline' is not null and (
            role::text is distinct from turn
            or data ->> 'reason' <> case when plies < 2 then 'aborted' else 'timeout' end
            or data ->> 'result' = turn
        ))
    ));

-- name: nobody's game is claimed within a minute of what they did in it, or before both have moved
select claim.game_id, claim.role, claim.at, other.role as other, other.acted_at, other.plies
from game_event claim
cross join lateral (
    select max(at) filter (where role <> claim.role and kind <> 'time_given') as acted_at,
        count(*) filter (where kind = 'move') as plies, max(role::text) filter (where role <> claim.role) as role
    from game_event
    where game_event.game_id = claim.game_id
) other
join game on game.game_id = claim.game_id
where claim.kind = 'ended' and claim.data ->> 'reason' = 'abandonment' and (
    other.plies < 2 or other.acted_at > claim.at - interval '60 seconds'
    or case when game.rated then game.clock ->> 'kind' not in ('per_turn', 'fischer') else game.on_drop <> 'claim' end
);

-- name: only a clock that has run out ends a game on time
select game.game_id, game.clock, event.data
from game
join game_event event on event.game_id = game.game_id and event.kind = 'ended'
where game.reason = 'timeout' and event.data ->> 'deadline' is null;

-- name: every game that may end on time is looked at by then
-- With a stock of time the deadline depends on every move before; whoever reads the game finds it then.
select game.game_id, game.clock, game.look_at, turn.*
from game
cross join lateral (
    select
        count(*) filter (where kind = 'move') as plies,
        max(at) filter (where kind in ('started', 'move')) as began
    from game_event
    where game_event.game_id = game.game_id
) turn
where game.status = 'ongoing' and game.clock ->> 'kind' <> 'none' and (
    game.look_at is null
    or game.look_at > turn.began + interval '1 millisecond' * (
        coalesce((
            select sum((data ->> 'ms')::bigint)
            from game_event
            where game_event.game_id = game.game_id and kind = 'time_given' and at >= turn.began
        ), 0)
        + case
            when game.clock ->> 'kind' = 'correspondence' then (game.clock ->> 'days')::bigint * 86400000
            when turn.plies < 2 then greatest(60000, (game.clock ->> 'turn_ms')::bigint)
            else (game.clock ->> 'turn_ms')::bigint
        end
    )
);

-- name: a draw is agreed only on the other side's standing offer
select ended.game_id, ended.role, offered.kind, offered.role as offered_by
from game_event ended
left join game_event offered on offered.game_id = ended.game_id and offered.number = ended.number - 1
where ended.kind = 'ended' and ended.data ->> 'reason' = 'agreement'
    and (offered.kind is distinct from 'draw_offered' or offered.role = ended.role);

-- name: who wants a rematch is what the log says
select game.game_id, side.role, side.wanted, latest.kind
from game
cross join lateral (values ('hounds', game.hounds_rematch), ('hare', game.hare_rematch)) side (role, wanted)
left join lateral (
    select kind
    from game_event
    where game_event.game_id = game.game_id and game_event.role::text = side.role
        and kind in ('rematch_offered', 'rematch_withdrawn', 'rematch_accepted')
    order by number desc
    limit 1
) latest on true
where side.wanted <> coalesce(latest.kind in ('rematch_offered', 'rematch_accepted'), false);

-- name: there is a rematch exactly if both wanted one, and the log names it
select game.game_id, game.hounds_rematch, game.hare_rematch, event.data, rematch.game_id as rematch
from game
left join game rematch on rematch.rematch_of = game.game_id
left join game_event event on event.game_id = game.game_id and event.kind = 'rematch_accepted'
where (game.hounds_rematch and game.hare_rematch) <> (rematch.game_id is not null)
    or event.data ->> 'game' is distinct from rematch.game_id::text;

-- name: a rematch is of an ended game, between the same players by the same rules, roles swapped where agreed
select rematch.game_id, game.game_id as rematch_of
from game rematch
join game on game.game_id = rematch.rematch_of
where game.status = 'ongoing'
    or (rematch.variant, rematch.rules, rematch.clock, rematch.rated, rematch.on_drop, rematch.swap_roles)
        <> (game.variant, game.rules, game.clock, game.rated, game.on_drop, game.swap_roles)
    or rematch.pool_id is distinct from game.pool_id
    or (rematch.hounds_id, rematch.hare_id) <> case
        when game.swap_roles then row (game.hare_id, game.hounds_id)
        else row (game.hounds_id, game.hare_id)
    end;

-- name: a game that counts for a pool is of its variant, rules and clock, and has ratings to show
select game.game_id, game.pool_id, game.variant, game.rules, game.clock
from game
join pool using (pool_id)
where game.variant <> pool.variant or not game.rules @> pool.rules or game.clock <> pool.clock
    or game.hounds_rating is null or game.hare_rating is null;

-- name: an ongoing rated real-time game, and no other, holds the seats of both its players
select game.game_id, game.status, game.rated, game.clock, array_agg(seat.player_id) as seated
from game
left join live_seat seat using (game_id)
group by game.game_id
having case
    when game.status = 'ongoing' and game.rated and game.clock ->> 'kind' in ('per_turn', 'fischer')
        then count(seat.player_id) <> 2 or not bool_and(seat.player_id in (game.hounds_id, game.hare_id))
    else count(seat.player_id) > 0
end;

-- name: a finished rated game of two plies or more has two rating events, unless annulled or of a banned player
select game.game_id, count(event.game_id) as events
from game
left join rating_event event using (game_id)
where game.status = 'finished' and game.rated and (select count(*) from game_event where game_event.game_id = game.game_id and kind = 'move') >= 2
    and not exists (
        select from game_event
        where game_event.game_id = game.game_id and game_event.kind = 'annulled'
    )
    -- Whoever was banned when the game ended may be unbanned by now.
    and not exists (
        select from player
        where player_id in (game.hounds_id, game.hare_id) and banned_at is not null
    )
    and not exists (
        select from session
        where player_id in (game.hounds_id, game.hare_id) and end_reason = 'banned'
    )
group by game.game_id
having count(event.game_id) <> 2;

-- name: no rating event is of an unrated, unfinished, annulled or too short game
select event.game_id, event.player_id, game.status, game.rated
from rating_event event
join game using (game_id)
where game.status <> 'finished' or not game.rated or (select count(*) from game_event where game_event.game_id = game.game_id and kind = 'move') < 2
    or exists (
        select from game_event
        where game_event.game_id = game.game_id and game_event.kind = 'annulled'
    );

-- name: a rating event is of the game's pool, players, result and end
select event.game_id, event.player_id, event.role, event.score, game.result
from rating_event event
join game using (game_id)
where event.pool_id is distinct from game.pool_id
    or event.rated_at is distinct from game.ended_at
    or (event.player_id, event.opponent_id) <> case event.role
        when 'hounds' then row (game.hounds_id, game.hare_id)
        else row (game.hare_id, game.hounds_id)
    end
    or event.score is distinct from case game.result when 'draw' then 0.5 when event.role then 1.0 else 0.0 end;

-- name: the two rating events of a game are two sides of one reckoning
select hounds.game_id, hounds.settled, hare.settled as hare_settled
from rating_event hounds
full join rating_event hare on hare.game_id = hounds.game_id and hare.role = 'hare'
where hounds.role = 'hounds' and (
    hare.game_id is null
    or hounds.settled <> hare.settled
    or hounds.score + hare.score <> 1
    or abs(hounds.expected_score + hare.expected_score - 1) > 1e-5
    or hounds.advantage <> hare.advantage
    or hounds.role_offset_id is distinct from hare.role_offset_id
    or hounds.rule_version <> hare.rule_version
);

-- name: every place in the order of settling belongs to one game
select settled, array_agg(distinct game_id) as games
from rating_event
group by settled
having count(distinct game_id) > 1;

-- name: every rating event begins where the player's last one in the pool ended; only idle time adds to the rd
select player_id, pool_id, game_id, settled, last_rating, rating_before, last_rd, rd_before
from (
    select
        *,
        coalesce(lag(rating_after) over earlier, 1500) as last_rating,
        coalesce(lag(rd_after) over earlier, 350) as last_rd,
        coalesce(lag(volatility_after) over earlier, 0.06) as last_volatility
    from rating_event
    window earlier as (partition by player_id, pool_id order by settled)
) event
where rating_before <> last_rating or rd_before < last_rd or volatility_before <> last_volatility;

-- name: a rating is what the last rating event left, and counts them by role
select rating.player_id, rating.pool_id, rating.rating, latest.rating_after, hounds_games, hare_games, counts.*
from rating
left join lateral (
    select rating_after, rd_after, volatility_after, rated_at
    from rating_event event
    where event.player_id = rating.player_id and event.pool_id = rating.pool_id
    order by settled desc
    limit 1
) latest on true
cross join lateral (
    select count(*) filter (where role = 'hounds') as hounds, count(*) filter (where role = 'hare') as hare
    from rating_event event
    where event.player_id = rating.player_id and event.pool_id = rating.pool_id
) counts
where rating.rating <> coalesce(latest.rating_after, 1500)
    or rating.rd <> coalesce(latest.rd_after, 350)
    or rating.volatility <> coalesce(latest.volatility_after, 0.06)
    or rating.last_rated_at is distinct from latest.rated_at
    or hounds_games <> counts.hounds
    or hare_games <> counts.hare;

-- name: whoever has a rating event has a rating
select distinct player_id, pool_id
from rating_event
where not exists (
    select from rating
    where rating.player_id = rating_event.player_id and rating.pool_id = rating_event.pool_id
);

-- name: the role debt is the rated games with the hounds less those with the hare, aborted ones aside
select coalesce(balance.player_id, played.player_id) as player_id, pool_id, balance.debt, played.debt as played
from role_balance balance
full join (
    select player_id, pool_id, sum(weight) as debt
    from game
    cross join lateral (values (hounds_id, 1), (hare_id, -1)) side (player_id, weight)
    where rated and status <> 'aborted'
    group by player_id, pool_id
) played using (player_id, pool_id)
where coalesce(balance.debt, 0) <> coalesce(played.debt, 0);

-- name: the last role is that of the newest rated game that was not aborted
-- Two games made within 5 seconds, by two processes, may be recorded in the other order.
select balance.player_id, balance.pool_id, balance.last_role, newest.roles
from role_balance balance
cross join lateral (
    select array_agg(role) filter (where created_at > newest_at - interval '5 seconds') as roles
    from (
        select
            created_at,
            case when hounds_id = balance.player_id then 'hounds' else 'hare' end as role,
            max(created_at) over () as newest_at
        from game
        where balance.player_id in (hounds_id, hare_id) and game.pool_id = balance.pool_id
            and rated and status <> 'aborted'
    ) played
) newest
where case
    when newest.roles is null then balance.last_role is not null
    else balance.last_role is null or balance.last_role <> all (newest.roles)
end;

-- name: an aborted rated game, and no other, is noted, with the one of its players because of whom it was
select coalesce(game.game_id, abort.game_id) as game_id, game.status, game.rated, abort.player_id, event.role
from game
full join abort using (game_id)
left join game_event event on event.game_id = game.game_id and event.kind = 'ended'
where (game.rated and game.status = 'aborted') <> (abort.game_id is not null)
    or (abort.game_id is not null and (
        abort.pool_id <> game.pool_id
        or abort.no_show <> (event.data ->> 'deadline' is not null)
        or abort.player_id is distinct from case event.role
            when 'hounds' then game.hounds_id
            when 'hare' then game.hare_id
        end
    ));

-- name: a matched ticket has a rated game of its pool, with its player in it, made when it ended
select ticket.player_id, ticket.pool_id, ticket.game_id
from ticket
left join game using (game_id)
where ticket.status = 'matched' and (
    game.game_id is null
    or ticket.player_id not in (game.hounds_id, game.hare_id)
    or ticket.pool_id is distinct from game.pool_id
    or not game.rated
    or ticket.ended_at <> game.created_at
);

-- name: with a correspondence clock a game waits for whoever is away, and a casual one says so
select game_id, clock, on_drop
from game
where clock ->> 'kind' = 'correspondence' and on_drop <> 'wait';

-- name: a player has one queued ticket at most
select player_id, array_agg(pool_id) as pools
from ticket
where status = 'queued'
group by player_id
having count(*) > 1;

-- name: an accepted challenge has its game, as it asked for, between the challenger and whom it was sent to
select challenge.challenge_id, challenge.game_id
from challenge
left join game using (game_id)
where challenge.status = 'accepted' and (
    game.game_id is null
    or challenge.challenger_id not in (game.hounds_id, game.hare_id)
    or challenge.opponent_id not in (game.hounds_id, game.hare_id)
    or (challenge.variant, challenge.rules, challenge.clock, challenge.rated, challenge.on_drop, challenge.swap_roles)
        <> (game.variant, game.rules, game.clock, game.rated, game.on_drop, game.swap_roles)
    or challenge.pool_id is distinct from game.pool_id
    or (challenge.role = 'hounds' and challenge.challenger_id <> game.hounds_id)
    or (challenge.role = 'hare' and challenge.challenger_id <> game.hare_id)
    or challenge.ended_at <> game.created_at
);

-- name: a game comes from one thing: a challenge, two tickets, a rematch or the wish to play the computer
-- Tickets are forgotten when their player joins the pool again, so only doubles can be seen.
select game.game_id, game.rematch_of, challenges, tickets
from game
cross join lateral (select count(*) from challenge where challenge.game_id = game.game_id) made (challenges)
cross join lateral (select count(*) from ticket where ticket.game_id = game.game_id) matched (tickets)
where challenges > 1 or tickets > 2
    or (challenges > 0)::int + (tickets > 0)::int + (game.rematch_of is not null)::int > 1
    or (challenges = 0 and game.rematch_of is null and not game.rated
        and hounds_computer is null and hare_computer is null);

-- name: a live session that has tokens left has one that can be spent
select session.session_id, count(*) as tokens
from session
join refresh_token token using (session_id)
where session.ended_at is null
group by session.session_id
having count(*) filter (where token.spent_at is null) <> 1;

-- name: a closed account has neither password nor profile nor session; an open one has a password, if it is no guest's
select player.player_id, player.closed_at, password.player_id is not null as has_password
from player
left join password using (player_id)
where (player.closed_at is null and player.username <> 'computer' and not player.is_guest) <> (password.player_id is not null)
    or (player.closed_at is not null and (
        player.bio <> ''
        or exists (select from session where session.player_id = player.player_id and session.ended_at is null)
    ));

-- name: a banned player has no session
select player.player_id, player.banned_at, session.session_id
from player
join session using (player_id)
where player.banned_at is not null and session.ended_at is null;

-- name: the computer plays where it is seated, and nowhere is it left out
select game_id, hounds_id, hounds_computer, hare_id, hare_computer
from game
where (hounds_id = '00000000-0000-7000-8000-000000000001' and hounds_computer is null)
    or (hare_id = '00000000-0000-7000-8000-000000000001' and hare_computer is null);

-- name: accuracies are of finished games that were looked at, and of the players who played them
select accuracy.game_id, accuracy.role, accuracy.player_id
from accuracy
join game using (game_id)
where game.status <> 'finished' or not game.analysed
    or accuracy.player_id <> case role when 'hounds' then hounds_id else hare_id end;

-- name: a side without a choice has no accuracy, and every other one has
select game_id, role, choices, accuracy
from accuracy
where (choices = 0) <> (accuracy is null);

-- name: a repeated request is of one of the players of the game that it made
select game_request.game_id, game_request.player_id
from game_request
join game using (game_id)
where game_request.player_id not in (hounds_id, hare_id);

-- name: what a player is told is numbered without a gap, up to the number that the log counts
select coalesce(log.player_id, event.player_id) as player_id, log.last_number, event.events, event.first, event.last
from player_log log
full join (
    select player_id, count(*) as events, min(number) as first, max(number) as last
    from player_event
    group by player_id
) event using (player_id)
where log.player_id is null
    or event.events <> event.last - event.first + 1
    or event.last <> log.last_number;

-- name: every move that did not end its game told the opponent that it is their turn, once, and so did every start
select turn.game_id, turn.ply, turn.player_id, count(told.number) as times
from (
    select game.game_id, 0 as ply, game.hounds_id as player_id, game.created_at as at
    from game
    union all
    select game.game_id, move.ply, case when move.role = 'hounds' then game.hare_id else game.hounds_id end, move.at
    from game
    join game_event move on move.game_id = game.game_id and move.kind = 'move'
    left join game_event ended
        on ended.game_id = game.game_id and ended.number = move.number + 1 and ended.kind = 'ended' and ended.role is null
    where ended.number is null
) turn
left join player_event told
    on told.player_id = turn.player_id and told.kind = 'your_turn' and told.at = turn.at
    and told.data = jsonb_build_object('game', turn.game_id, 'ply', turn.ply)
where turn.at > (select max(at) - interval '30 days' from game_event)
    and turn.player_id <> '00000000-0000-7000-8000-000000000001'
group by turn.game_id, turn.ply, turn.player_id
having count(told.number) <> 1;

-- name: nobody is told of a turn that is not theirs
select told.player_id, told.number, told.data
from player_event told
left join game on game.game_id = (told.data ->> 'game')::uuid
where told.kind = 'your_turn'
    and (game.game_id is null
        or told.player_id <> case when (told.data ->> 'ply')::int % 2 = 0 then game.hounds_id else game.hare_id end);

-- name: both players are told of the start and the end of each of their games, once
select game.game_id, side.player_id, told.kind, count(event.number) as times
from game
cross join lateral (values (game.hounds_id, 'hounds'), (game.hare_id, 'hare')) side (player_id, role)
cross join lateral (
    values ('game_started', game.created_at), ('game_ended', game.ended_at)
) told (kind, at)
left join player_event event
    on event.player_id = side.player_id and event.kind::text = told.kind and event.at = told.at
    and event.data ->> 'game' = game.game_id::text and event.data ->> 'role' = side.role
    and (told.kind = 'game_started'
        or (event.data ->> 'result' is not distinct from game.result and event.data ->> 'reason' = game.reason))
where told.at > (select max(at) - interval '30 days' from game_event)
    and side.player_id <> '00000000-0000-7000-8000-000000000001'
group by game.game_id, side.player_id, told.kind
having count(event.number) <> 1;

-- name: the last that a player was told of a ticket in a pool is what became of it
select ticket.player_id, ticket.pool_id, ticket.status, ticket.game_id, told.data
from ticket
left join lateral (
    select data
    from player_event
    where player_event.player_id = ticket.player_id and kind = 'ticket' and data ->> 'pool' = ticket.pool_id
    order by number desc
    limit 1
) told on true
where coalesce(ticket.ended_at, ticket.created_at) > (select max(at) - interval '30 days' from player_event)
    and (told.data ->> 'status' is distinct from ticket.status
        or told.data ->> 'game' is distinct from ticket.game_id::text);

-- name: the last that both sides were told of a challenge is what became of it
select challenge.challenge_id, side.player_id, challenge.status, told.data
from challenge
cross join lateral (values (challenger_id), (opponent_id)) side (player_id)
left join lateral (
    select data
    from player_event
    where player_event.player_id = side.player_id and kind = 'challenge'
        and data ->> 'challenge' = challenge.challenge_id::text
    order by number desc
    limit 1
) told on true
where side.player_id is not null
    and coalesce(challenge.ended_at, challenge.created_at) > (select max(at) - interval '30 days' from player_event)
    and (told.data ->> 'status' is distinct from challenge.status
        or told.data ->> 'game' is distinct from challenge.game_id::text);

-- name: a guest has no password and no rated game, and plays in no pool
select player_id, username
from player
where is_guest
    and (
        exists (select from password where password.player_id = player.player_id)
        or exists (select from game where rated and player_id in (hounds_id, hare_id))
        or exists (select from ticket where ticket.player_id = player.player_id)
    );
