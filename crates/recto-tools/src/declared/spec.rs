//! The declaration of how a skill's tools are run, once it has been read and found
//! right. Reading it is in `read.rs`; nothing here is run.

use std::time::Duration;

use crate::launch::WrittenPrograms;
use crate::options::NetworkAccess;
use crate::sandbox::FileChanges;

/// The way in which a tool is run: the program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Execution {
    pub(crate) tool: String,
    /// The program, by its bare name.
    pub(crate) binary: String,
    /// The words that come right after it.
    pub(crate) subcommand: Vec<String>,
    /// What follows them, in this order.
    pub(crate) args: Vec<ArgSpec>,
    /// How long it may take, if the skill says so.
    pub(crate) time: Option<Duration>,
    /// The exit codes that mean success.
    pub(crate) success: Vec<i32>,
    /// How much of its output is kept, if the skill says so.
    pub(crate) output_bytes: Option<usize>,
    /// The folder that it starts in, from the workspace on; the workspace itself
    /// if there is none.
    pub(crate) working_dir: Option<String>,
    /// Whether it asks for the network.
    pub(crate) network: NetworkAccess,
    /// Whether it changes files.
    pub(crate) changes: FileChanges,
    /// Whether it asks to execute what can be written.
    pub(crate) written: WrittenPrograms,
}

/// A part of the command line, or the text on standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ArgSpec {
    /// A text of the author's.
    Literal(String),
    /// A flag that depends on a parameter.
    Switch(Switch),
    /// What the model gave for a parameter.
    Value(ValueArg),
}

/// A flag that depends on a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Switch {
    pub(crate) param: String,
    pub(crate) if_true: Option<String>,
    pub(crate) if_false: Option<String>,
}

/// An argument whose value the model gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ValueArg {
    pub(crate) param: String,
    pub(crate) place: ValuePlace,
    pub(crate) presence: ValuePresence,
    pub(crate) newlines: NewlineHandling,
    /// What the value is used for, if it is a path.
    pub(crate) path: Option<PathUse>,
    /// What turns it into another value first.
    pub(crate) resolve: Option<ValueResolver>,
}

/// Where a value goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ValuePlace {
    Positional,
    /// Behind this flag, which is left out together with the value.
    Flag(String),
    Stdin,
}

/// Whether a value may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValuePresence {
    Required,
    Optional,
}

/// The treatment of line breaks in a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NewlineHandling {
    /// They are refused, except on standard input.
    Refused,
    /// All ways to write one become `\n`, also the two characters `\` and `n`.
    Normalized,
}

/// What a path is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathUse {
    Read,
    Write,
}

/// A command whose output takes the place of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ValueResolver {
    pub(crate) command: ResolveCommand,
    pub(crate) args: Vec<ResolveArg>,
}

/// The command that resolves a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ResolveCommand {
    /// A file in the skill's `scripts/`.
    Script(String),
    /// A program from the allowlist.
    Program { binary: String, subcommand: Vec<String> },
}

/// An argument of a command that resolves a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ResolveArg {
    Literal(String),
    /// The value of a parameter.
    Param(String),
}

impl Execution {
    /// Whether all that it does is to read, and nothing leaves the machine.
    pub(super) fn only_reads(&self) -> bool {
        self.changes == FileChanges::None && self.network == NetworkAccess::Refused
    }

    /// The parameters that it uses.
    pub(super) fn params(&self) -> impl Iterator<Item = &str> {
        self.args.iter().flat_map(ArgSpec::params)
    }
}

impl ArgSpec {
    fn params(&self) -> Vec<&str> {
        match self {
            ArgSpec::Literal(_) => Vec::new(),
            ArgSpec::Switch(switch) => vec![&switch.param],
            ArgSpec::Value(value) => {
                let of_resolve = value.resolve.iter().flat_map(|resolve| &resolve.args);
                let of_resolve = of_resolve.filter_map(|arg| match arg {
                    ResolveArg::Param(param) => Some(param.as_str()),
                    ResolveArg::Literal(_) => None,
                });
                of_resolve.chain([value.param.as_str()]).collect()
            }
        }
    }

    /// The flags and the author's texts that it can put into the command line.
    pub(super) fn own_texts(&self) -> impl Iterator<Item = &str> {
        let texts = match self {
            ArgSpec::Literal(text) => [Some(text), None],
            ArgSpec::Switch(switch) => [switch.if_true.as_ref(), switch.if_false.as_ref()],
            ArgSpec::Value(ValueArg { place: ValuePlace::Flag(flag), .. }) => [Some(flag), None],
            ArgSpec::Value(_) => [None, None],
        };
        texts.into_iter().flatten().map(String::as_str)
    }
}
