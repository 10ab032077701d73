//! Makes a command line of what a skill declares and what the model gave.
//!
//! Every element of it is either the author's own text or exactly one value of
//! the model's, and such a value can't be taken for a flag: it stands behind
//! `--`, or is bound to its flag by `=`, or is refused. A value that another
//! command has to turn into something first is checked after that.

mod pieces;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::paths::PathArguments;
use super::programs::{find_program, find_script};
use super::spec::{
    ArgSpec, Execution, NewlineHandling, PathUse, ResolveArg, ResolveCommand, Switch, ValueArg,
    ValuePlace, ValuePresence, ValueResolver,
};
use crate::arguments::{CallArguments, kind_of};
use crate::launch::WrittenPrograms;
use crate::options::{NetworkAccess, ScriptPolicy};
use crate::sandbox::FileChanges;
use crate::tool::ToolError;
use pieces::{ArgvPiece, Origin, command_line, named, own};

/// The longest argument that Linux hands over, with the NUL at its end.
const MAX_ARGUMENT: usize = 128 * 1024;

/// The folders and rights that a call of a skill's tool has.
#[derive(Clone, Copy)]
pub(crate) struct InvocationScope<'a> {
    pub(crate) workspace: &'a Path,
    pub(crate) skill_folder: &'a Path,
    /// Where programs are searched, in the form of `PATH`.
    pub(crate) search_path: Option<&'a OsStr>,
    pub(crate) scripts: ScriptPolicy,
    /// Granted for reading, beyond the workspace.
    pub(crate) readable: &'a [PathBuf],
    /// Granted for reading and writing, beyond the workspace.
    pub(crate) writable: &'a [PathBuf],
    /// Granted for writing to any skill or server: no program is taken from there.
    pub(crate) planted: &'a [PathBuf],
    /// Whether no tool may write what is at this absolute path without links.
    pub(crate) is_protected: &'a (dyn Fn(&Path) -> bool + Sync),
}

/// A program to run, and what it gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Invocation {
    /// Its absolute path. It may be a link, because some programs look at the
    /// name that they are called by.
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) stdin: Option<String>,
    pub(crate) working_dir: PathBuf,
    /// The time limit that the skill declares.
    pub(crate) time: Option<Duration>,
    /// The output limit that the skill declares.
    pub(crate) output_bytes: Option<usize>,
    /// The exit codes that mean success.
    pub(crate) success: Vec<i32>,
    /// Files that it is to write. Those that are not there yet have to be
    /// created first. All are without links.
    pub(crate) writes: Vec<PathBuf>,
    /// The marks of values that become files to write once another command has run.
    pub(crate) unresolved_writes: Vec<String>,
    /// Whether the skill asks for the network.
    pub(crate) network: NetworkAccess,
    /// Whether it changes files.
    pub(crate) changes: FileChanges,
    /// Whether the skill asks to execute what can be written.
    pub(crate) written: WrittenPrograms,
    /// Whether it is a script of the skill's.
    pub(crate) is_script: bool,
}

/// A call of which some values may have to be resolved by other commands first.
#[derive(Debug)]
pub(crate) struct PreparedInvocation {
    frame: InvocationFrame,
    slots: Vec<ArgSlot>,
    /// Each with the slot that its output is for.
    steps: Vec<(usize, Invocation)>,
    preview: Invocation,
}

/// An invocation before its arguments are known.
#[derive(Debug)]
struct InvocationFrame {
    name: String,
    given_dir: Option<String>,
    invocation: Invocation,
}

/// A part of the command line to be.
#[derive(Debug)]
enum ArgSlot {
    /// A text of the skill's author.
    Fixed(ArgvPiece),
    /// What the model gave, unchecked.
    Values { arg: ValueArg, values: Vec<String>, state: ValueState },
}

/// Whether a value is the one that will be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueState {
    Final,
    /// Another command has to run first.
    Unresolved,
}

impl Invocation {
    /// Checks a call as far as it can be before other commands have run. The
    /// arguments fit the tool's schema.
    pub(crate) fn prepare(
        execution: &Execution,
        arguments: &CallArguments,
        scope: &InvocationScope<'_>,
    ) -> Result<PreparedInvocation, ToolError> {
        let slots = execution.args.iter().filter_map(|arg| slot(arg, arguments).transpose());
        let slots = slots.collect::<Result<Vec<_>, _>>()?;
        let paths = PathArguments::open(scope, execution.working_dir.as_deref())?;
        let frame = InvocationFrame::new(execution, &paths, scope)?;
        let mut steps = Vec::new();
        for (at, slot) in slots.iter().enumerate() {
            if let ArgSlot::Values { arg: ValueArg { param, resolve: Some(resolve), .. }, .. } =
                slot
            {
                let step = frame.step(resolve, param, arguments, scope)?;
                steps.push((at, step));
            }
        }
        let preview = frame.fill(&slots, &paths)?;
        Ok(PreparedInvocation { frame, slots, steps, preview })
    }
}

