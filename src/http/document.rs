//! The OpenAPI document, made from the routes themselves.
//!
//! A handler documents what only it knows: its success, and in `x-problems` the problems of its own. What every
//! operation has in common (what a missing token is answered with, the request's id on every answer) is added here,
//! so that it can neither be forgotten nor differ.

use std::{collections::BTreeSet, sync::LazyLock};

use actix_web::App;
use serde_json::{Value, json};
use utoipa::{
    OpenApi as _,
    openapi::{
        Content, Info, License, OpenApi, PathItem, Ref, RefOr, Server,
        example::Example,
        header::{Header, HeaderBuilder},
        path::{Operation, Parameter, ParameterBuilder, ParameterIn},
        response::{Response, ResponseBuilder},
        schema::{Components, Object, Schema, Type},
        security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
        tag::{Tag, TagBuilder},
    },
};
use utoipa_actix_web::AppExt;

use super::error::{self, FieldError, Problem, ProblemDocument};

/// The extension by which an operation names its problems.
const PROBLEMS_EXTENSION: &str = "x-problems";

const PROBLEM_JSON: &str = "application/problem+json";

const DESCRIPTION: &str = "\
Ranked play for hunt games: Hare and Hounds, and Catch the Hare.

**A first game.** `POST /v1/accounts` signs up and logs in. `GET /v1/variants` tells everything about the games, \
boards and notation included. `PUT /v1/pools/{pool}/ticket` looks for an opponent; once `status` is `matched`, \
`game` is the id. `GET /v1/games/{id}` is all that is needed to play and to draw, and \
`PUT /v1/games/{id}/moves/{ply + 1}` plays.

**Data.** JSON in UTF-8 with names in `snake_case`. Ids are UUIDs. Instants are RFC 3339 in UTC with milliseconds; \
durations are integers in milliseconds, named `…_ms`. Clients should ignore members that they do not know: new ones \
may be added.

**Who is asking.** `Authorization: Bearer <access token>`. An access token lives for minutes; \
`POST /v1/sessions/refresh` trades the refresh token for new ones, each refresh token once. Games, players and \
ratings can be read without a token. A token that is sent must be good, even where none is needed.

**Errors.** Every failure is a problem document (RFC 9457) of type `application/problem+json`: `type` is stable and \
a GET of it explains it, `detail` tells what happened this time, `instance` is the request's id, also found in the \
header `x-request-id` of every answer. Act on `type`; show `detail` to people. `GET /problems` lists all types.

**Trying again.** Every PUT and DELETE may be sent again: a move that is already recorded is answered with what was \
recorded. A POST that makes something takes an `Idempotency-Key` (1 to 64 visible ASCII characters; a UUID does \
well) and answers a repeat for what the first one made.

**Clocks.** A game's `clock` shows what both sides have left as of `server_now`, and the `deadline` of the side to \
move. A move counts if it arrives at or before the deadline, to the millisecond; a millisecond later the game is over \
(`timeout`), also with nobody connected. Until a side has made its first move its clock stands: it has 60 seconds for \
that move, or the time of a turn if that is longer, and the game is `aborted` if it does not begin. `per_turn` gives \
the same time for every turn; `fischer` a stock, to which each move but the first adds the increment; \
`correspondence` days for every turn. Time that the service was down is given back to whoever was to move. Count down \
to `deadline`, by the difference of `server_now` to your own clock; nothing needs to be asked for that.

**Leaving.** A side that has shown no sign of life for 30 seconds (any call with its token, or an open stream) is not \
`present`. After `drop_after_ms`, a minute if nobody chose otherwise, the other side may `POST /v1/games/{id}/claim` a win or a draw, whoever's turn it is, in \
rated real-time games and in casual ones with `on_drop` `claim`; `claimable_at` tells from when on. Not in \
`correspondence` games: there the clock decides. Whoever aborts rated games again and again, or does not begin to play \
in them, waits before the next pool.

