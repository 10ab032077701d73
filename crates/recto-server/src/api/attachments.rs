//! Files that come along with a message: texts as they are, images as data URLs.

use axum::http::StatusCode;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use recto_context::{AttachedFile, ContentPart, Image};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::front_door::IMAGE_TYPES;
use crate::problem::{ApiProblem, ApiResult};

/// The most files that come along with a message.
const MOST_FILES: usize = 32;

/// A file that comes along with a message: either its text, or an image.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MessageFile {
    /// Its name, as the model reads it.
    name: String,
    /// What is in it, where it is a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// What is in it, where it is an image: `data:image/png;base64,…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data_url: Option<String>,
}

/// The files of a message as parts of it.
pub(crate) fn read_files(files: Vec<MessageFile>) -> ApiResult<Vec<ContentPart>> {
    if files.len() > MOST_FILES {
        let title = format!("{} files are too many for one message", files.len());
        return Err(ApiProblem::new(StatusCode::BAD_REQUEST, "too_many_files", title)
            .hint(format!("send at most {MOST_FILES}")));
    }
    files.into_iter().map(read_file).collect()
}

fn read_file(MessageFile { name, text, data_url }: MessageFile) -> ApiResult<ContentPart> {
    if name.chars().any(char::is_control) {
        let plain = name.escape_debug().to_string();
        return Err(bad_file(&plain, "its name has characters that no name can have"));
    }
    match (text, data_url) {
        (Some(text), None) => Ok(ContentPart::File(AttachedFile::new(&name, text))),
        (None, Some(url)) => read_image(&name, &url),
        _ => Err(bad_file(&name, "it has neither or both of `text` and `data_url`")),
    }
}

fn read_image(name: &str, url: &str) -> ApiResult<ContentPart> {
    let is_known = |media: &&str| IMAGE_TYPES.contains(media);
    let known = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    let Some((_, data)) = known.filter(|(media, _)| is_known(media)) else {
        let what = format!("its `data_url` is none of {} in base64", IMAGE_TYPES.join(", "));
        return Err(bad_file(name, &what));
    };
    let Ok(bytes) = BASE64_STANDARD.decode(data) else {
        return Err(bad_file(name, "its data is no base64"));
    };
    // Browsers name it by the ending of the file's name, which may be wrong.
    let Some(media_type) = Image::find_media_type(&bytes) else {
        return Err(bad_file(name, "its data is neither PNG, JPEG, GIF nor WebP"));
    };
    let name = Some(name.into());
    Ok(ContentPart::Image(Image { media_type: media_type.into(), data: data.into(), name }))
}

fn bad_file(name: &str, problem: &str) -> ApiProblem {
    let title = format!("the file `{name}` can't be sent along");
    ApiProblem::new(StatusCode::BAD_REQUEST, "bad_file", title).detail(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: Option<&str>, data_url: Option<&str>) -> MessageFile {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        MessageFile { name: "a".to_owned(), text: owned(text), data_url: owned(data_url) }
    }

    #[test]
    fn texts_and_images_come_along_and_nothing_else_does() {
        let parts = read_files(vec![
            file(Some("hello"), None),
            file(None, Some("data:image/gif;base64,R0lGODlh")),
        ]);
        let parts = parts.unwrap();
        assert!(matches!(&parts[0], ContentPart::File(file) if file.text().as_str() == "hello"));
        assert!(matches!(&parts[1], ContentPart::Image(image) if image.size() == 6));
        for bad in [
            file(None, None),
            file(Some("x"), Some("data:image/gif;base64,R0lGODlh")),
            file(None, Some("data:text/html;base64,R0lGODlh")),
            file(None, Some("data:image/png;base64,%%%")),
            file(None, Some("data:image/png;base64,aGVsbG8=")),
            file(None, Some("data:image/png;base64,")),
            file(None, Some("https://example.org/a.png")),
            MessageFile { name: "a\0b".to_owned(), ..file(Some("x"), None) },
            MessageFile { name: "a\nb".to_owned(), ..file(Some("x"), None) },
        ] {
            assert_eq!(&*read_files(vec![bad.clone()]).unwrap_err().code, "bad_file", "{bad:?}");
        }
        let many = vec![file(Some("x"), None); MOST_FILES + 1];
        assert_eq!(&*read_files(many).unwrap_err().code, "too_many_files");
    }
}
