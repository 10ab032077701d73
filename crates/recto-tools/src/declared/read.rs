//! Reads a tools.json: which tools there are, which programs they may run, and
//! how. Everything wrong is noted with its line; a tool that something is wrong
//! with is off, and the others are not.
//!
//! Stricter than the reading of the tools' descriptions, where an unknown key
//! does no harm: here a slip of the pen would decide what is run.

mod args;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};

use super::json::{DeclarationFlaw, RawObject, RawReader, hint};
use super::runners::is_runner;
use super::spec::{ArgSpec, Execution, PathUse, ValueArg, ValuePlace};
use crate::launch::WrittenPrograms;
use crate::options::NetworkAccess;
use crate::sandbox::FileChanges;
use args::ArgReader;

const TOP_KEYS: [&str; 4] = ["tools", "allowlist", "execution", "$schema"];
const EXECUTION_KEYS: [&str; 11] = [
    "tool",
    "binary",
    "subcommand",
    "args",
    "timeoutSeconds",
    "successExitCodes",
    "maxOutputBytes",
    "workingDir",
    "network",
    "readOnly",
    "executeWorkspace",
];
/// The longest name that models' servers accept.
const NAME_LIMIT: usize = 64;
/// Seconds that a tool may ask for.
const TIME_RANGE: (u64, u64) = (1, 3600);
/// Bytes of output that a tool may ask for.
const OUTPUT_RANGE: (u64, u64) = (256, 16 * 1024 * 1024);

/// The content of a tools.json.
#[derive(Debug, Default)]
pub(super) struct ToolsDeclaration {
    /// How each tool is run, or why it is not.
    pub(super) executions: BTreeMap<String, Result<Execution, DeclarationFlaw>>,
    /// A flaw of the whole file, such as broken JSON.
    pub(super) broken: Option<DeclarationFlaw>,
    /// The parameters of the tools that were read, for a check of their schemas.
    pub(super) schemas: Vec<(usize, String, Value)>,
    /// Everything wrong, by line.
    pub(super) flaws: Vec<DeclarationFlaw>,
}

/// A tool as the model sees it.
struct DeclaredTool<'a> {
    raw: &'a str,
    parameters: Vec<String>,
    flaw: Option<DeclarationFlaw>,
}

type DeclaredTools<'a> = BTreeMap<String, DeclaredTool<'a>>;

/// The programs that may be run, each with the subcommands that it may have.
type ProgramAllowlist = BTreeMap<String, BTreeSet<Vec<String>>>;

/// Reads the text of a tools.json, and notes everything wrong with it.
pub(super) fn read_tools_json(text: &str) -> ToolsDeclaration {
    // Some editors begin a file with a mark of its byte order.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = RawReader::new(text);
    let mut contents = ToolsDeclaration::default();
    if read_into(&mut reader, text, &mut contents).is_none() {
        contents.broken = reader.flaws.last().cloned();
    }
    contents.flaws = reader.flaws;
    contents.flaws.sort_by_key(|flaw| flaw.line);
    contents
}

/// `None` if what is wrong concerns the whole file; it is then the last flaw.
fn read_into<'a>(
    reader: &mut RawReader<'a>,
    text: &'a str,
    contents: &mut ToolsDeclaration,
) -> Option<()> {
    let top = reader.object(text, "tools.json")?;
    reader.only(&top, "tools.json", &TOP_KEYS);
    let tools = read_tools(reader, &top, contents)?;
    let allowlist = read_allowlist(reader, &top)?;
    for raw in list_of(reader, &top, "execution")? {
        let before = reader.flaws.len();
        let Some(object) = reader.object(raw, "an execution") else { continue };
        let Some(tool) = reader.need::<String>(&object, "an execution", "tool") else { continue };
        if contents.executions.contains_key(&tool) {
            reader.flaw(raw, format!("there are two executions for tool `{tool}`"));
        }
        let execution =
            ExecutionReader { reader, allowlist: &allowlist, tools: &tools }.read(&object, &tool);
        let of_tool = tools.get(&tool).and_then(|declared| declared.flaw.as_ref());
        match (reader.flaws.get(before).or(of_tool), execution) {
            (Some(flaw), _) => contents.executions.insert(tool, Err(flaw.clone())),
            (None, Some(execution)) => contents.executions.insert(tool, Ok(execution)),
            (None, None) => None,
        };
    }
    for (name, tool) in tools {
        let flaw = || {
            let what = format!("tool `{name}` has no execution, so it can't be run");
            let flaw = DeclarationFlaw { line: reader.line_of(tool.raw), what };
            reader.flaws.push(flaw.clone());
            Err(flaw)
        };
        contents.executions.entry(name.clone()).or_insert_with(flaw);
    }
    Some(())
}

