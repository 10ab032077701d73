//! The body of a request, read whole before its handler: within a size and a time.

use std::error::Error;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::LengthLimitError;
use tokio::time::timeout;

use crate::problem::{ApiProblem, ApiResult};

/// The most bytes, and the longest time.
#[derive(Debug, Clone, Copy)]
pub(super) struct BodyLimits {
    pub(super) max_bytes: usize,
    pub(super) max_time: Duration,
}

/// Reads a body. One that says that it is too large is not read at all.
pub(super) async fn read_body(
    headers: &HeaderMap,
    body: Body,
    limits: BodyLimits,
) -> ApiResult<Bytes> {
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let announced = announced.and_then(|length| length.parse::<u64>().ok());
    if announced.is_some_and(|length| length > limits.max_bytes as u64) {
        return Err(too_large(limits.max_bytes));
    }
    match timeout(limits.max_time, to_bytes(body, limits.max_bytes)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if error.source().is_some_and(|cause| cause.is::<LengthLimitError>()) => {
            Err(too_large(limits.max_bytes))
        }
        Ok(Err(_)) => {
            let what = "the body of the request ended before it was whole";
            Err(ApiProblem::new(StatusCode::BAD_REQUEST, "broken_body", what))
        }
        Err(_) => {
            let seconds = limits.max_time.as_secs();
            let what = format!("the body of the request did not arrive within {seconds} s");
            Err(ApiProblem::new(StatusCode::REQUEST_TIMEOUT, "slow_body", what))
        }
    }
}

fn too_large(most: usize) -> ApiProblem {
    let what = format!("the body of the request is larger than {most} bytes");
    ApiProblem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", what)
        .hint("send less, or raise `server.max_body_bytes` in the config")
}
