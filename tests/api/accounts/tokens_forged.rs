//! Forged access tokens of every kind, on every route that asks for one.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};

use super::{sign_up, text};
use crate::harness::TestApp;

const SECRET: &[u8] = b"the secret of the tests, 32 bytes";

fn b64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn header() -> Header {
    Header { typ: Some("at+jwt".to_owned()), kid: Some("test".to_owned()), ..Header::new(Algorithm::HS256) }
}

fn sign(header: &Header, claims: &Value) -> String {
    encode(header, claims, &EncodingKey::from_secret(SECRET).unwrap()).unwrap()
}

fn with(claims: &Value, member: &str, value: Value) -> String {
    let mut claims = claims.clone();
    claims[member] = value;
    sign(&header(), &claims)
}

fn without(claims: &Value, member: &str) -> String {
    let mut claims = claims.clone();
    claims.as_object_mut().unwrap().remove(member);
    sign(&header(), &claims)
}

fn claims_of(token: &str) -> Value {
    let payload = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
}

/// What somebody without the key may try, and what a service with the same key but other habits might write.
fn forgeries(good: &str) -> Vec<(&'static str, String)> {
    let claims = claims_of(good);
    let (iat, exp) = (claims["iat"].as_i64().unwrap(), claims["exp"].as_i64().unwrap());
    let parts: Vec<&str> = good.split('.').collect();
    let (head, payload, signature) = (parts[0], parts[1], parts[2]);
    let none = b64(r#"{"typ":"at+jwt","alg":"none","kid":"test"}"#);
    let mut other_player = claims.clone();
    other_player["sub"] = json!("0199f3a0-5c1e-7b3a-9d2e-6a1f0c4b8e21");
    let rs256 = b64(r#"{"typ":"at+jwt","alg":"RS256","kid":"test"}"#);
    let other_key = EncodingKey::from_secret(b"another secret of thirty-two bytes").unwrap();
    let zero_key = EncodingKey::from_secret(&[0; 32]).unwrap();
    vec![
        ("empty", String::new()),
        ("one part", head.to_owned()),
        ("two parts", format!("{head}.{payload}")),
        ("no signature", format!("{head}.{payload}.")),
        ("four parts", format!("{good}.{signature}")),
        ("cut signature", good[..good.len() - 4].to_owned()),
        ("padded signature", format!("{good}=")),
        ("changed payload", format!("{head}.{}.{signature}", b64(other_player.to_string()))),
        ("alg none", format!("{none}.{payload}.")),
        ("alg none with signature", format!("{none}.{payload}.{signature}")),
        ("alg RS256", format!("{rs256}.{payload}.{signature}")),
        ("alg HS384", sign(&Header { alg: Algorithm::HS384, ..header() }, &claims)),
        ("alg HS512", sign(&Header { alg: Algorithm::HS512, ..header() }, &claims)),
        ("other key", encode(&header(), &claims, &other_key).unwrap()),
        ("zero key", encode(&header(), &claims, &zero_key).unwrap()),
        ("unknown kid", sign(&Header { kid: Some("other".to_owned()), ..header() }, &claims)),
        ("no kid", sign(&Header { kid: None, ..header() }, &claims)),
        ("kid as a path", sign(&Header { kid: Some("../../dev/null".to_owned()), ..header() }, &claims)),
        ("kid as SQL", sign(&Header { kid: Some("' or 1=1 --".to_owned()), ..header() }, &claims)),
        ("typ JWT", sign(&Header { typ: Some("JWT".to_owned()), ..header() }, &claims)),
        ("no typ", sign(&Header { typ: None, ..header() }, &claims)),
        ("jku", sign(&Header { jku: Some("https://evil.example/".to_owned()), ..header() }, &claims)),
        ("crit", sign(&Header { crit: Some(vec!["exp".to_owned()]), ..header() }, &claims)),
        ("other issuer", with(&claims, "iss", json!("leveret.example"))),
        ("no issuer", without(&claims, "iss")),
        ("other audience", with(&claims, "aud", json!("elsewhere"))),
        ("audience among others", with(&claims, "aud", json!(["elsewhere", "leveret"]))),
        ("no audience", without(&claims, "aud")),
        ("expired", with(&claims, "exp", json!(iat - 1))),
        ("too long a life", with(&claims, "exp", json!(exp + 1))),
        ("no exp", without(&claims, "exp")),
        ("exp as text", with(&claims, "exp", json!(exp.to_string()))),
        ("not yet", with(&claims, "nbf", json!(iat + 60))),
        ("no nbf", without(&claims, "nbf")),
        ("issued in the future", with(&with_times(&claims, 3600), "nbf", json!(iat))),
        ("no iat", without(&claims, "iat")),
        ("no subject", without(&claims, "sub")),
        ("subject by name", with(&claims, "sub", json!("ann"))),
        ("no session", without(&claims, "sid")),
        ("too long", format!("{head}.{}.{signature}", "A".repeat(5000))),
    ]
}

fn with_times(claims: &Value, later: i64) -> Value {
    let mut claims = claims.clone();
    for member in ["iat", "exp"] {
        claims[member] = json!(claims[member].as_i64().unwrap() + later);
    }
    claims
}

#[tokio::test]
async fn no_forged_token_is_believed() {
    let keys = format!("test:{}", base64::engine::general_purpose::STANDARD.encode(SECRET));
    let app = TestApp::start_with(|settings| settings.accounts.token_keys = Some(keys)).await;
    let ann = sign_up(&app, "ann").await;
    let good = text(&ann, "access_token");
    let same = sign(&header(), &claims_of(good));
    app.with_token(&same).get("/v1/me").await.ok(200);

    for (kind, token) in forgeries(good) {
        let client = app.with_token(&token);
        for path in ["/v1/me", "/v1/me/sessions"] {
            let problem = client.get(path).await;
            assert_eq!(problem.status(), 401, "{kind} on GET {path}");
            problem.refused(401, "token-invalid");
        }
        client.put("/v1/me/bot", json!({})).await.refused(401, "token-invalid");
        client.delete("/v1/me/sessions").await.refused(401, "token-invalid");
    }
    app.with_token(good).get("/v1/me").await.ok(200);
}
