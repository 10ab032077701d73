//! What is declared, what is given, and what becomes of it.

mod command_lines;
mod flaws;
mod paths;
mod trust;
mod values;

mod home {
    use std::fmt::Write;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::{Path, PathBuf};

    use tempfile::TempDir;

    use super::super::read;
    use super::super::spec::Execution;
    use super::super::{Invocation, InvocationScope, PreparedInvocation};
    use crate::arguments::CallArguments;
    use crate::options::ScriptPolicy;
    use crate::tool::ToolError;

    /// A workspace with some files, a folder with programs, and what is granted.
    pub(super) struct Home {
        folder: TempDir,
        real: PathBuf,
        pub(super) scripts: ScriptPolicy,
        pub(super) readable: Vec<PathBuf>,
        pub(super) writable: Vec<PathBuf>,
        pub(super) search_path: String,
    }

    impl Home {
        pub(super) fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let real = fs::canonicalize(folder.path()).unwrap();
            for name in ["w/a/b", "w/skills/s/scripts", "out", "granted/sub", "bin"] {
                fs::create_dir_all(real.join(name)).unwrap();
            }
            for name in ["w/a/file", "w/-x", "w/k=v", "w/SOUL.md", "out/secret", "granted/sub/f"] {
                fs::write(real.join(name), "").unwrap();
            }
            let search_path = real.join("bin").display().to_string();
            let (readable, writable) = (Vec::new(), Vec::new());
            let home = Home {
                folder,
                real,
                scripts: ScriptPolicy::Allowed,
                readable,
                writable,
                search_path,
            };
            for program in ["grep", "git", "echo", "find", "cat"] {
                home.program(&format!("bin/{program}"));
            }
            home
        }

        pub(super) fn path(&self, name: &str) -> PathBuf {
            self.real.join(name)
        }

        pub(super) fn program(&self, name: &str) {
            fs::write(self.path(name), "#!/bin/false\n").unwrap();
            fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
        }

        pub(super) fn link(&self, target: impl AsRef<Path>, name: &str) {
            symlink(target, self.path(name)).unwrap();
        }

        fn around<T>(&self, run: impl FnOnce(&InvocationScope<'_>) -> T) -> T {
            assert!(self.folder.path().exists());
            let (workspace, skill_folder) = (self.path("w"), self.path("w/skills/s"));
            let protected = [self.path("w/SOUL.md"), self.path("w/skills")];
            run(&InvocationScope {
                workspace: &workspace,
                skill_folder: &skill_folder,
                search_path: Some(self.search_path.as_ref()),
                scripts: self.scripts,
                readable: &self.readable,
                writable: &self.writable,
                planted: &self.writable,
                is_protected: &|path| protected.iter().any(|folder| path.starts_with(folder)),
            })
        }

        pub(super) fn prepare(
            &self,
            execution: &Execution,
            arguments: &CallArguments,
        ) -> Result<PreparedInvocation, ToolError> {
            self.around(|around| Invocation::prepare(execution, arguments, around))
        }

        pub(super) fn finish(
            &self,
            prepared: PreparedInvocation,
            outputs: &[&str],
        ) -> Result<Invocation, ToolError> {
            let outputs: Vec<String> = outputs.iter().map(|&output| output.to_owned()).collect();
            self.around(|around| prepared.finish(&outputs, around))
        }

        /// What a call becomes, as a text: the steps, then the invocation. The
        /// steps give `outputs`.
        pub(super) fn call(&self, execution: &str, arguments: &str, outputs: &[&str]) -> String {
            let (execution, arguments) = (execution_of(execution), given(arguments));
            let mut text = String::new();
            let done = self.prepare(&execution, &arguments).and_then(|prepared| {
                for step in prepared.steps() {
                    writeln!(text, "first {}", shown(step)).unwrap();
                }
                if prepared.steps().count() > 0 {
                    writeln!(text, "then  {}", shown(prepared.preview())).unwrap();
                }
                self.finish(prepared, outputs)
            });
            match done {
                Ok(invocation) => writeln!(text, "{}", shown(&invocation)).unwrap(),
                Err(error) => writeln!(text, "error: {error}").unwrap(),
            }
            text.replace(&format!("{}/", self.real.display()), "/")
        }
    }

    pub(super) fn given(arguments: &str) -> CallArguments {
        CallArguments::parse(arguments).unwrap()
    }

    /// The execution `{"tool": "t", …}`, whose tool declares all that it uses.
    /// `allowlist` is whatever it takes.
    pub(super) fn execution_of(members: &str) -> Execution {
        let execution: serde_json::Value =
            serde_json::from_str(&format!("{{\"tool\": \"t\", {members}}}")).unwrap();
        let mut params = Vec::new();
        let mut allowlist = serde_json::Map::new();
        let mut allow = |part: &serde_json::Value| {
            if let Some(binary) = part["binary"].as_str() {
                let subcommand = part["subcommand"].as_str().unwrap_or_default();
                allowlist.insert(binary.to_owned(), serde_json::json!([subcommand]));
            }
        };
        allow(&execution);
        for arg in execution["args"].as_array().into_iter().flatten() {
            allow(&arg["resolveCommand"]);
            let of_resolve = arg["resolveCommand"]["args"].as_array().into_iter().flatten();
            let of_resolve = of_resolve.filter_map(|arg| arg.as_str()?.strip_prefix('$'));
            params.extend(of_resolve.map(str::to_owned).filter(|name| name != "param"));
            if arg["kind"] != "literal" {
                params.push(arg["param"].as_str().unwrap().to_owned());
            }
        }
        let properties: serde_json::Map<_, _> =
            params.into_iter().map(|name| (name, serde_json::json!({}))).collect();
        let text = serde_json::json!({
            "tools": [{"name": "t", "parameters": {"properties": properties}}],
            "allowlist": allowlist,
            "execution": [execution],
        });
        read::read_tools_json(&text.to_string()).executions.remove("t").unwrap().unwrap()
    }

    fn shown(invocation: &Invocation) -> String {
        let mut text = format!("{}", invocation.program.display());
        for argument in &invocation.arguments {
            write!(text, " [{}]", argument.escape_debug()).unwrap();
        }
        if let Some(stdin) = &invocation.stdin {
            write!(text, " < {}", stdin.escape_debug()).unwrap();
        }
        for path in &invocation.writes {
            write!(text, " writes {}", path.display()).unwrap();
        }
        if !invocation.working_dir.ends_with("w") {
            write!(text, " in {}", invocation.working_dir.display()).unwrap();
        }
        if invocation.is_script {
            text += " (script)";
        }
        text
    }
}
