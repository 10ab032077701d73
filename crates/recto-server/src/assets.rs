//! The style sheet and scripts of the pages, inside the binary.
//!
//! All of them stand in one folder that is named by the hash of everything in it: a browser keeps
//! what it has for good, and a new version has new addresses. Modules import each other by
//! relative names and so stay in their folder. Nothing is read from the disk.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
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

/// The address of an asset. The tests see to it that each one which a page names is there.
pub(crate) fn asset_path(name: &str) -> String {
    format!("/assets/{}/{name}", *FOLDER)
}

/// An asset as it is served. One of another version is not there any more.
pub(crate) async fn serve_asset(Path((folder, name)): Path<(String, String)>) -> Response {
    let found = ASSETS.iter().find(|asset| asset.name == name);
    let Some(asset) = found.filter(|_| folder == *FOLDER) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let kind = HeaderValue::from_static(content_type(asset.name));
    let for_good = HeaderValue::from_static("public, max-age=31536000, immutable");
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, for_good)], asset.bytes).into_response()
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.') {
        Some((_, "css")) => "text/css; charset=utf-8",
        Some((_, "js")) => "text/javascript; charset=utf-8",
        Some((_, "svg")) => "image/svg+xml",
        _ => "application/octet-stream",
    }
}