**Budgets.** Each class of request has a budget of its own, which `RateLimit-Policy` tells and `RateLimit` counts: \
600 moves, 300 other writes and 1,200 reads a minute, by player, or by address without a token. No other traffic \
uses up the budget for moves. Beyond it comes 429 with `Retry-After`.

**Lists.** `{\"items\": […], \"next\": …}`: `next` is null at the end, and otherwise the `cursor` of the next page, \
which the header `Link: <…>; rel=\"next\"` leads to as well. `limit` is 1 to 200, 50 if nobody says otherwise.

**Watching.** `GET /v1/games/{id}/events` and `GET /v1/me/events` stream what happens, each event with a number; a \
client that comes back says the last one it has and misses nothing. The same paths with \
`Accept: application/json` are long polls over the same numbers.

**Polling.** What clients poll has an `ETag`; send it back as `If-None-Match` and an unchanged thing is answered \
with 304 and no body; time that passes on a clock changes nothing. `HEAD` works wherever `GET` does. Every path may be called from any web page (CORS).";

const TAGS: &[(&str, &str)] = &[
    ("Accounts", "Signing up, logging in, and what belongs to one's own account."),
    ("Variants", "The games that can be played: boards, house rules and notation, as data."),
    (
        "Lobby",
        "Finding an opponent: ranked pools, which give the role that is due, and challenges by any rules.",
    ),
    ("Games", "Playing, ending and reading games."),
    ("Analysis", "What positions and finished games are worth, exactly: both games are solved."),
    ("Watching", "What happens, as it happens: streams of numbered events, and polls over the same numbers."),
    ("Players", "Profiles, ratings and their history, statistics, leaderboards."),
    ("Operations", "Running the service, and reading about it."),
];

/// Operations that an operator's machines ask: without budgets, and next to nothing can go wrong in them.
const WITHOUT_COMMON_PROBLEMS: &[&str] = &["/healthz", "/metrics"];

/// Paths that no budget applies to.
const WITHOUT_BUDGET: &[&str] = &["/healthz", "/readyz", "/metrics"];

#[derive(utoipa::OpenApi)]
#[openapi(components(schemas(ProblemDocument, FieldError)))]
struct Base;

/// The whole document.
pub fn openapi() -> OpenApi {
    static DOCUMENT: LazyLock<OpenApi> = LazyLock::new(build);
    DOCUMENT.clone()
}

/// The document as it stands in `openapi/v1.json`.
pub fn json() -> String {
    let mut text = openapi().to_pretty_json().expect("the document consists of maps with text keys");
    text.push('\n');
    text
}

/// The methods that a path has, HEAD with GET, in upper case.
pub fn methods(item: &PathItem) -> Vec<&'static str> {
    let present = [
        ("GET", item.get.is_some()),
        ("HEAD", item.get.is_some()),
        ("PUT", item.put.is_some()),
        ("POST", item.post.is_some()),
        ("PATCH", item.patch.is_some()),
        ("DELETE", item.delete.is_some()),
    ];
    present.into_iter().filter_map(|(method, is_present)| is_present.then_some(method)).collect()
}

fn build() -> OpenApi {
    let (_, mut document) =
        App::new().into_utoipa_app().openapi(base()).configure(super::routes).split_for_parts();
    let mut used = BTreeSet::new();
    for (path, item) in &mut document.paths.paths {
        let operations = [&mut item.get, &mut item.put, &mut item.post, &mut item.patch, &mut item.delete];
        for operation in operations.into_iter().flatten() {
            used.extend(operation.tags.iter().flatten().cloned());
            complete(path, operation);
        }
    }
    let known: BTreeSet<String> = TAGS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let described =
        TAGS.iter().filter(|(name, _)| used.contains(*name)).map(|(name, text)| tag(name, Some(text)));
    let undescribed = used.difference(&known).map(|name| tag(name, None));
    document.tags = Some(described.chain(undescribed).collect());
    document
}

