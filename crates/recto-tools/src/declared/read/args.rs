//! Reads the arguments of an execution.

use recto_context::nearest_name;

use super::super::json::{RawObject, RawReader, hint};
use super::super::spec::{
    ArgSpec, NewlineHandling, PathUse, ResolveArg, ResolveCommand, Switch, ValueArg, ValuePlace,
    ValuePresence, ValueResolver,
};
use super::{ProgramAllowlist, command_problem, words};

const ARG_KEYS: [&str; 10] = [
    "param",
    "kind",
    "flag",
    "flagIfTrue",
    "flagIfFalse",
    "optional",
    "normalizeNewlines",
    "resolveCommand",
    "readPath",
    "writePath",
];
const RESOLVE_KEYS: [&str; 4] = ["script", "binary", "subcommand", "args"];
const KINDS: [&str; 5] = ["positional", "flag", "flagifboolean", "stdin", "literal"];

/// Reads a single argument.
pub(super) struct ArgReader<'r, 'a> {
    pub(super) reader: &'r mut RawReader<'a>,
    pub(super) allowlist: &'r ProgramAllowlist,
    pub(super) parameters: &'r [String],
}

impl<'a> ArgReader<'_, 'a> {
    /// `None` only where a flaw was noted.
    pub(super) fn read(mut self, raw: &'a str) -> Option<ArgSpec> {
        let object = self.reader.object(raw, "an argument")?;
        self.reader.only(&object, "an argument", &ARG_KEYS);
        let kind: Option<String> = self.reader.get(&object, "kind");
        let kind = kind.unwrap_or_else(|| "positional".to_owned());
        match kind.as_str() {
            "literal" => self.literal(&object),
            "flagifboolean" => self.switch(&object),
            "positional" => self.value(&object, &kind, ValuePlace::Positional),
            "stdin" => self.value(&object, &kind, ValuePlace::Stdin),
            "flag" => {
                let flag = self.text(&object, "flag");
                let Some(flag) = flag.filter(|flag| !flag.is_empty()) else {
                    self.reader.flaw(raw, "an argument of kind `flag` lacks `flag`");
                    return None;
                };
                self.refuse_marker(&object, &flag);
                self.value(&object, &kind, ValuePlace::Flag(flag))
            }
            _ => {
                let near = nearest_name(&kind, KINDS);
                let hint = near.map_or_else(
                    || format!("there are {}", KINDS.join(", ")),
                    |near| format!("perhaps `{near}` is meant"),
                );
                self.reader
                    .flaw(raw, format!("there is no kind `{}`; {hint}", kind.escape_default()));
                None
            }
        }
    }

    /// The author's own text.
    fn literal(&mut self, object: &RawObject<'a>) -> Option<ArgSpec> {
        self.refuse(object, "literal", &["flagIfTrue", "flagIfFalse", "optional"]);
        self.refuse(object, "literal", &["normalizeNewlines", "resolveCommand"]);
        self.refuse(object, "literal", &["readPath", "writePath"]);
        if object.get("flag").is_some() && object.get("param").is_some() {
            self.reader
                .flaw(object.raw, "a literal has its text in `flag`, so it takes no `param`");
        }
        let text = self.text(object, "flag").or_else(|| self.text(object, "param"));
        if text.is_none() {
            self.reader.flaw(object.raw, "a literal lacks its text; write it in `flag`");
        }
        text.map(ArgSpec::Literal)
    }

    fn switch(&mut self, object: &RawObject<'a>) -> Option<ArgSpec> {
        self.refuse(object, "flagifboolean", &["flag", "normalizeNewlines", "resolveCommand"]);
        self.refuse(object, "flagifboolean", &["readPath", "writePath"]);
        let param = self.param(object)?;
        let if_true = self.text(object, "flagIfTrue").filter(|flag| !flag.is_empty());
        let if_false = self.text(object, "flagIfFalse").filter(|flag| !flag.is_empty());
        if if_true.is_none() && if_false.is_none() {
            let what = "an argument of kind `flagifboolean` needs `flagIfTrue` or `flagIfFalse`";
            self.reader.flaw(object.raw, what);
        }
        for flag in if_true.iter().chain(&if_false) {
            self.refuse_marker(object, flag);
        }
        Some(ArgSpec::Switch(Switch { param, if_true, if_false }))
    }

    fn value(&mut self, object: &RawObject<'a>, kind: &str, place: ValuePlace) -> Option<ArgSpec> {
        self.refuse(object, kind, &["flagIfTrue", "flagIfFalse"]);
        if !matches!(place, ValuePlace::Flag(_)) {
            self.refuse(object, kind, &["flag"]);
        }
        if place == ValuePlace::Stdin {
            self.refuse(object, kind, &["readPath", "writePath"]);
        }
        let param = self.param(object)?;
        let path = match (self.is_set(object, "readPath"), self.is_set(object, "writePath")) {
            (true, true) => {
                self.reader
                    .flaw(object.raw, "`writePath` allows reading as well; leave out `readPath`");
                None
            }
            (true, false) => Some(PathUse::Read),
            (false, true) => Some(PathUse::Write),
            (false, false) => None,
        };
        let normalized = self.is_set(object, "normalizeNewlines");
        let newlines =
            if normalized { NewlineHandling::Normalized } else { NewlineHandling::Refused };
        if path.is_some() && newlines == NewlineHandling::Normalized {
            self.reader.flaw(object.raw, "a path has no line breaks that could be normalized");
        }
        let optional = self.is_set(object, "optional");
        let presence = if optional { ValuePresence::Optional } else { ValuePresence::Required };
        let resolve = match object.get("resolveCommand") {
            Some(raw) => Some(self.resolve(raw, &param)?),
            None => None,
        };
        Some(ArgSpec::Value(ValueArg { param, place, presence, newlines, path, resolve }))
    }

    fn resolve(&mut self, raw: &'a str, own_param: &str) -> Option<ValueResolver> {
        let what = "`resolveCommand`";
        let object = self.reader.object(raw, what)?;
        self.reader.only(&object, what, &RESOLVE_KEYS);
        let command = self.resolve_command(&object, what)?;
        let texts: Vec<String> = self.reader.get(&object, "args").unwrap_or_default();
        let mut args = Vec::new();
        for text in texts {
            args.push(match text.strip_prefix('$') {
                None => ResolveArg::Literal(self.whole(raw, "args", text)?),
                Some(name) if self.is_declared(name) => ResolveArg::Param(name.to_owned()),
                Some("param") => ResolveArg::Param(own_param.to_owned()),
                Some(name) => {
                    self.undeclared(raw, name);
                    return None;
                }
            });
        }
        Some(ValueResolver { command, args })
    }

    fn resolve_command(&mut self, object: &RawObject<'a>, what: &str) -> Option<ResolveCommand> {
        let script: Option<String> = self.reader.get(object, "script");
        let Some(script) = script else {
            if object.get("binary").is_none() {
                self.reader.flaw(object.raw, format!("{what} has neither `script` nor `binary`"));
                return None;
            }
            let binary: String = self.reader.get(object, "binary")?;
            let subcommand: String = self.reader.get(object, "subcommand").unwrap_or_default();
            let subcommand = words(&subcommand);
            if let Some(problem) = command_problem(self.allowlist, &binary, &subcommand) {
                self.reader.flaw(object.raw, problem);
            }
            return Some(ResolveCommand::Program { binary, subcommand });
        };
        if object.get("binary").is_some() || object.get("subcommand").is_some() {
            self.reader.flaw(object.raw, format!("{what} has a `script`, so it has no program"));
        }
        if !is_file_name(&script) {
            let shown = script.escape_default();
            let what =
                format!("`{shown}` is not the bare name of a file in the skill's `scripts/`");
            self.reader.flaw(object.raw, what);
        }
        Some(ResolveCommand::Script(script))
    }

    fn param(&mut self, object: &RawObject<'a>) -> Option<String> {
        let param: String = self.reader.need(object, "an argument", "param")?;
        if !self.is_declared(&param) {
            self.undeclared(object.raw, &param);
        }
        Some(param)
    }

    fn is_declared(&self, name: &str) -> bool {
        self.parameters.iter().any(|declared| declared == name)
    }

    fn undeclared(&mut self, raw: &str, name: &str) {
        let hint = hint(name, self.parameters.iter().map(String::as_str));
        let shown = name.escape_default();
        let what = format!("the tool's parameters declare no `{shown}`{hint}");
        self.reader.flaw(raw, what);
    }

    /// A text for the command line.
    fn text(&mut self, object: &RawObject<'a>, key: &str) -> Option<String> {
        let text: String = self.reader.get(object, key)?;
        self.whole(object.raw, key, text)
    }

    fn whole(&mut self, raw: &str, key: &str, text: String) -> Option<String> {
        if text.contains('\0') {
            self.reader.flaw(raw, format!("`{key}` has a NUL character"));
            return None;
        }
        Some(text)
    }

    fn is_set(&mut self, object: &RawObject<'a>, key: &str) -> bool {
        self.reader.get(object, key).unwrap_or(false)
    }

    /// Only a literal ends the flags, since it is always there.
    fn refuse_marker(&mut self, object: &RawObject<'a>, flag: &str) {
        if flag.trim_matches('-').is_empty() {
            self.reader.flaw(object.raw, format!("`{flag}` is no flag; a literal can be `--`"));
        }
    }

    /// Members that mean nothing for this kind of argument.
    fn refuse(&mut self, object: &RawObject<'a>, kind: &str, keys: &[&str]) {
        for key in keys {
            if let Some(raw) = object.get(key).filter(|raw| *raw != "false") {
                self.reader.flaw(raw, format!("an argument of kind `{kind}` takes no `{key}`"));
            }
        }
    }
}

fn is_file_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('.')
        && !name.contains(['/', '\\'])
        && !name.chars().any(char::is_control)
}
