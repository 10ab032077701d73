//! The rendering of a chat template, as work that can be written down for another process.
//!
//! The engine counts a template's steps, and not what a single step takes: each can double a string,
//! or compare lists that hold themselves many times over. So Recto has a process of its own do it,
//! which the kernel ends ([`template_process`](crate::template_process)). The template that Recto
//! brings itself needs none.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::conversation::TemplateConversation;
use super::jinja::{JinjaTemplate, TemplateInput, on_deep_stack, stack_for};
use super::marks::MarkedTexts;
use super::refusal::TemplateRefusal;
use super::{ChatTemplate, PromptSegment, template};
use crate::template_process::{self, ProcessFailure};

/// The templates of which it is kept whether they look at tools.
const MOST_KNOWN: usize = 32;

/// Whether templates look at tools, by their source. It is asked for with each request.
static KNOWN: LazyLock<Mutex<HashMap<String, bool>>> = LazyLock::new(Mutex::default);

/// What is to be done with a template.
#[derive(Debug, Serialize, Deserialize)]
enum TemplateWork {
    Prompt(PromptWork),
    /// Whether the template of this source looks at tools.
    KnowsTools(String),
}

/// A prompt to make.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PromptWork {
    pub(super) template: ChatTemplate,
    pub(super) day: Arc<str>,
    pub(super) conversation: TemplateConversation,
    pub(super) texts: Arc<MarkedTexts>,
}

impl PromptWork {
    /// The prompt, made where it can do no harm.
    pub(super) fn make(self) -> Result<Vec<PromptSegment>, TemplateRefusal> {
        match is_own(&self.template.source) {
            true => self.make_here(),
            false => TemplateWork::Prompt(self).ask(),
        }
    }

    /// The prompt in the first form of the conversation that the template takes; otherwise why it
    /// does not take the last one.
    fn make_here(&self) -> Result<Vec<PromptSegment>, TemplateRefusal> {
        let PromptWork { template, day, conversation, texts } = self;
        on_deep_stack(conversation.size(), || {
            let jinja = JinjaTemplate::parse(&template.source)?;
            let mut refusal = TemplateRefusal::Broken;
            for messages in conversation.forms() {
                texts.forget_written();
                let (tools, size) = (conversation.tools(), conversation.size());
                let given = TemplateInput { messages, tools, day: Arc::clone(day), size };
                let output = jinja.render(template, given, texts);
                match output.and_then(|output| texts.cut(&output, &conversation.musts)) {
                    Ok(prompt) => return Ok(prompt),
                    Err(refused) => refusal = refused,
                }
            }
            Err(refusal)
        })
    }
}

/// Whether a template looks at the variable `tools`.
pub(super) fn knows_tools(source: &str) -> Result<bool, TemplateRefusal> {
    if is_own(source) {
        return knows_tools_here(source);
    }
    if let Some(known) = KNOWN.lock().get(source) {
        return Ok(*known);
    }
    let knows = TemplateWork::KnowsTools(source.to_owned()).ask()?;
    let mut known = KNOWN.lock();
    if known.len() >= MOST_KNOWN {
        known.clear();
    }
    known.insert(source.to_owned(), knows);
    Ok(knows)
}

fn knows_tools_here(source: &str) -> Result<bool, TemplateRefusal> {
    on_deep_stack(0, || JinjaTemplate::parse(source).map(|jinja| jinja.knows_tools))
}

/// Whether it is the template that Recto brings along.
fn is_own(source: &str) -> bool {
    source == template::DEFAULT.source
}

impl TemplateWork {
    /// Has another process do it, where there can be one.
    fn ask<T: DeserializeOwned>(&self) -> Result<T, TemplateRefusal> {
        let written = serde_json::to_vec(self).map_err(|_| TemplateRefusal::Broken)?;
        let answer = match template_process::executable() {
            None => do_written_work(&written, |_| {}).ok_or(TemplateRefusal::Broken)?,
            Some(executable) => {
                template_process::ask(executable, written).map_err(|failure| match failure {
                    ProcessFailure::OutOfTime => TemplateRefusal::Endless,
                    ProcessFailure::Ended => TemplateRefusal::TooGreedy,
                    ProcessFailure::NotStarted(why) => TemplateRefusal::NoProcess(why),
                })?
            }
        };
        serde_json::from_slice(&answer).unwrap_or(Err(TemplateRefusal::Broken))
    }

    /// Does it, and writes down what came of it.
    fn do_here(&self) -> Vec<u8> {
        let written = match self {
            TemplateWork::Prompt(work) => serde_json::to_vec(&work.make_here()),
            TemplateWork::KnowsTools(source) => serde_json::to_vec(&knows_tools_here(source)),
        };
        written.unwrap_or_default()
    }

    /// How much stack it may need.
    fn stack(&self) -> usize {
        match self {
            TemplateWork::Prompt(work) => stack_for(work.conversation.size()),
            TemplateWork::KnowsTools(_) => stack_for(0),
        }
    }
}

/// Does what another process has written down. `bound` sets the limits of this one, and is told how
/// much memory the stack alone may take.
pub(crate) fn do_written_work(written: &[u8], bound: impl FnOnce(usize)) -> Option<Vec<u8>> {
    let work: TemplateWork = serde_json::from_slice(written).ok()?;
    bound(work.stack());
    Some(work.do_here())
}