fn tag(name: &str, description: Option<&str>) -> Tag {
    TagBuilder::new().name(name).description(description).build()
}

fn base() -> OpenApi {
    let mut license = License::new("MIT OR Apache-2.0");
    license.identifier = Some("MIT OR Apache-2.0".to_owned());
    let mut info = Info::new("Leveret", env!("CARGO_PKG_VERSION"));
    info.description = Some(DESCRIPTION.to_owned());
    info.license = Some(license);

    let mut document = Base::openapi();
    document.info = info;
    document.servers = Some(vec![Server::new("/")]);
    let components = document.components.get_or_insert_with(Components::new);
    name_problem_types(components);
    for problem in error::PROBLEMS {
        components.examples.insert(problem.name.to_owned(), RefOr::T(example(problem)));
    }
    for (key, _, header) in headers() {
        components.headers.insert(key.to_owned(), RefOr::T(header));
    }
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .bearer_format("JWT")
        .description(Some("An access token, from `POST /v1/sessions` or `POST /v1/accounts`."))
        .build();
    components.add_security_scheme("bearer", SecurityScheme::Http(bearer));
    document
}

/// Lists every type in the schema of a problem.
fn name_problem_types(components: &mut Components) {
    let Some(RefOr::T(Schema::Object(problem))) = components.schemas.get_mut("Problem") else { return };
    let Some(RefOr::T(Schema::Object(kind))) = problem.properties.get_mut("type") else { return };
    kind.enum_values = Some(error::PROBLEMS.iter().map(|problem| uri(problem).into()).collect());
}

fn uri(problem: &Problem) -> String {
    format!("/problems/{}", problem.name)
}

fn example(problem: &'static Problem) -> Example {
    let mut value = json!({
        "type": uri(problem),
        "title": problem.title,
        "status": problem.status,
        "detail": problem.explanation,
        "instance": "0199f3a0-5c1e-7b3a-9d2e-6a1f0c4b8e21",
    });
    let members = match problem.name {
        "invalid-fields" => json!({
            "detail": "/username: must have 3 to 20 characters",
            "errors": [{"pointer": "/username", "detail": "must have 3 to 20 characters"}],
        }),
        "illegal-move" => json!({
            "detail": "b1-e1 is not a legal move: no line joins the two points",
            "legal_moves": ["a2-b2", "b1-b2", "b1-c1", "b1-c2"],
        }),
        "ply-conflict" => json!({"detail": "the game is at ply 4", "ply": 4}),
        "already-playing" => json!({"game": "0199f3a0-5c1e-7b3a-9d2e-6a1f0c4b8e21"}),
        "cooling-down" => json!({"until": "2026-12-01T10:05:00.000Z", "retry_after_ms": 300_000}),
        "opponent-is-here" => json!({"until": "2026-12-01T10:01:00.000Z"}),
        "too-many-requests" => json!({
            "detail": "the budget for moves is 600 a minute; the next is possible in 100 ms",
            "retry_after_ms": 100,
        }),
        "unavailable" => json!({"retry_after_ms": 1000}),
        _ => json!({}),
    };
    if let (Value::Object(value), Value::Object(members)) = (&mut value, members) {
        value.extend(members);
    }
    let mut example = Example::new();
    example.summary = problem.title.to_owned();
    example.value = Some(value);
    example
}

