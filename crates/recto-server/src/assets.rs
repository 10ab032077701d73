//! The style sheet and scripts of the pages, inside the binary.
//!
//! All of them stand in one folder that is named by the hash of everything in it: a browser keeps
//! what it has for good, and a new version has new addresses. Modules import each other by
//! relative names and so stay in their folder. Nothing is read from the disk.
//!
//! Whoever takes gzip gets them packed, which is a quarter of their bytes. The pages themselves are
//! never packed: what people typed stands in them beside the secrets of forms, and how far the one
//! shrinks could tell of the other.

use std::io::Write as _;
use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use recto_context::ContentHash;

/// A file that pages load.
struct EmbeddedAsset {
    name: &'static str,
    bytes: &'static [u8],
}

/// An asset by its name in the folder `assets/` of this crate.
macro_rules! asset {
    ($name:literal) => {
        EmbeddedAsset {
            name: $name,
            bytes: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/", $name)),
        }
    };
}

/// All assets.
const ASSETS: &[EmbeddedAsset] = &[
    asset!("icon.svg"),
    asset!("style.css"),
    asset!("chat.js"),
    asset!("completion.js"),
    asset!("composer.js"),
    asset!("context.js"),
    asset!("dom.js"),
    asset!("drafts.js"),
    asset!("forms.js"),
    asset!("keys.js"),
    asset!("live.js"),
    asset!("turns.js"),
];

/// The name of the folder that they are served in.
static FOLDER: LazyLock<String> = LazyLock::new(|| {
    let names = ASSETS.iter().flat_map(|asset| [asset.name.as_bytes(), asset.bytes]);
    ContentHash::of_bytes(&names.collect::<Vec<_>>().concat()).short()
});

/// The assets in their order, packed with gzip when the first of them is asked for.
static PACKED: LazyLock<Vec<Vec<u8>>> =
    LazyLock::new(|| ASSETS.iter().map(|asset| pack(asset.bytes)).collect());

fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // A list in memory takes everything.
    encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap_or_default()
}

/// The address of an asset. The tests see to it that each one which a page names is there.
pub(crate) fn asset_path(name: &str) -> String {
    format!("/assets/{}/{name}", *FOLDER)
}

/// An asset as it is served. One of another version is not there any more.
pub(crate) async fn serve_asset(
    Path((folder, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let found = ASSETS.iter().position(|asset| asset.name == name);
    let Some(index) = found.filter(|_| folder == *FOLDER) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let asset = &ASSETS[index];
    let kind = HeaderValue::from_static(content_type(asset.name));
    let for_good = HeaderValue::from_static("public, max-age=31536000, immutable");
    let mut response = match takes_gzip(&headers) {
        true => {
            let mut response = PACKED[index].as_slice().into_response();
            let gzip = HeaderValue::from_static("gzip");
            response.headers_mut().insert(header::CONTENT_ENCODING, gzip);
            response
        }
        false => asset.bytes.into_response(),
    };
    let told = response.headers_mut();
    told.insert(header::CONTENT_TYPE, kind);
    told.insert(header::CACHE_CONTROL, for_good);
    told.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    response
}

/// Whether a client says that it reads gzip. One that gives it the weight of nothing does not.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT_ENCODING).iter();
    let mut codings = accepted.filter_map(|value| value.to_str().ok()).flat_map(|it| it.split(','));
    codings.any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim().strip_prefix("q=").map(str::parse::<f32>);
        name.trim().eq_ignore_ascii_case("gzip") && weight.is_none_or(|weight| weight != Ok(0.0))
    })
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.') {
        Some((_, "css")) => "text/css; charset=utf-8",
        Some((_, "js")) => "text/javascript; charset=utf-8",
        Some((_, "svg")) => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(values: &[&'static str]) -> bool {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::ACCEPT_ENCODING, HeaderValue::from_static(value));
        }
        takes_gzip(&headers)
    }

    #[test]
    fn gzip_is_sent_to_those_who_take_it() {
        assert!(accepts(&["gzip"]) && accepts(&["br, GZIP;q=0.5"]) && accepts(&["br", "gzip"]));
        assert!(!accepts(&[]) && !accepts(&["br, identity"]));
        assert!(!accepts(&["gzip;q=0"]) && !accepts(&["gzip; q=0.0"]) && !accepts(&["gzipped"]));
    }
}
