//! The models that a fake serves.

/// What a model can do, by Ollama's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// Answers chats.
    Completion,
    /// Calls the tools of a request.
    Tools,
    /// Thinks before it talks.
    Thinking,
    /// Reads images beside the text.
    Vision,
}

impl Capability {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Capability::Completion => "completion",
            Capability::Tools => "tools",
            Capability::Thinking => "thinking",
            Capability::Vision => "vision",
        }
    }
}

/// A model that a fake serves.
#[derive(Debug, Clone)]
pub struct FakeModel {
    pub(crate) name: String,
    /// The longest prompt that the model was made for.
    pub(crate) trained: u32,
    /// What the server was set to, if anything.
    pub(crate) window: Option<u32>,
    pub(crate) capabilities: Vec<Capability>,
}

impl FakeModel {
    /// The model that a fake serves when it is given none.
    pub const DEFAULT_NAME: &'static str = "fake";

    /// A model that talks and calls tools, and was trained for 32,768 tokens.
    pub fn new(name: impl Into<String>) -> Self {
        FakeModel {
            name: name.into(),
            trained: 32_768,
            window: None,
            capabilities: vec![Capability::Completion, Capability::Tools],
        }
    }

    /// Sets the window that the model was trained for.
    pub fn trained_for(mut self, tokens: u32) -> Self {
        self.trained = tokens;
        self
    }

    /// Sets the window that the server is set to: Ollama's parameter `num_ctx`,
    /// or what another server has loaded the model with.
    pub fn window(mut self, tokens: u32) -> Self {
        self.window = Some(tokens);
        self
    }

    /// Sets what the model can do, and nothing else.
    pub fn capabilities(mut self, capabilities: impl IntoIterator<Item = Capability>) -> Self {
        self.capabilities = capabilities.into_iter().collect();
        self
    }

    pub(crate) fn can(&self, capability: Capability) -> bool {
        self.capabilities.contains(&capability)
    }

    /// The window of servers that fix it when they load the model.
    pub(crate) fn loaded_window(&self) -> u32 {
        self.window.unwrap_or(self.trained)
    }
}

impl From<&str> for FakeModel {
    fn from(name: &str) -> Self {
        FakeModel::new(name)
    }
}

/// What the builder sets, whatever the server.
#[derive(Debug, Clone, Default)]
pub(crate) struct FakeSettings {
    pub(crate) models: Vec<FakeModel>,
    pub(crate) api_key: Option<String>,
}
