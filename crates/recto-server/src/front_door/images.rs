//! Images as clients send them: a data URL, or base64 without a word on what it is.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use recto_context::Image;

use crate::problem::{ApiProblem, ApiResult};

/// The images that models take.
pub(crate) const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Reads an image of a data URL. Recto fetches no addresses for clients.
pub(crate) fn read_data_url(url: &str) -> ApiResult<Image> {
    let Some((head, data)) = url.strip_prefix("data:").and_then(|rest| rest.split_once(',')) else {
        return Err(ApiProblem::unsupported(
            "an image by its address",
            "send the image itself, as a data URL: data:image/png;base64,…",
        ));
    };
    let Some(media_type) = head.strip_suffix(";base64") else {
        return Err(ApiProblem::invalid("the data URL of an image is not in base64"));
    };
    if !IMAGE_TYPES.contains(&media_type) {
        let known = IMAGE_TYPES.join(", ");
        return Err(ApiProblem::invalid(format!("the data URL of an image is none of {known}")));
    }
    // Some name it by the ending of its file's name, which may be wrong.
    read_base64_image(data)
}

/// Reads an image of which nothing is said: its first bytes tell what it is.
pub(crate) fn read_base64_image(data: &str) -> ApiResult<Image> {
    let decoded = STANDARD
        .decode(data)
        .map_err(|error| ApiProblem::invalid(format!("an image is no base64: {error}")))?;
    let media_type = Image::find_media_type(&decoded)
        .ok_or_else(|| ApiProblem::invalid("an image is neither PNG, JPEG, GIF nor WebP"))?;
    Ok(Image { media_type: media_type.into(), data: data.into(), name: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_read_and_everything_else_is_refused() {
        let png = STANDARD.encode(b"\x89PNG\r\n\x1a\n....");
        assert_eq!(&*read_data_url(&format!("data:image/png;base64,{png}")).unwrap().data, png);
        assert_eq!(&*read_base64_image(&png).unwrap().media_type, "image/png");
        let misnamed = read_data_url(&format!("data:image/jpeg;base64,{png}")).unwrap();
        assert_eq!(&*misnamed.media_type, "image/png");
        for odd in [
            "https://example.org/a.png",
            "data:image/png,abc",
            "data:text/plain;base64,aGk=",
            "data:image/\"onerror=\"x;base64,AAAA",
            "data:image/svg+xml;base64,AAAA",
            "data:image/png;base64,aGVsbG8=",
        ] {
            assert_eq!(read_data_url(odd).unwrap_err().status, 400, "{odd}");
        }
        for odd in ["%", "aGk="] {
            assert_eq!(read_base64_image(odd).unwrap_err().status, 400, "{odd}");
        }
    }
}