/// The headers that more than one operation has: key in the components, name on the wire, and description.
fn headers() -> [(&'static str, &'static str, Header); 9] {
    let header = |kind: Type, description: &str, example: Value| {
        HeaderBuilder::new()
            .schema(Some(Object::with_type(kind)))
            .description(Some(description))
            .example(Some(example))
            .build()
    };
    let text = |description: &str, example: &str| header(Type::String, description, example.into());
    [
        (
            "RequestId",
            "x-request-id",
            text(
                "The request's id. Quote it when you report a problem.",
                "0199f3a0-5c1e-7b3a-9d2e-6a1f0c4b8e21",
            ),
        ),
        (
            "RateLimitPolicy",
            "ratelimit-policy",
            text("The budget of this class of request: q requests in w seconds.", "\"moves\";q=600;w=60"),
        ),
        ("RateLimit", "ratelimit", text("What is left of the budget.", "\"moves\";r=599")),
        (
            "RetryAfter",
            "retry-after",
            header(Type::Integer, "After how many seconds to ask again, rounded up.", 1.into()),
        ),
        ("Authenticate", "www-authenticate", text("How to say who is asking.", "Bearer realm=\"leveret\"")),
        (
            "Location",
            "location",
            text("Where the new thing is.", "/v1/games/0199f3a0-5c1e-7b3a-9d2e-6a1f0c4b8e21"),
        ),
        (
            "ETag",
            "etag",
            text(
                "Stands for this very content: send it back as If-None-Match.",
                "\"q83vEjRWeJCrze8SNFZ4kA\"",
            ),
        ),
        ("CacheControl", "cache-control", text("Whether and how long the answer may be kept.", "no-cache")),
        (
            "Link",
            "link",
            text("The next page, when there is one.", "</v1/games?cursor=AZnzoFwe&limit=50>; rel=\"next\""),
        ),
    ]
}

fn header_ref(key: &str) -> RefOr<Header> {
    RefOr::Ref(Ref::new(format!("#/components/headers/{key}")))
}

/// Adds what the operation has in common with others.
fn complete(path: &str, operation: &mut Operation) {
    if has_response(operation, "304") {
        let validator = ParameterBuilder::new()
            .name("If-None-Match")
            .parameter_in(ParameterIn::Header)
            .description(Some("The ETag of the content that is at hand"))
            .schema(Some(Object::with_type(Type::String)))
            .build();
        operation.parameters.get_or_insert_default().push(RefOr::T(validator));
    }
    operation.parameters.iter_mut().flatten().for_each(describe);
    let problems = problems(path, operation);
    let names: Vec<&str> = problems.iter().map(|problem| problem.name).collect();
    operation.extensions.get_or_insert_default().insert(PROBLEMS_EXTENSION.to_owned(), json!(names));
    for status in problems.iter().map(|problem| problem.status).collect::<BTreeSet<u16>>() {
        let of_status: Vec<&Problem> =
            problems.iter().copied().filter(|problem| problem.status == status).collect();
        add_problems(operation, status, &of_status);
    }
    add_headers(path, operation);
}

/// Gives a parameter that has no description of its own that of its values.
fn describe(parameter: &mut RefOr<Parameter>) {
    let RefOr::T(parameter) = parameter else { return };
    if let (None, Some(RefOr::T(Schema::Object(values)))) = (&parameter.description, &parameter.schema) {
        parameter.description.clone_from(&values.description);
    }
}