impl PreparedInvocation {
    /// The commands that have to run first, each to its end. One that fails
    /// rejects the call.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &Invocation> {
        self.steps.iter().map(|(_, step)| step)
    }

    /// The invocation as far as it is known. Values that have to be resolved are marked
    /// as such.
    pub(crate) fn preview(&self) -> &Invocation {
        &self.preview
    }

    /// Whether all that the call does is to read, and nothing leaves the machine.
    pub(crate) fn only_reads(&self) -> bool {
        let reads = |it: &Invocation| {
            it.changes == FileChanges::None && it.network == NetworkAccess::Refused
        };
        self.steps().chain([&self.preview]).all(reads)
    }

    /// The final invocation, given what each of the steps wrote to its standard output.
    /// Nothing but blanks keeps the value.
    pub(crate) fn finish(
        mut self,
        outputs: &[String],
        scope: &InvocationScope<'_>,
    ) -> Result<Invocation, ToolError> {
        if outputs.len() != self.steps.len() {
            return Err(ToolError::new("not every value of the call was resolved"));
        }
        if self.steps.is_empty() {
            return Ok(self.preview);
        }
        for ((at, _), output) in self.steps.iter().zip(outputs) {
            if let Some(ArgSlot::Values { values, state, .. }) = self.slots.get_mut(*at) {
                *state = ValueState::Final;
                if !output.trim().is_empty() {
                    *values = vec![output.trim_end_matches(['\n', '\r']).to_owned()];
                }
            }
        }
        let paths = PathArguments::open(scope, self.frame.given_dir.as_deref())?;
        self.frame.fill(&self.slots, &paths)
    }
}

impl InvocationFrame {
    fn new(
        execution: &Execution,
        paths: &PathArguments<'_>,
        scope: &InvocationScope<'_>,
    ) -> Result<Self, ToolError> {
        let invocation = Invocation {
            program: find_program(&execution.binary, scope)?,
            arguments: execution.subcommand.clone(),
            stdin: None,
            working_dir: paths.working_dir().to_owned(),
            time: execution.time,
            output_bytes: execution.output_bytes,
            success: execution.success.clone(),
            writes: Vec::new(),
            unresolved_writes: Vec::new(),
            network: execution.network,
            changes: execution.changes,
            written: execution.written,
            is_script: false,
        };
        let given_dir = execution.working_dir.clone();
        Ok(InvocationFrame { name: execution.binary.clone(), given_dir, invocation })
    }

    /// The command that resolves the value of a parameter.
    fn step(
        &self,
        resolve: &ValueResolver,
        own_param: &str,
        arguments: &CallArguments,
        scope: &InvocationScope<'_>,
    ) -> Result<Invocation, ToolError> {
        let (name, program, words) = match &resolve.command {
            ResolveCommand::Script(name) => (name, find_script(name, scope)?, &Vec::new()),
            ResolveCommand::Program { binary, subcommand } => {
                (binary, find_program(binary, scope)?, subcommand)
            }
        };
        let mut pieces = own(words);
        for arg in &resolve.args {
            let (text, origin) = match arg {
                ResolveArg::Literal(text) => (text.clone(), Origin::Own),
                ResolveArg::Param(param) => {
                    let value = arguments.as_value().get(param).unwrap_or(&Value::Null);
                    let text = scalar(value).ok_or_else(|| {
                        let is = format!("must be a single value for it, not {}", kind_of(value));
                        problem(own_param, format!("`{param}` {is}"))
                    })?;
                    (clean(param, &text, NewlineHandling::Refused)?, Origin::Positional)
                }
            };
            pieces.push(ArgvPiece { text, origin });
        }
        let (arguments, success) = (command_line(name, pieces)?, vec![0]);
        let is_script = matches!(resolve.command, ResolveCommand::Script(_));
        Ok(Invocation { program, arguments, success, is_script, ..self.invocation.clone() })
    }

    /// The invocation with its arguments.
    fn fill(&self, slots: &[ArgSlot], paths: &PathArguments<'_>) -> Result<Invocation, ToolError> {
        let mut filled = self.invocation.clone();
        let mut pieces = own(&self.invocation.arguments);
        for slot in slots {
            let (arg, values, state) = match slot {
                ArgSlot::Fixed(piece) => {
                    pieces.push(piece.clone());
                    continue;
                }
                ArgSlot::Values { arg, values, state } => (arg, values, *state),
            };
            for value in values {
                let value = match state {
                    ValueState::Unresolved => {
                        let mark = format!("‹resolved from {}›", value.escape_debug());
                        if arg.path == Some(PathUse::Write) {
                            filled.unresolved_writes.push(mark.clone());
                        }
                        mark
                    }
                    ValueState::Final => checked(arg, value, paths, &mut filled.writes)?,
                };
                match &arg.place {
                    ValuePlace::Positional => {
                        pieces.push(ArgvPiece { text: value, origin: Origin::Positional });
                    }
                    ValuePlace::Flag(flag) => pieces.extend(named(&arg.param, flag, value)?),
                    ValuePlace::Stdin => filled.stdin = Some(value),
                }
            }
        }
        filled.arguments = command_line(&self.name, pieces)?;
        Ok(filled)
    }
}

