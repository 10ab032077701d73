//! Chat templates, rendered as the tools render them that models are made with.
//!
//! A template comes out of a model's file, which may come from anywhere. It reaches no file and
//! no clock, and what it is given are marks instead of texts. It runs for a limited number of
//! steps, on a stack that is deep enough for all that these steps can nest, and writes a limited
//! prompt. What one step takes is not limited here: a string can be doubled with each, also while the
//! template is read. That is for whoever runs it ([`rendering`](super::rendering)).

use std::borrow::Cow;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use jiff::civil::Date;
use jiff::fmt::strtime;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Kwargs;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior, Value, context};
use minijinja_contrib::pycompat::unknown_method_callback;
use parking_lot::Mutex;

use super::ChatTemplate;
use super::marks::MarkedTexts;
use super::python_json::{refusal_error, tojson};
use super::refusal::{TemplateRefusal, short};

/// The largest template. Real ones have up to about 20 KB.
const LARGEST_SOURCE: usize = 64 * 1024;

/// The most bytes that a template may write itself.
const MOST_OWN_BYTES: usize = 4 * 1024 * 1024;

/// The steps that any template may take, and those for each message, tool and call of the
/// conversation. Real ones take less than a hundred for a message.
const STEPS: u64 = 100_000;
const STEPS_EACH: u64 = 1_000;
const MOST_STEPS: u64 = 1_000_000;

/// How deep templates may call themselves.
const DEEPEST_CALLS: usize = 200;

/// What the stack needs: for reading a template 413 bytes for each of its bytes, if they are all
/// minus signs; for rendering it 495 bytes a step, if each nests a list once more. The memory is
/// only set aside, and never used by a template that does neither.
const STACK_FOR_SOURCE: usize = 40 * 1024 * 1024;
const STACK_FOR_STEP: usize = 640;

/// Under which name the template is known.
const NAME: &str = "chat template";

/// A template that is ready to be rendered.
#[derive(Debug)]
pub(super) struct JinjaTemplate {
    environment: Environment<'static>,
    /// Whether it looks at the variable `tools`.
    pub(super) knows_tools: bool,
}

/// What a template is rendered with.
#[derive(Debug)]
pub(super) struct TemplateInput {
    pub(super) messages: Vec<Value>,
    pub(super) tools: Option<Vec<Value>>,
    /// The day to tell, if the template asks.
    pub(super) day: Arc<str>,
    /// How many messages, tools and calls there are.
    pub(super) size: usize,
}

/// How many steps a template may take for a conversation of `size` messages, tools and calls.
fn steps(size: usize) -> u64 {
    let each = u64::try_from(size).unwrap_or(u64::MAX).saturating_mul(STEPS_EACH);
    STEPS.saturating_add(each).min(MOST_STEPS)
}

/// The stack that is needed for a conversation of `size` messages, tools and calls, in bytes.
pub(super) fn stack_for(size: usize) -> usize {
    let steps = usize::try_from(steps(size)).unwrap_or(usize::MAX);
    STACK_FOR_SOURCE.saturating_add(steps.saturating_mul(STACK_FOR_STEP))
}

/// Does `work` on a stack that is deep enough for a conversation of `size` messages, tools and
/// calls. A fault in what renders templates ends the work, and nothing else.
pub(super) fn on_deep_stack<T: Send>(
    size: usize,
    work: impl FnOnce() -> Result<T, TemplateRefusal> + Send,
) -> Result<T, TemplateRefusal> {
    let work = Mutex::new(Some(work));
    let run = || {
        let work = work.lock().take();
        work.map_or(Err(TemplateRefusal::Broken), |work| work())
    };
    let done = thread::scope(|scope| {
        let thread = thread::Builder::new().name(NAME.to_owned()).stack_size(stack_for(size));
        match thread.spawn_scoped(scope, run) {
            Ok(thread) => thread.join(),
            // Where there is no memory for such a stack, the one at hand has to do: the
            // prompt must not depend on how busy a machine is.
            Err(_) => catch_unwind(AssertUnwindSafe(run)),
        }
    });
    done.unwrap_or(Err(TemplateRefusal::Broken))
}

