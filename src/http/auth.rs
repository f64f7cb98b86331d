//! Who is asking. [`identify`] finds out once, before any body is read; [`Caller`] insists on an answer.
//!
//! actix polls all arguments of a handler together and reports the first failure, so a [`Caller`] must be
//! ready at once and come first: then a stranger with a malformed body gets 401 and not 400.

use std::future::{Ready, ready};

use actix_web::{
    FromRequest, HttpMessage, HttpRequest,
    dev::{Payload, ServiceRequest},
    http::header::AUTHORIZATION,
    web::Data,
};

use super::error::{self, ApiError};
use crate::{
    accounts::access::{AccessTokens, Claimant},
    wall_clock::WallClock,
};

/// What the Authorization header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// There is none.
    Nobody,
    /// It does not hold.
    Invalid,
    /// It holds: this player, in this session.
    Player(Claimant),
}

/// Reads the Authorization header and keeps the finding with the request.
pub fn identify(request: &ServiceRequest) -> Identity {
    let identity = match request.headers().get(AUTHORIZATION) {
        None => Identity::Nobody,
        Some(value) => verify(request, value.to_str().ok()),
    };
    request.extensions_mut().insert(identity);
    identity
}

fn verify(request: &ServiceRequest, header: Option<&str>) -> Identity {
    let Some((scheme, token)) = header.and_then(|text| text.split_once(' ')) else {
        return Identity::Invalid;
    };
    let (Some(tokens), Some(clock)) =
        (request.app_data::<Data<AccessTokens>>(), request.app_data::<Data<WallClock>>())
    else {
        return Identity::Invalid;
    };
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Identity::Invalid;
    }
    match tokens.verify(token.trim(), clock.now()) {
        Ok(claimant) => Identity::Player(claimant),
        Err(refusal) => {
            tracing::debug!(%refusal, "token refused");
            Identity::Invalid
        }
    }
}

/// The player who asks. Must be a handler's first argument.
#[derive(Clone, Copy, Debug)]
pub struct Caller(pub Claimant);

impl FromRequest for Caller {
    type Error = ApiError;
    type Future = Ready<Result<Caller, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(match request.extensions().get::<Identity>() {
            Some(Identity::Player(claimant)) => Ok(Caller(*claimant)),
            Some(Identity::Invalid) => Err(ApiError::of(error::TOKEN_INVALID)),
            Some(Identity::Nobody) | None => Err(ApiError::of(error::TOKEN_MISSING)),
        })
    }
}

/// The player who asks, if anybody says who they are. A token that does not hold is refused all the same.
#[derive(Clone, Copy, Debug)]
pub struct MaybeCaller(pub Option<Claimant>);

impl FromRequest for MaybeCaller {
    type Error = ApiError;
    type Future = Ready<Result<MaybeCaller, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(match request.extensions().get::<Identity>() {
            Some(Identity::Player(claimant)) => Ok(MaybeCaller(Some(*claimant))),
            Some(Identity::Invalid) => Err(ApiError::of(error::TOKEN_INVALID)),
            Some(Identity::Nobody) | None => Ok(MaybeCaller(None)),
        })
    }
}
