//! JSON as it was written, where what it is read as is not enough.

/// The length of the text in quotes that these bytes begin with, with its quotes, or of what is
/// there of it.
pub(crate) fn text_length(bytes: &[u8]) -> usize {
    let mut is_escaped = false;
    let end = bytes.iter().skip(1).position(|byte| {
        let is_end = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(bytes.len(), |end| end + 2)
}
