//! The embedded model's prompt: the page as the model's own chat template writes
//! it down, cut into what the template wrote and what others wrote.
//!
//! What others wrote is never read as anything but text, so nobody can end a
//! message, or open one in another's name, by writing what does that. Pictures
//! can't be shown to these models: a short note stands in their place. A call's
//! arguments and a tool's schema go in as the template writes JSON.
//!
//! A template can't be trusted to be finite, or to take every conversation: it is
//! rendered by a process of its own. What it refuses is told in the body, and
//! nothing is sent. It may leave out things,
//! such as old results, but not what the system says and not the last message.

mod conversation;
mod decode;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod jinja;
mod marks;
mod python_json;
mod refusal;
mod rendering;
mod template;

use std::sync::Arc;

use recto_context::{OfferedTool, RequestContext, ToolCalls, ToolChoice, WantedCall};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::CallOptions;
use crate::reply_rules::{ReplyFormat, ReplyRules};
use conversation::TemplateConversation;
use marks::MarkedTexts;
use refusal::TemplateRefusal;
use rendering::PromptWork;

pub(super) use decode::EmbeddedDecoder;
pub(crate) use rendering::do_written_work;
pub use template::ChatTemplate;

/// The field of a message in which a thought of this turn goes back.
const THOUGHT: &str = "reasoning_content";

/// What models write around their thoughts.
const THINK: &str = "<think>";

/// The request to the embedded model, as it is sent and recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct EmbeddedRequest {
    pub(crate) model: String,
    pub(crate) prompt: Vec<PromptSegment>,
    /// Why there is no prompt: the template refused the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) calls: Option<CallRules>,
    pub(crate) window: u32,
    pub(crate) max_tokens: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) temperature: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) top_p: Option<f64>,
    #[serde(default, skip_serializing_if = "ReplyRules::is_empty")]
    pub(crate) reply: ReplyRules,
}

impl EmbeddedRequest {
    /// The call that the model must make, if it must.
    pub(crate) fn forced_call(&self) -> Option<&CallRules> {
        self.calls.as_ref().filter(|calls| calls.must && !calls.tools.is_empty())
    }

    /// The form that the reply is held to. A call that must be made goes before it.
    pub(crate) fn format(&self) -> Option<&ReplyFormat> {
        self.reply.format.as_ref().filter(|_| self.forced_call().is_none())
    }
}

/// A piece of the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum PromptSegment {
    /// What the template wrote: special tokens in it are meant as such.
    Template { template: String },
    /// A reply of this model, with the tokens that it generated.
    Reply { text: String, tokens: Vec<i32> },
    /// What anyone else wrote: never read as special tokens.
    Text { text: String },
}

impl PromptSegment {
    /// What it says, whoever wrote it.
    pub(crate) fn text(&self) -> &str {
        match self {
            PromptSegment::Template { template: text }
            | PromptSegment::Reply { text, .. }
            | PromptSegment::Text { text } => text,
        }
    }
}

/// How the model writes calls, and whether it must write one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CallRules {
    pub(crate) style: CallStyle,
    #[serde(default)]
    pub(crate) must: bool,
    /// What may be called, where a call is a must.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) tools: Vec<CallableTool>,
}

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CallableTool {
    pub(crate) name: String,
    pub(crate) parameters: Value,
}

/// How a model writes its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallStyle {
    /// As the page tells it to: `<tool_call>{"name": …, "arguments": …}</tool_call>`.
    Page,
    /// As Qwen and Hermes learned it: the same, with line breaks within the tags.
    Tagged,
    /// As Llama learned it: `{"name": …, "parameters": …}`.
    Llama,
}

/// Encodes the prompt, and how it is to be answered.
pub(super) fn encode(options: &CallOptions, request: &RequestContext) -> Value {
    let template = options.template.as_deref().unwrap_or(&template::DEFAULT);
    let (prompt, problem) = match prompt(&options.model, template, request) {
        Ok(prompt) => (prompt, None),
        Err(refusal) => (Vec::new(), Some(refusal.to_string())),
    };
    let body = EmbeddedRequest {
        model: options.model.clone(),
        prompt,
        problem,
        calls: calls(template, request),
        window: request.window.tokens.get(),
        max_tokens: request.budget.reply.get(),
        temperature: options.temperature,
        top_p: options.top_p,
        reply: options.reply.clone(),
    };
    serde_json::to_value(body).unwrap_or_default()
}

/// Whether the model begins its reply in the middle of a thought, because the
/// template has opened one for it.
pub(crate) fn starts_in_thought(prompt: &[PromptSegment]) -> bool {
    match prompt.last() {
        Some(PromptSegment::Template { template }) => template.trim_end().ends_with(THINK),
        _ => false,
    }
}

/// The prompt as the template writes it.
fn prompt(
    model: &str,
    template: &ChatTemplate,
    request: &RequestContext,
) -> Result<Vec<PromptSegment>, TemplateRefusal> {
    let mut texts = MarkedTexts::default();
    let conversation = TemplateConversation::new(model, request, &mut texts);
    let (template, day) = (template.clone(), Arc::clone(&request.day));
    PromptWork { template, day, conversation, texts: Arc::new(texts) }.make()
}

/// What is to be read out of the reply, or forced into it. Calls in the form of
/// the page are read by whoever put the tools on the page.
fn calls(template: &ChatTemplate, request: &RequestContext) -> Option<CallRules> {
    if request.tools.is_empty() {
        return None;
    }
    let must = request.tool_choice != ToolChoice::Auto;
    let style = match request.tool_calls {
        ToolCalls::Text if must => CallStyle::Page,
        ToolCalls::Text => return None,
        ToolCalls::Native => template.call_style().unwrap_or(CallStyle::Tagged),
    };
    let may_be_called = |tool: &&OfferedTool| match &request.tool_choice {
        ToolChoice::Auto => false,
        ToolChoice::Required => true,
        ToolChoice::Named(name) => tool.spec.called == *name,
    };
    let callable = |tool| callable(tool, request.mode.wanted_call.as_ref());
    let tools = request.tools.iter().filter(may_be_called).map(callable).collect();
    Some(CallRules { style, must, tools })
}

fn callable(tool: &OfferedTool, wanted: Option<&WantedCall>) -> CallableTool {
    let spec = &tool.spec;
    let dictated = wanted.and_then(|wanted| wanted.dictated_schema(spec));
    let parameters = dictated.unwrap_or_else(|| Value::clone(&spec.parameters));
    CallableTool { name: spec.called.to_string(), parameters }
}

#[cfg(test)]
mod tests;
