//! How much room there is, where the number comes from, and what it costs to
//! stay within it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::layer::Layer;
use crate::tokens::Tokens;

/// The model's window, with where the number comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Tokens of prompt and reply together.
    pub tokens: Tokens,
    /// Where the number comes from.
    pub source: WindowSource,
    /// What the model was trained for, where anybody says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trained: Option<Tokens>,
    /// The most that is used of what a model was trained for (`window.cap`), where that was
    /// considered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap: Option<Tokens>,
}

/// Where the size of a window comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowSource {
    /// The person set it in the config.
    Config,
    /// The server has the model loaded with this window, or is set to it.
    Server,
    /// What the model was trained for, or the cap, whichever is smaller.
    Trained,
    /// What the machine has memory for, which is less than the model could.
    Memory,
    /// Nobody knows: the smallest window that models of today have.
    Assumed,
}

impl WindowSource {
    /// The source in words.
    pub fn describe(self) -> &'static str {
        match self {
            WindowSource::Config => "set in the config",
            WindowSource::Server => "as the server has it",
            WindowSource::Trained => "as the model was trained",
            WindowSource::Memory => "as much as there is memory for",
            WindowSource::Assumed => "assumed: the real window is unknown",
        }
    }
}

impl Window {
    /// The window to use when nothing is known about the model.
    pub const ASSUMED: Window = Window::new(Tokens::new(4_096), WindowSource::Assumed);

    /// A window of which nothing else is known.
    pub const fn new(tokens: Tokens, source: WindowSource) -> Self {
        Window { tokens, source, trained: None, cap: None }
    }

    /// Where its size comes from, in words, with what else is known: the model may have been
    /// trained for more.
    pub fn describe_source(&self) -> String {
        if let (WindowSource::Trained, Some(trained)) = (self.source, self.trained) {
            return match trained > self.tokens {
                true => format!("by `window.cap` (the model was trained for {trained})"),
                false => self.source.describe().to_owned(),
            };
        }
        let trained = self.trained.map(|tokens| format!("trained for {tokens}"));
        let cap = self.cap.map(|tokens| format!("window.cap {tokens}"));
        let known: Vec<String> = [trained, cap].into_iter().flatten().collect();
        match known.is_empty() {
            true => self.source.describe().to_owned(),
            false => format!("{} ({})", self.source.describe(), known.join(", ")),
        }
    }

    /// A window that the person set.
    pub fn from_config(tokens: Tokens) -> Self {
        Window::new(tokens, WindowSource::Config)
    }
}

/// How the window is shared out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// The size of the whole window.
    pub window: Tokens,
    /// What is kept free for the reply.
    pub reply: Tokens,
    /// What the schemas of the offered tools take.
    pub tools: Tokens,
    /// What is left for messages.
    pub messages: Tokens,
    /// What the messages take.
    pub used: Tokens,
}

impl Budget {
    /// Shares out `window`. The reply gets what it asks for, but at most a
    /// quarter; `target` asks for a prompt smaller than the window allows.
    pub fn share(window: Window, reply: Tokens, tools: Tokens, target: Option<Tokens>) -> Self {
        let window = window.tokens;
        let reply = reply.min(Tokens::new(window.get() / 4));
        let prompt = target.map_or(window - reply, |target| target.min(window - reply));
        Budget { window, reply, tools, messages: prompt - tools, used: Tokens::ZERO }
    }

    /// Whether the messages have room. Where the tools have taken all there is,
    /// nothing does, not even a message that costs nothing.
    pub fn fits(&self) -> bool {
        self.messages > Tokens::ZERO && self.used <= self.messages
    }
}

/// The error for a page whose uncuttable parts take more room than there is. Nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverBudget {
    /// The room there was.
    pub budget: Budget,
    /// What each layer needs at the least.
    pub layers: Vec<(Layer, Tokens)>,
    /// What the files need that came along with the message, by their names.
    pub files: Vec<(String, Tokens)>,
}

impl OverBudget {
    /// What the messages need at the least.
    pub fn needed(&self) -> Tokens {
        self.layers.iter().map(|(_, tokens)| *tokens).sum()
    }

    /// The layer that needs most.
    pub fn largest(&self) -> Option<(Layer, Tokens)> {
        self.layers.iter().copied().max_by_key(|(_, tokens)| *tokens)
    }

    /// What a person can do about it.
    pub fn hint(&self) -> String {
        let largest = match self.largest().map(|(layer, _)| layer) {
            _ if self.budget.tools > self.budget.messages => "offer fewer tools",
            Some(Layer::System) => "shorten SOUL.md, AGENTS.md, IDENTITY.md or USER.md",
            Some(Layer::Skills) => "set `skills.render = \"read_on_demand\"`, or disable skills",
            Some(Layer::Tools) => "shorten TOOLS.md or offer fewer tools",
            Some(Layer::Items) => "remove rules or references from the session",
            Some(Layer::Message) if !self.files.is_empty() => "send less of the files along",
            Some(Layer::Message) => "shorten the message",
            Some(Layer::Rounds) => "let tools return less",
            _ => "shorten the workspace",
        };
        format!("{largest}, or use a model with a window of more than {}", self.budget.window)
    }
}

impl fmt::Display for OverBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Budget { window, reply, tools, messages, .. } = self.budget;
        writeln!(
            f,
            "what may not be cut takes {} tokens, and there is room for {messages} \
             (window {window}, reply {reply}, tools {tools})",
            self.needed()
        )?;
        let rows = self.layers.iter().filter(|(_, tokens)| *tokens > Tokens::ZERO);
        for (index, (layer, tokens)) in rows.enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}  {layer:<10} {:>9}", tokens.to_string())?;
        }
        for (name, tokens) in &self.files {
            write!(f, "\n  of which {name}: {tokens}")?;
        }
        Ok(())
    }
}

impl std::error::Error for OverBudget {}