/// The problems of an operation, by status: its own, and those that follow from what it is.
fn problems(path: &str, operation: &Operation) -> Vec<&'static Problem> {
    let own = operation.extensions.as_ref().and_then(|extensions| extensions.get(PROBLEMS_EXTENSION));
    let own = own.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let own = own.map(|name| {
        let problem = error::PROBLEMS.iter().find(|problem| problem.name == name);
        problem.unwrap_or_else(|| panic!("{path} names the problem {name}, which is not in the catalogue"))
    });
    let mut problems: Vec<&Problem> = own.copied().collect();

    if !WITHOUT_COMMON_PROBLEMS.contains(&path) {
        problems.extend([error::TOO_MANY_REQUESTS, error::INTERNAL, error::UNAVAILABLE]);
    }
    let ways_in =
        operation.security.iter().flatten().map(|way| json!(way) != json!({})).collect::<Vec<bool>>();
    if ways_in.contains(&true) {
        problems.push(error::TOKEN_INVALID);
        if !ways_in.contains(&false) {
            problems.push(error::TOKEN_MISSING);
        }
    }
    let body = operation.request_body.as_ref().and_then(|body| match body {
        RefOr::T(body) => Some(body),
        RefOr::Ref(_) => None,
    });
    if body.is_some_and(|body| body.content.contains_key("application/json")) {
        problems.extend([error::MALFORMED_REQUEST, error::PAYLOAD_TOO_LARGE, error::UNSUPPORTED_MEDIA_TYPE]);
    }
    if has_parameter(operation, |parameter| parameter.parameter_in == ParameterIn::Path) {
        problems.push(error::NOT_FOUND);
    }
    if has_parameter(operation, |parameter| {
        parameter.parameter_in == ParameterIn::Query || parameter.name == "Idempotency-Key"
    }) {
        problems.push(error::MALFORMED_REQUEST);
    }
    problems.sort_by_key(|problem| (problem.status, problem.name));
    problems.dedup();
    problems
}

fn has_parameter(operation: &Operation, wanted: impl Fn(&Parameter) -> bool) -> bool {
    operation.parameters.iter().flatten().any(|parameter| match parameter {
        RefOr::T(parameter) => wanted(parameter),
        RefOr::Ref(_) => false,
    })
}

fn has_response(operation: &Operation, status: &str) -> bool {
    operation.responses.responses.contains_key(status)
}

/// Adds the problems of one status to the answers.
fn add_problems(operation: &mut Operation, status: u16, problems: &[&Problem]) {
    let answers = &mut operation.responses.responses;
    let answer = answers
        .entry(status.to_string())
        .or_insert_with(|| RefOr::T(ResponseBuilder::new().description("").build()));
    let RefOr::T(answer) = answer else { return };
    let described: Vec<String> =
        problems.iter().map(|problem| format!("`{}`: {}", problem.name, problem.title)).collect();
    if !answer.description.is_empty() {
        answer.description.push_str("; ");
    }
    answer.description.push_str(&described.join("; "));

    let mut content = Content::new(Some(Ref::from_schema_name("Problem")));
    for problem in problems {
        let example = RefOr::Ref(Ref::new(format!("#/components/examples/{}", problem.name)));
        content.examples.insert(problem.name.to_owned(), example);
    }
    answer.content.insert(PROBLEM_JSON.to_owned(), RefOr::T(content));
}

fn add_headers(path: &str, operation: &mut Operation) {
    let has_etag = has_response(operation, "304");
    let is_paged = has_parameter(operation, |parameter| {
        parameter.parameter_in == ParameterIn::Query && parameter.name == "cursor"
    });
    let has_budget = !WITHOUT_BUDGET.contains(&path);
    for (status, answer) in &mut operation.responses.responses {
        let RefOr::T(answer) = answer else { continue };
        let is_success = status.starts_with('2');
        let mut keys = vec!["RequestId"];
        match status.as_str() {
            "401" => keys.push("Authenticate"),
            "429" | "503" => keys.push("RetryAfter"),
            _ => {}
        }
        if has_budget && is_success {
            keys.extend(["RateLimit", "RateLimitPolicy"]);
        }
        if has_etag && (status == "200" || status == "304") {
            keys.extend(["ETag", "CacheControl"]);
        }
        if is_paged && status == "200" {
            keys.push("Link");
        }
        name_headers(answer, &keys);
    }
}

/// Adds headers that the answer does not have yet, and turns one of the handler's own into the common one.
fn name_headers(answer: &mut Response, keys: &[&str]) {
    for (key, name, _) in headers() {
        let own = answer.headers.keys().any(|own| own.eq_ignore_ascii_case(name));
        if keys.contains(&key) && !own {
            answer.headers.insert(name.to_owned(), header_ref(key));
        }
    }
}