/// The slot that an argument fills; `None` if it is left out.
fn slot(arg: &ArgSpec, arguments: &CallArguments) -> Result<Option<ArgSlot>, ToolError> {
    let fixed = |text: String, origin| ArgSlot::Fixed(ArgvPiece { text, origin });
    Ok(match arg {
        ArgSpec::Literal(text) => Some(fixed(text.clone(), Origin::Own)),
        ArgSpec::Switch(switch) => chosen(switch, arguments).map(|it| fixed(it, Origin::Switch)),
        ArgSpec::Value(arg) => values_of(arg, arguments)?.map(|values| {
            let state =
                if arg.resolve.is_some() { ValueState::Unresolved } else { ValueState::Final };
            ArgSlot::Values { arg: arg.clone(), values, state }
        }),
    })
}

/// The flag that a switch stands for.
fn chosen(switch: &Switch, arguments: &CallArguments) -> Option<String> {
    let is_true = match arguments.as_value().get(&switch.param) {
        Some(Value::Bool(is_true)) => *is_true,
        Some(Value::String(text)) => text.eq_ignore_ascii_case("true"),
        Some(Value::Number(number)) => number.as_f64().is_some_and(|number| number != 0.0),
        _ => false,
    };
    if is_true { switch.if_true.clone() } else { switch.if_false.clone() }
}

/// The values that the model gave for a parameter; `None` if there are none and need not be.
fn values_of(arg: &ValueArg, arguments: &CallArguments) -> Result<Option<Vec<String>>, ToolError> {
    let param = &arg.param;
    let value = arguments.as_value().get(param).unwrap_or(&Value::Null);
    let may_be_many = arg.place != ValuePlace::Stdin && arg.resolve.is_none();
    let values = match value {
        Value::Null => Vec::new(),
        Value::Array(all) if may_be_many => {
            let refuse = |value| problem(param, format!("{} can't be an argument", kind_of(value)));
            let text = |value| scalar(value).ok_or_else(|| refuse(value));
            all.iter().map(text).collect::<Result<Vec<_>, _>>()?
        }
        value => {
            let refused = || problem(param, format!("{} can't be used here", kind_of(value)));
            vec![scalar(value).ok_or_else(refused)?]
        }
    };
    let may_be_missing =
        arg.presence == ValuePresence::Optional || matches!(arg.place, ValuePlace::Flag(_));
    match (values.is_empty(), may_be_missing) {
        (false, _) => Ok(Some(values)),
        (true, true) => Ok(None),
        (true, false) => Err(ToolError::new(format!("`{param}` is missing"))),
    }
}

/// A single value as the text that a program gets.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Checks a value, and gives it as the program gets it.
fn checked(
    arg: &ValueArg,
    value: &str,
    paths: &PathArguments<'_>,
    writes: &mut Vec<PathBuf>,
) -> Result<String, ToolError> {
    if arg.place == ValuePlace::Stdin {
        return on_stdin(&arg.param, value, arg.newlines);
    }
    let value = clean(&arg.param, value, arg.newlines)?;
    let Some(usage) = arg.path else { return Ok(value) };
    let path = paths.resolve(&value, usage).map_err(|error| problem(&arg.param, error))?;
    writes.extend(path.to_write);
    Ok(path.argument)
}

fn on_stdin(param: &str, value: &str, newlines: NewlineHandling) -> Result<String, ToolError> {
    if value.contains('\0') {
        return Err(problem(param, "it has a NUL character, which can't be passed on"));
    }
    Ok(match newlines {
        NewlineHandling::Refused => value.to_owned(),
        NewlineHandling::Normalized => normalized(value),
    })
}

/// Checks the characters and the length of a value for the command line.
fn clean(param: &str, value: &str, newlines: NewlineHandling) -> Result<String, ToolError> {
    let (value, allowed): (String, &[char]) = match newlines {
        NewlineHandling::Refused => (value.to_owned(), &[]),
        NewlineHandling::Normalized => (normalized(value), &['\n', '\t']),
    };
    let refused = value.chars().find(|c| c.is_control() && !allowed.contains(c));
    if let Some(refused) = refused {
        let shown = refused.escape_unicode();
        let words = "line breaks and other control characters can't be passed on";
        return Err(problem(param, format!("it has the character `{shown}`; {words}")));
    }
    if value.len() >= MAX_ARGUMENT {
        let (size, limit) = (value.len(), MAX_ARGUMENT - 1);
        let what = format!("it has {size} bytes; an argument has at most {limit}");
        return Err(problem(param, what));
    }
    Ok(value)
}

/// All ways to write a line break become one.
fn normalized(value: &str) -> String {
    value.replace("\r\n", "\n").replace('\r', "\n").replace("\\n", "\n")
}

fn problem(param: &str, what: impl std::fmt::Display) -> ToolError {
    ToolError::new(format!("`{param}`: {what}"))
}
