use std::{
    io::Write,
    net::{SocketAddr, TcpStream},
};

use serde_json::Value;

use crate::harness::TestApp;

/// Beats until so many streams are left: the server notices that a reader is gone when it writes.
async fn until_open(app: &TestApp, streams: u32) {
    for _ in 0..100_000 {
        if app.open_streams() == streams {
            return;
        }
        app.beat().await;
    }
    panic!("{} streams are open, and not {streams}", app.open_streams());
}

#[tokio::test]
async fn an_account_has_so_many_streams_and_no_more() {
    let app = TestApp::start_with(|settings| settings.streams.streams_per_account = 3).await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;
    let mut streams =
        vec![ann.watches_themselves().await, ann.watches(&game).await, ann.watches(&game).await];
    let refused = ann.get("/v1/me/events").await.refused(429, "too-many-streams");
    assert!(refused["retry_after_ms"].is_number());
    ann.with_header("accept", "application/json").get("/v1/me/events").await.refused(429, "too-many-streams");
    let mut to_ben = ben.watches_themselves().await;
    to_ben.next_event("snapshot").await;

    streams.pop();
    until_open(&app, 3).await;
    ann.watches_themselves().await.next_event("snapshot").await;
    assert_eq!(to_ben.next().await.expect("others are none the worse").kind, "heartbeat");
}

#[tokio::test]
async fn an_address_without_a_token_has_so_many_streams_and_no_more() {
    let app = TestApp::start_with(|settings| settings.streams.streams_per_address = 2).await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;
    let _streams = [app.anonymous().watches(&game).await, app.anonymous().watches(&game).await];
    let path = format!("/v1/games/{game}/events");
    app.anonymous().get(&path).await.refused(429, "too-many-streams");
    ann.watches(&game).await.next_event("snapshot").await;
}

#[tokio::test]
async fn a_process_has_so_many_streams_and_no_more() {
    let app = TestApp::start_with(|settings| settings.streams.streams = 2).await;
    let (ann, ben) = app.two_players().await;
    let _streams = [ann.watches_themselves().await, ben.watches_themselves().await];
    let reply = ann.get("/v1/me/events").await;
    reply.refused(503, "unavailable");
    assert!(reply.header("retry-after").is_some());
}

/// Nobody waits for a reader who takes nothing, nothing piles up for them, and in the end they are cut.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_reader_who_takes_nothing_is_cut() {
    let app = TestApp::start_with(|settings| settings.streams.stalled_seconds = 1).await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;
    let mut stalled = connect_with_small_buffer(ann.address());
    write!(stalled, "GET /v1/games/{game}/events HTTP/1.1\r\nhost: moor\r\n\r\n").expect("it is sent");
    while app.open_streams() == 0 {
        tokio::task::yield_now().await;
    }

    until_open(&app, 0).await;
    let mut stream = ben.watches(&game).await;
    stream.next_event("snapshot").await;
    ann.plays(&game, 1, "b1-b2").await.ok(201);
    stream.next_event("move").await;
}

fn connect_with_small_buffer(address: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(address).expect("the server takes connections");
    rustix::net::sockopt::set_socket_recv_buffer_size(&socket, 4096).expect("the buffer can be set");
    socket
}

#[tokio::test]
async fn a_server_that_stops_says_goodbye_and_waits_for_no_stream() {
    let mut app = TestApp::start().await;
    let (ann, ben) = app.two_players().await;
    let game = app.game(&ann, &ben, "hare-and-hounds").await;
    let mut streams =
        [ann.watches_themselves().await, ben.watches(&game).await, app.anonymous().watches(&game).await];
    let poller = ben.with_header("accept", "application/json");
    let (poll, ()) = tokio::join!(poller.open("/v1/me/events?after=3&wait_ms=30000"), async {
        while app.open_streams() < 4 {
            tokio::task::yield_now().await;
        }
        app.stop().await;
    });

    assert_eq!(poll.json::<Value>().await.expect("an answer")["items"], serde_json::json!([]));
    for stream in &mut streams {
        stream.next_event("snapshot").await;
        let goodbye = stream.ends_with("goodbye").await.data;
        assert_eq!((&goodbye["reason"], goodbye["retry_ms"].is_number()), (&"restart".into(), true));
    }
}
