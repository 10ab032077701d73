//! A model's own chat template.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::CallStyle;
use super::rendering::knows_tools;

/// How a model wants conversations written down, as its file says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatTemplate {
    /// The template, in Jinja.
    pub source: String,
    /// The text of the token that begins a text.
    pub bos: String,
    /// The text of the token that ends one.
    pub eos: String,
}

/// The form that is called `ChatML`: who speaks and what was said, between two tokens.
const CHATML: &str = "\
{%- for message in messages -%}
    {{- '<|im_start|>' ~ message.role ~ '\\n' ~ message.content ~ '<|im_end|>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{- '<|im_start|>assistant\\n' -}}
{%- endif -%}
";

/// The template of models whose files have none, made once.
pub(super) static DEFAULT: LazyLock<ChatTemplate> = LazyLock::new(ChatTemplate::chatml);

impl ChatTemplate {
    /// The template of models whose files have none.
    ///
    /// ```
    /// use recto_llm::ChatTemplate;
    ///
    /// let template = ChatTemplate::chatml();
    /// assert_eq!(template.eos, "<|im_end|>");
    /// assert_eq!(template.call_style(), None);
    /// ```
    pub fn chatml() -> Self {
        ChatTemplate { source: CHATML.to_owned(), bos: String::new(), eos: "<|im_end|>".to_owned() }
    }

    /// How the model writes calls, if its template has tools and is one whose calls can be read.
    /// Otherwise its tools have to stand on the page as text.
    pub fn call_style(&self) -> Option<CallStyle> {
        if !knows_tools(&self.source).ok()? {
            return None;
        }
        // Strings in a template may have their quotes escaped.
        let source = self.source.replace('\\', "");
        let writes = |what: &str| source.contains(what);
        // Some put XML between these tags, or Python.
        let writes_json = writes("\"name\"") && writes("\"arguments\"");
        let writes_else = writes("<function=") || writes("<arg_key>");
        if writes("<tool_call>") && writes_json && !writes_else {
            return Some(CallStyle::Tagged);
        }
        let is_llamas = writes("<|python_tag|>") || writes("ipython");
        (writes("\"parameters\"") && is_llamas).then_some(CallStyle::Llama)
    }
}
