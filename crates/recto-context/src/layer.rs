//! The order of the page. Nothing else in Recto decides it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A place on the page that the model reads. The variants stand in the order
/// in which the model meets them, and `Ord` follows from that.
///
/// What changes least comes first: a server keeps the work it did on a prompt
/// exactly as far as two requests agree from the start, so everything up to
/// [`Layer::Items`] stays put from turn to turn, [`Layer::History`] only grows,
/// and what belongs to one turn alone stands behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Who the agent is: SOUL, IDENTITY, AGENTS, USER. Never cut.
    System,
    /// Where it runs: agent, version, workspace, system, day, surface. Never cut.
    Bootstrap,
    /// What it remembers: the session's snapshot of memories. Cut third.
    Memory,
    /// What it can do: skills in full or as a list. Bodies are cut fourth, the list never.
    Skills,
    /// How its tools are used: TOOLS.md, and docs where a model has no tool calls. Never cut.
    Tools,
    /// Rules and references of the session. Never cut: a person put them there.
    Items,
    /// Earlier messages. Cut first, in whole exchanges.
    History,
    /// What search brought for this message alone. Cut second.
    Picks,
    /// The user's message, byte for byte. Never cut.
    Message,
    /// This turn's tool calls and results. Older results are shortened.
    Rounds,
}

impl Layer {
    /// All layers, in order.
    pub const ALL: [Layer; 10] = [
        Layer::System,
        Layer::Bootstrap,
        Layer::Memory,
        Layer::Skills,
        Layer::Tools,
        Layer::Items,
        Layer::History,
        Layer::Picks,
        Layer::Message,
        Layer::Rounds,
    ];

    /// The name that people, records and the config use.
    pub fn name(self) -> &'static str {
        match self {
            Layer::System => "system",
            Layer::Bootstrap => "bootstrap",
            Layer::Memory => "memory",
            Layer::Skills => "skills",
            Layer::Tools => "tools",
            Layer::Items => "items",
            Layer::History => "history",
            Layer::Picks => "picks",
            Layer::Message => "message",
            Layer::Rounds => "rounds",
        }
    }

    /// A letter that tells it without colour.
    pub fn letter(self) -> char {
        match self {
            Layer::System => 'S',
            Layer::Bootstrap => 'B',
            Layer::Memory => 'M',
            Layer::Skills => 'K',
            Layer::Tools => 'T',
            Layer::Items => 'I',
            Layer::History => 'H',
            Layer::Picks => 'P',
            Layer::Message => 'U',
            Layer::Rounds => 'R',
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lists_every_layer_in_the_order_of_the_type() {
        let mut sorted = Layer::ALL;
        sorted.sort();
        assert_eq!(sorted, Layer::ALL);
        assert_eq!(Layer::ALL.len(), Layer::Rounds as usize + 1);
    }
}
