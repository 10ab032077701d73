//! What a request is for: to answer a message, or only to sum up earlier ones. Whoever asks for
//! the page of a turn asks here which of its requests are pages.

use recto_store::{NewRequest, RequestRecord};

/// The key under which the record of a request that is no page says what it is for.
const NOTE: &str = "purpose";

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestPurpose {
    /// A page of the conversation, which a reply answers.
    Page,
    /// To have messages that leave the page summed up.
    Summary,
}

impl RequestPurpose {
    /// The name that records and people use.
    pub fn name(self) -> &'static str {
        match self {
            RequestPurpose::Page => "page",
            RequestPurpose::Summary => "summary",
        }
    }

    /// What a recorded request was for.
    pub fn from_record(request: &RequestRecord) -> Self {
        match request.notes[NOTE] == RequestPurpose::Summary.name() {
            true => RequestPurpose::Summary,
            false => RequestPurpose::Page,
        }
    }

    /// Marks a request as one for this.
    pub(crate) fn mark(self, request: &mut NewRequest) {
        request.notes[NOTE] = self.name().into();
    }
}