impl JinjaTemplate {
    /// The template in `source`. Reading one takes a fraction of a millisecond, so they are read
    /// anew for every prompt.
    ///
    /// Call it [`on_deep_stack`].
    pub(super) fn parse(source: &str) -> Result<Self, TemplateRefusal> {
        if source.len() > LARGEST_SOURCE {
            return Err(TemplateRefusal::TooLarge(LARGEST_SOURCE));
        }
        let mut environment = Environment::new();
        environment.set_syntax(whitespace_as_in_training()?);
        environment.set_undefined_behavior(UndefinedBehavior::Lenient);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_recursion_limit(DEEPEST_CALLS);
        environment.set_unknown_method_callback(unknown_method_callback);
        environment.add_function("raise_exception", |message: &Value| -> Result<Value, Error> {
            Err(refusal_error(TemplateRefusal::Raised(short(&message.to_string()))))
        });
        let source = without_generation(source).into_owned();
        let read = environment.add_template_owned(NAME, source);
        read.map_err(|error| TemplateRefusal::Unreadable { problem: complaint(&error) })?;
        let template = environment.get_template(NAME).map_err(|error| failed(&error))?;
        let knows_tools = template.undeclared_variables(false).contains("tools");
        Ok(JinjaTemplate { environment, knows_tools })
    }

    /// What the template writes.
    ///
    /// Call it [`on_deep_stack`].
    pub(super) fn render(
        &self,
        template: &ChatTemplate,
        given: TemplateInput,
        texts: &Arc<MarkedTexts>,
    ) -> Result<String, TemplateRefusal> {
        let mut environment = self.environment.clone();
        environment.set_fuel(Some(steps(given.size)));
        environment.add_function("strftime_now", move |format: &str| day(&given.day, format));
        let texts = Arc::clone(texts);
        let json = move |value: &Value, indent: Option<Value>, options: Kwargs| {
            tojson(&texts, value, indent, &options)
        };
        environment.add_filter("tojson", json);
        let values = context! {
            messages => given.messages,
            tools => given.tools,
            documents => (),
            add_generation_prompt => true,
            bos_token => template.bos.as_str(),
            eos_token => template.eos.as_str(),
        };
        let mut output = CappedOutput::default();
        let ready = environment.get_template(NAME).map_err(|error| failed(&error))?;
        ready.render_captured_to(values, &mut output).map_err(|error| failed(&error))?;
        // The engine writes whole strings only.
        String::from_utf8(output.0).map_err(|_| TemplateRefusal::Broken)
    }
}

/// Blocks take their line break and the blanks before them with them, as in the library that
/// models are trained with.
fn whitespace_as_in_training() -> Result<SyntaxConfig, TemplateRefusal> {
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    syntax.map_err(|error| failed(&error))
}

/// The source without the tag that marks what a model generates, which only training needs: its
/// block becomes one that is always shown.
fn without_generation(source: &str) -> Cow<'_, str> {
    if !source.contains("generation") {
        return source.into();
    }
    let mut plain = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find("{%") {
        let (before, tag) = rest.split_at(at);
        plain.push_str(before);
        let end = tag.find("%}").map_or(tag.len(), |end| end + 2);
        let (tag, behind) = tag.split_at(end);
        let words = tag.trim_start_matches("{%").trim_end_matches("%}");
        match words.trim_matches(['-', '+', ' ', '\t', '\r', '\n']) {
            "generation" => plain.push_str(&tag.replacen("generation", "if true", 1)),
            "endgeneration" => plain.push_str(&tag.replacen("endgeneration", "endif", 1)),
            _ => plain.push_str(tag),
        }
        rest = behind;
    }
    plain.push_str(rest);
    plain.into()
}

/// The noon of `day` in the form that a template asks for; nothing for a day that is none, or a
/// form that there isn't.
fn day(day: &str, format: &str) -> String {
    let noon = day.parse::<Date>().map(|date| date.at(12, 0, 0, 0));
    noon.and_then(|noon| strtime::format(format, noon)).unwrap_or_default()
}

/// Output that does not grow without end.
#[derive(Default)]
struct CappedOutput(Vec<u8>);

impl Write for CappedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MOST_OWN_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn failed(error: &Error) -> TemplateRefusal {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(each) = cause {
        if let Some(refusal) = each.downcast_ref::<TemplateRefusal>() {
            return refusal.clone();
        }
        cause = each.source();
    }
    match error.kind() {
        ErrorKind::OutOfFuel => TemplateRefusal::Endless,
        ErrorKind::WriteFailure => TemplateRefusal::TooLong,
        _ => TemplateRefusal::Failed { problem: complaint(error) },
    }
}

/// What is wrong, and in which line of the template.
fn complaint(error: &Error) -> String {
    let what = error.detail().map_or_else(|| error.kind().to_string(), short);
    match error.line() {
        Some(line) => format!("{what} (line {line})"),
        None => what,
    }
}

#[cfg(test)]
mod tests;
