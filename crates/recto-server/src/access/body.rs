//! The body of a request, read whole before its handler: within a size and a time, and as it is. What
//! is packed in some way is refused rather than taken for what it is not.

use std::error::Error;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use http_body_util::LengthLimitError;
use tokio::time::timeout;

use crate::problem::{ApiProblem, ApiResult};

/// The most bytes, and the longest time.
#[derive(Debug, Clone, Copy)]
pub(super) struct BodyLimits {
    pub(super) max_bytes: usize,
    /// What to do about a body that is larger.
    pub(super) remedy: &'static str,
    pub(super) max_time: Duration,
}

/// Refuses a body that is encoded: no handler would decode it.
pub(super) fn check_encoding(headers: &HeaderMap) -> ApiResult<()> {
    let differs = |name: HeaderName, plain: &str| {
        let all = headers.get_all(name);
        all.iter()
            .any(|value| !value.as_bytes().trim_ascii().eq_ignore_ascii_case(plain.as_bytes()))
    };
    if differs(header::TRANSFER_ENCODING, "chunked") {
        let what = "the body of the request is transferred in a way that is not understood";
        return Err(ApiProblem::new(StatusCode::NOT_IMPLEMENTED, "transfer_encoding", what)
            .hint("send it with a `content-length`, or with `transfer-encoding: chunked` alone"));
    }
    if differs(header::CONTENT_ENCODING, "identity") {
        let what = "the body of the request is compressed";
        return Err(ApiProblem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "content_encoding", what)
            .hint("send it as it is, without `content-encoding`"));
    }
    Ok(())
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
        return Err(too_large(limits));
    }
    match timeout(limits.max_time, to_bytes(body, limits.max_bytes)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if error.source().is_some_and(|cause| cause.is::<LengthLimitError>()) => {
            Err(too_large(limits))
        }
        Ok(Err(_)) => {
            let what = "the body of the request ended before it was whole";
            Err(ApiProblem::new(StatusCode::BAD_REQUEST, "broken_body", what)
                .hint("send it again, as long as its `content-length` says"))
        }
        Err(_) => {
            let seconds = limits.max_time.as_secs();
            let what = format!("the body of the request did not arrive within {seconds} s");
            Err(ApiProblem::new(StatusCode::REQUEST_TIMEOUT, "slow_body", what)
                .hint("send all of it at once, or less"))
        }
    }
}

fn too_large(limits: BodyLimits) -> ApiProblem {
    let what = format!("the body of the request is larger than {} bytes", limits.max_bytes);
    ApiProblem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", what).hint(limits.remedy)
}
