//! Players who play over one kept connection each.

use serde::Deserialize;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::process::Outcome;

/// A connection of a player: requests written by hand, since the client has its share of the processors too.
pub struct Player {
    /// The username.
    pub name: String,
    /// The header with the token.
    pub token: String,
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// What of a new thing is needed to find it.
#[derive(Deserialize)]
pub struct Id<'a> {
    /// Its id.
    pub id: &'a str,
}

/// What of an answer the player looks at.
#[derive(Deserialize)]
pub struct Snapshot<'a> {
    /// The game.
    pub id: &'a str,
    /// How many plies are played.
    pub ply: u32,
    /// What may be played.
    #[serde(default, borrow)]
    pub legal_moves: Vec<&'a str>,
    /// Whose turn it is.
    pub turn: Option<&'a str>,
}

impl Player {
    /// Sends a request and answers status and body.
    pub async fn send(&mut self, method: &str, path: &str, body: &str) -> Outcome<(u16, &[u8])> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: load\r\n{}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.token,
            body.len(),
        );
        self.stream.write_all(request.as_bytes()).await?;
        self.buffer.clear();
        let mut wanted = None;
        loop {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(format!("the server hung up on {method} {path}").into());
            }
            if wanted.is_none()
                && let Some(head) = self.buffer.windows(4).position(|end| end == b"\r\n\r\n")
            {
                let text = std::str::from_utf8(&self.buffer[..head])?;
                let status = text.split(' ').nth(1).and_then(|status| status.parse::<u16>().ok());
                let length = text.lines().find_map(|line| {
                    let (name, value) = line.split_once(':')?;
                    name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
                });
                wanted = Some((status.ok_or("an answer without status")?, head + 4, length.unwrap_or(0)));
            }
            if let Some((status, from, length)) = wanted
                && self.buffer.len() >= from + length
            {
                return Ok((status, &self.buffer[from..from + length]));
            }
        }
    }

    /// Sends a request that must be answered with 201.
    pub async fn create(&mut self, method: &str, path: &str, body: &str) -> Outcome<&[u8]> {
        match self.send(method, path, body).await? {
            (201, answer) => Ok(answer),
            (status, answer) => {
                Err(format!("{method} {path} {body}: {status} {}", String::from_utf8_lossy(answer)).into())
            }
        }
    }
}

/// Two players for each game.
pub async fn sign_up(address: &str, called: &str, games: u16) -> Outcome<Vec<[Player; 2]>> {
    #[derive(Deserialize)]
    struct Tokens<'a> {
        access_token: &'a str,
    }

    let mut players = Vec::new();
    for number in 0..2 * games {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let name = format!("{called}-{number}");
        let mut player = Player { name, token: String::new(), stream, buffer: Vec::with_capacity(8192) };
        let body = format!(r#"{{"username": "{}", "password": "three-hounds-one-moor"}}"#, player.name);
        let answer = player.create("POST", "/v1/accounts", &body).await?;
        let token = serde_json::from_slice::<Tokens<'_>>(answer)?.access_token;
        player.token = format!("authorization: Bearer {token}\r\n");
        players.push(player);
    }
    let mut pairs = Vec::new();
    let mut players = players.into_iter();
    while let (Some(one), Some(other)) = (players.next(), players.next()) {
        pairs.push([one, other]);
    }
    Ok(pairs)
}