/// A member that is a list, if there is one; `None` if it is something else.
fn list_of<'a>(reader: &mut RawReader<'a>, top: &RawObject<'a>, key: &str) -> Option<Vec<&'a str>> {
    match top.get(key) {
        None => Some(Vec::new()),
        Some(raw) => reader.list(raw, &format!("`{key}`")),
    }
}

/// The tools, as far as it matters for running them.
fn read_tools<'a>(
    reader: &mut RawReader<'a>,
    top: &RawObject<'a>,
    contents: &mut ToolsDeclaration,
) -> Option<DeclaredTools<'a>> {
    let mut tools = DeclaredTools::new();
    for raw in list_of(reader, top, "tools")? {
        let before = reader.flaws.len();
        let Some(object) = reader.object(raw, "a tool") else { continue };
        let Some(name) = reader.need::<String>(&object, "a tool", "name") else { continue };
        if !is_tool_name(&name) {
            let shown = name.escape_default();
            let usual = format!("1 to {NAME_LIMIT} letters, digits, `_` and `-` are");
            reader.flaw(raw, format!("`{shown}` is not a tool name: {usual}"));
        }
        if tools.contains_key(&name) {
            reader.flaw(raw, format!("there are two tools `{}`", name.escape_default()));
        }
        let parameters = reader.get::<Value>(&object, "parameters").unwrap_or_else(|| json!({}));
        if !parameters.is_object() {
            reader.flaw(raw, format!("the parameters of tool `{name}` are not a JSON object"));
        }
        let flaw = reader.flaws.get(before).cloned();
        let properties = parameters.get("properties").and_then(Value::as_object);
        let names = properties.into_iter().flat_map(|all| all.keys().cloned()).collect();
        if flaw.is_none() {
            contents.schemas.push((reader.line_of(raw), name.clone(), parameters));
        }
        tools.insert(name, DeclaredTool { raw, parameters: names, flaw });
    }
    Some(tools)
}

fn is_tool_name(name: &str) -> bool {
    (1..=NAME_LIMIT).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

fn read_allowlist<'a>(reader: &mut RawReader<'a>, top: &RawObject<'a>) -> Option<ProgramAllowlist> {
    let mut allowlist = ProgramAllowlist::new();
    let Some(raw) = top.get("allowlist") else { return Some(allowlist) };
    for (binary, raw) in reader.object(raw, "`allowlist`")?.members {
        if let Some(problem) = binary_problem(&binary) {
            reader.flaw(raw, problem);
        }
        let what = format!("the subcommands of `{}`", binary.escape_default());
        let Some(subcommands) = reader.parse::<Vec<String>>(raw, &what) else { continue };
        allowlist.insert(binary, subcommands.iter().map(|text| words(text)).collect());
    }
    Some(allowlist)
}

