//! The page as the model reads it: every text exactly as it was sent, with the layer and the
//! source of each part in the margin.
//!
//! A bar (`│`) begins each line of a text, a broken one (`┊`) goes on with a line that is too long
//! for the terminal, and a plus stands before what is no text: calls and pictures. So whoever
//! takes off the margin has the text again, but for characters that would move the cursor, which
//! are made visible. The marks that a chat template puts around messages are not here: they belong
//! to the body.

use std::fmt::Write as _;

use anstyle::Style;
use recto_context::{
    ChatMessage, ContentPart, Layer, Part, PartContent, PartJoin, RequestContext, ToolCalls,
};

use super::request::{WRITTEN_BY_RECTO, layer_mark};
use super::wrap::{PageWidth, break_line, cut_to, shown_width};
use crate::output::{tame, tame_lines};

/// The most columns of the margin.
const MARGIN: usize = 28;

/// The bar of a line, and of what goes on with it.
const LINE: [&str; 2] = ["│", "┊"];
/// The mark of what is no text.
const NO_TEXT: [&str; 2] = ["+", "+"];

/// Draws all that a model reads of a request.
pub(crate) fn whole_page(request: &RequestContext, width: PageWidth) -> String {
    let mut canvas = PageCanvas::new(request, width);
    // Where tools stand on the page as text, that text is all that the model reads of them.
    if request.tool_calls == ToolCalls::Native && !request.tools.is_empty() {
        canvas.heading("tools, as schemas");
        for tool in &request.tools {
            canvas.begin(Layer::Tools, &tool.spec.id.key());
            canvas.text(&tool.spec.schema);
        }
    }
    canvas.messages(request, 0);
    canvas.out
}

/// Draws what a model reads of a request from a message on.
pub(crate) fn added_page(request: &RequestContext, first: usize, width: PageWidth) -> String {
    let mut canvas = PageCanvas::new(request, width);
    canvas.messages(request, first);
    canvas.out
}

/// A page in the making.
struct PageCanvas {
    out: String,
    /// The columns of the margin, and those of the text where they are limited.
    margin: usize,
    columns: Option<usize>,
    /// What stands in the margin of the next line, and its colour.
    label: String,
    style: Style,
}

impl PageCanvas {
    fn new(request: &RequestContext, width: PageWidth) -> Self {
        let parts = request.parts.iter().map(|part| label(part.layer, &part_source(part)));
        let tools = request.tools.iter().map(|tool| label(Layer::Tools, &tool.spec.id.key()));
        let longest = parts.chain(tools).map(|label| shown_width(&label)).max().unwrap_or(0);
        let (margin, columns) = match width {
            PageWidth::Unlimited => (longest, None),
            PageWidth::Columns(columns) => {
                let margin = longest.min(MARGIN).min(columns / 3);
                // Two for the bar, and one for a blank at the end.
                (margin, Some(columns.saturating_sub(margin + 4).max(1)))
            }
        };
        PageCanvas {
            out: String::new(),
            margin,
            columns,
            label: String::new(),
            style: Style::new(),
        }
    }

    fn messages(&mut self, request: &RequestContext, first: usize) {
        for (index, message) in request.messages.iter().enumerate().skip(first) {
            self.heading(&message_heading(index, message));
            for (place, span) in message.spans.iter().enumerate() {
                if let Some(part) = request.parts.get(span.part) {
                    self.part(part, place);
                }
            }
            for call in &message.calls {
                let called = format!("calls {} {}", tame(&call.name), call.arguments.as_str());
                self.line(NO_TEXT, &called);
            }
        }
    }

    fn heading(&mut self, text: &str) {
        let bold = Style::new().bold();
        let gap = if self.out.is_empty() { "" } else { "\n" };
        let _ = writeln!(self.out, "{gap}{bold}{}{bold:#}", tame(text));
    }

    /// Begins a part: the next line tells in the margin what it is.
    fn begin(&mut self, layer: Layer, name: &str) {
        let (_, style) = layer_mark(layer);
        self.style = style;
        self.label = match self.columns {
            Some(_) => cut_to(&label(layer, name), self.margin),
            None => label(layer, name),
        };
    }

    /// A part, which stands at that place in its message.
    fn part(&mut self, part: &Part, place: usize) {
        if place > 0 && part.join == PartJoin::Paragraph {
            self.label.clear();
            self.line(LINE, "");
        }
        self.begin(part.layer, &part_source(part));
        let (text, others) = match &part.content {
            PartContent::Text(text) => (text.as_str(), &[][..]),
            PartContent::Message(message) => match message.content() {
                [ContentPart::Text(text), others @ ..] => (text.as_str(), others),
                others => ("", others),
            },
        };
        self.text(&format!("{}{text}", part.lead.as_str()));
        for other in others {
            match other {
                ContentPart::Text(text) => self.text(text),
                ContentPart::Image(image) => {
                    self.line(NO_TEXT, &format!("image, {}", image.media_type));
                }
                // It is a part of its own.
                ContentPart::File(_) => {}
                ContentPart::Opaque(_) => self.line(NO_TEXT, "what the provider wants back"),
            }
        }
    }

    /// The lines of a text. One that is empty is none.
    fn text(&mut self, text: &str) {
        if !text.is_empty() {
            text.split('\n').for_each(|line| self.line(LINE, line));
        }
    }

    fn line(&mut self, [first, next]: [&str; 2], text: &str) {
        let text = tame_lines(text);
        let pieces = match self.columns {
            Some(columns) => break_line(&text, columns),
            None => vec![text.as_str()],
        };
        let style = self.style;
        for (index, piece) in pieces.into_iter().enumerate() {
            let bar = if index == 0 { first } else { next };
            let label = std::mem::take(&mut self.label);
            let padding = " ".repeat(self.margin.saturating_sub(shown_width(&label)));
            let _ = writeln!(self.out, "{style}{label}{padding} {bar} {piece}{style:#}");
        }
    }
}

/// What a part is called in the margin. Where the layer says what kind of item it is, its name is
/// enough.
fn part_source(part: &Part) -> String {
    match (&part.item, part.layer) {
        (Some(item), Layer::Memory | Layer::Skills | Layer::Tools) => item.id.key(),
        (Some(item), _) => item.id.to_string(),
        (None, _) if part.kind() == "built_in" => WRITTEN_BY_RECTO.to_owned(),
        (None, _) => part.name(),
    }
}

fn label(layer: Layer, name: &str) -> String {
    match name {
        "message" => tame(name),
        name => format!("{layer} · {}", tame(name)),
    }
}

fn message_heading(index: usize, message: &ChatMessage) -> String {
    let role = message.role.name();
    match &message.answers {
        Some((_, tool)) => format!("message {}: {role}, the result of {tool}", index + 1),
        None => format!("message {}: {role}", index + 1),
    }
}