/// Why no skill may run a program of this name.
fn binary_problem(binary: &str) -> Option<String> {
    let shown = binary.escape_default();
    if binary.is_empty() || binary.starts_with('-') || binary.chars().any(char::is_control) {
        return Some(format!("`{shown}` is not the name of a program"));
    }
    if binary.contains(['/', '\\']) || matches!(binary, "." | "..") {
        return Some(format!("`{shown}` is a path; a program is given by its bare name"));
    }
    is_runner(binary).then(|| {
        format!(
            "`{shown}` runs other programs, so an allowlist could not hold; name the program itself"
        )
    })
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// Reads the executions one by one.
struct ExecutionReader<'r, 'a> {
    reader: &'r mut RawReader<'a>,
    allowlist: &'r ProgramAllowlist,
    tools: &'r DeclaredTools<'a>,
}

impl<'a> ExecutionReader<'_, 'a> {
    /// `None` only where a flaw was noted.
    fn read(&mut self, object: &RawObject<'a>, tool: &str) -> Option<Execution> {
        let what = format!("the execution of `{}`", tool.escape_default());
        self.reader.only(object, &what, &EXECUTION_KEYS);
        let declared = self.tools.get(tool);
        if declared.is_none() {
            let hint = hint(tool, self.tools.keys().map(String::as_str));
            let what = format!("there is no tool `{}`{hint}", tool.escape_default());
            self.reader.flaw(object.raw, what);
        }
        let parameters = declared.map(|tool| tool.parameters.as_slice()).unwrap_or_default();
        let command = self.command(object, &what);
        let listed = list_of(self.reader, object, "args");
        let args: Vec<_> = listed
            .iter()
            .flatten()
            .filter_map(|raw| {
                let arg = ArgReader { reader: self.reader, allowlist: self.allowlist, parameters };
                Some((*raw, arg.read(raw)?))
            })
            .collect();
        self.check_order(&args);
        let all_read = listed.is_some_and(|listed| listed.len() == args.len());
        let (binary, subcommand) = command.clone().unwrap_or_default();
        let execution = Execution {
            tool: tool.to_owned(),
            binary,
            subcommand,
            args: args.into_iter().map(|(_, arg)| arg).collect(),
            time: self.number(object, "timeoutSeconds", TIME_RANGE).map(Duration::from_secs),
            success: self.success(object),
            output_bytes: self.number(object, "maxOutputBytes", OUTPUT_RANGE).map(|n| n as usize),
            working_dir: self.reader.get(object, "workingDir"),
            network: match self.reader.get(object, "network") {
                Some(true) => NetworkAccess::Granted,
                _ => NetworkAccess::Refused,
            },
            changes: match self.reader.get(object, "readOnly") {
                Some(true) => FileChanges::None,
                _ => FileChanges::Allowed,
            },
            written: match self.reader.get(object, "executeWorkspace") {
                Some(true) => WrittenPrograms::Executed,
                _ => WrittenPrograms::Refused,
            },
        };
        self.check_read_only(object.raw, &execution);
        // An argument that could not be read may be the one that uses a parameter.
        if all_read {
            self.check_parameters(object.raw, &execution, parameters);
        }
        command.map(|_| execution)
    }

    fn command(&mut self, object: &RawObject<'a>, what: &str) -> Option<(String, Vec<String>)> {
        let binary: String = self.reader.need(object, what, "binary")?;
        let subcommand: String = self.reader.get(object, "subcommand").unwrap_or_default();
        let subcommand = words(&subcommand);
        if let Some(problem) = command_problem(self.allowlist, &binary, &subcommand) {
            self.reader.flaw(object.raw, problem);
        }
        Some((binary, subcommand))
    }

    /// Notes arguments that mean something else in their place than the author thought.
    fn check_order(&mut self, args: &[(&'a str, ArgSpec)]) {
        let mut flags_ended = false;
        let mut has_stdin = false;
        for (raw, arg) in args {
            if flags_ended && arg.own_texts().any(|text| text.starts_with('-')) {
                self.reader
                    .flaw(raw, "a flag after `--` is taken for a plain argument; put it before");
            }
            flags_ended |= matches!(arg, ArgSpec::Literal(text) if text == "--");
            if matches!(arg, ArgSpec::Value(ValueArg { place: ValuePlace::Stdin, .. })) {
                if has_stdin {
                    self.reader.flaw(raw, "there are two arguments for standard input");
                }
                has_stdin = true;
            }
        }
    }

    /// Notes a tool that is to change nothing, and to write a file.
    fn check_read_only(&mut self, raw: &str, execution: &Execution) {
        let writes = |arg: &ArgSpec| matches!(arg, ArgSpec::Value(value) if value.path == Some(PathUse::Write));
        if execution.changes == FileChanges::None && execution.args.iter().any(writes) {
            let what = format!("tool `{}` is `readOnly`, and has a `writePath`", execution.tool);
            self.reader.flaw(raw, what);
        }
    }

    fn check_parameters(&mut self, raw: &str, execution: &Execution, declared: &[String]) {
        let used: BTreeSet<&str> = execution.params().collect();
        for name in declared.iter().filter(|name| !used.contains(name.as_str())) {
            let what = format!("parameter `{name}` of tool `{}` is used nowhere", execution.tool);
            self.reader.flaw(raw, what);
        }
    }

    fn number(&mut self, from: &RawObject<'a>, key: &str, (low, high): (u64, u64)) -> Option<u64> {
        let number: i64 = self.reader.get(from, key)?;
        let fitting = u64::try_from(number).ok().filter(|number| (low..=high).contains(number));
        if fitting.is_none() {
            let raw = from.get(key).unwrap_or(from.raw);
            self.reader.flaw(raw, format!("`{key}` is {number}, but must be {low} to {high}"));
        }
        fitting
    }

    fn success(&mut self, object: &RawObject<'a>) -> Vec<i32> {
        let Some(codes) = self.reader.get::<Vec<i32>>(object, "successExitCodes") else {
            return vec![0];
        };
        if codes.is_empty() || codes.iter().any(|code| !(0..=255).contains(code)) {
            let raw = object.get("successExitCodes").unwrap_or(object.raw);
            self.reader.flaw(raw, "`successExitCodes` must hold codes from 0 to 255, at least one");
        }
        codes
    }
}

/// Why a program may not be run with this subcommand.
fn command_problem(
    allowlist: &ProgramAllowlist,
    binary: &str,
    subcommand: &[String],
) -> Option<String> {
    if let Some(problem) = binary_problem(binary) {
        return Some(problem);
    }
    let Some(allowed) = allowlist.get(binary) else {
        return Some(format!("`{binary}` is not in `allowlist`"));
    };
    let is_allowed = allowed.contains(subcommand) || subcommand.is_empty() && allowed.is_empty();
    (!is_allowed).then(|| match subcommand.join(" ").as_str() {
        "" => format!(
            "`allowlist` has `{binary}` only with a subcommand; add \"\" to allow it without"
        ),
        words => format!("`allowlist` does not have `{}` for `{binary}`", words.escape_default()),
    })
}
