//! What the config says about tools: when a person is asked, what programs get,
//! and the MCP servers.

use super::*;

fn server(text: &str) -> ServerSettings {
    settings(text).servers.remove(0)
}

#[test]
fn who_is_asked_may_be_set_by_another_name_and_word() {
    assert_eq!(settings("").tools.approval, ApprovalMode::PerTool);
    for text in [
        "tools.approval = 'always'\n",
        "tools.toolPermission = 'always'\n",
        "[tools]\ntoolPermission = 'always'\n",
    ] {
        assert_eq!(settings(text).tools.approval, ApprovalMode::Always, "{text}");
    }
    for word in ["tool", "per_tool", "perTool"] {
        let text = format!("tools.toolPermission = '{word}'\n");
        assert_eq!(settings(&text).tools.approval, ApprovalMode::PerTool, "{word}");
        let variable = with_variables(&[("RECTO_TOOLS_APPROVAL", word)]);
        let by_variable = load_text("tools.approval = 'never'\n", &variable).unwrap();
        assert_eq!(by_variable.settings.tools.approval, ApprovalMode::PerTool, "{word}");
        assert_eq!(by_variable.warnings, []);
    }
    assert_eq!(settings("tools.approval = 'never'\n").tools.approval, ApprovalMode::Never);
}

#[test]
fn settings_of_tools_that_do_not_fit_are_reported() {
    report(
        "[tools]\napproval = 'sometimes'\ntoolPermission = 'tool'\napproval_expires = 0\n\
         sandbox = 'bestEfort'\n[skills]\nallow_scripts = 'yes'\n",
        &sources(),
        &expect![[r#"
            config.toml:2: `tools.approval` must be one of `per_tool`, `always`, `never`, not `sometimes`
            config.toml:3: `tools.toolPermission` is the same setting as `tools.approval` at config.toml:2
              hint: keep one of the two
            config.toml:4: `tools.approval_expires` must be a whole number from 1 to 2592000, not `0`
            config.toml:5: `tools.sandbox` must be one of `best_effort`, `required`, not `bestEfort`
              hint: did you mean `best_effort`?
            config.toml:7: `skills.allow_scripts` must be `true` or `false`, not a string
        "#]],
    );
    report(
        "[tools]\napproval_expires = 2592001\n",
        &with_variables(&[("RECTO_TOOLS_SANDBOX", "off"), ("RECTO_SKILLS_ALLOW_SCRIPTS", "1")]),
        &expect![[r#"
            config.toml:2: `tools.approval_expires` must be a whole number from 1 to 2592000, not `2592001`
            RECTO_SKILLS_ALLOW_SCRIPTS: `skills.allow_scripts` must be `true` or `false`, not `1`
            RECTO_TOOLS_SANDBOX: `tools.sandbox` must be one of `best_effort`, `required`, not `off`
        "#]],
    );
    let fine = settings("tools.approvalExpires = 2592000\ntools.sandbox = 'bestEffort'\n").tools;
    assert_eq!(fine.approval_expires, Duration::from_secs(30 * 24 * 60 * 60));
    assert_eq!(fine.sandbox, SandboxPolicy::BestEffort);
    assert!(settings("skills.allowScripts = true\n").skills.allow_scripts);
}

#[test]
fn skills_and_tools_have_a_permission_and_skills_have_grants() {
    let items = settings(
        "[items.skills.weather]\npermission = 'allow'\nnetwork = true\nread = ['~/a', 'b']\n\
         write = ['/c']\nenv = ['WEATHER_KEY', 'RECTO_LIKE']\n\
         [items.tool.\"files.read\"]\npermission = 'ask'\n[items.tool.empty]\n\
         [items.skill.none]\nnetwork = false\nread = []\n",
    )
    .items;
    assert_eq!(items.len(), 2, "tables that set nothing are left out");
    assert_eq!((items[0].kind, items[0].name.as_str()), (ItemKind::Skill, "weather"));
    assert_eq!(items[0].permission, Some(ToolPermission::Allow));
    let expected = GrantSettings {
        network: true,
        read: ["/home/me/a", "/home/me/.recto/b"].map(PathBuf::from).to_vec(),
        write: vec!["/c".into()],
        env: ["WEATHER_KEY", "RECTO_LIKE"].map(str::to_owned).to_vec(),
    };
    assert_eq!(items[0].grants, expected);
    assert_eq!((items[1].kind, items[1].name.as_str()), (ItemKind::Tool, "files.read"));
    assert_eq!(items[1].permission, Some(ToolPermission::Ask));
    assert_eq!(items[1].grants, GrantSettings::default());
}

#[test]
fn what_a_kind_of_items_does_not_have_is_refused() {
    report(
        "[items.rule.a]\npermission = 'allow'\nnetwork = true\n\
         [items.reference.a]\npermission = 'ask'\nread = ['x']\n\
         [items.tool.a]\npriority = 1\nnetwork = false\nwrite = ['x']\nenv = ['X']\n\
         [items.skill.a]\npriority = 1\n",
        &sources(),
        &expect![[r#"
            config.toml:2: `items.rule.a.permission` is for skills and tools, and this is a rule
              hint: leave it out
            config.toml:3: `items.rule.a.network` is for skills, and this is a rule
              hint: leave it out
            config.toml:5: `items.reference.a.permission` is for skills and tools, and this is a reference
              hint: leave it out
            config.toml:6: `items.reference.a.read` is for skills, and this is a reference
              hint: leave it out
            config.toml:8: `items.tool.a.priority` is for rules and references, and this is a tool
              hint: leave it out
            config.toml:9: `items.tool.a.network` is for skills, and this is a tool
              hint: leave it out
            config.toml:10: `items.tool.a.write` is for skills, and this is a tool
              hint: leave it out
            config.toml:11: `items.tool.a.env` is for skills, and this is a tool
              hint: leave it out
            config.toml:13: `items.skill.a.priority` is for rules and references, and this is a skill
              hint: leave it out
        "#]],
    );
    report(
        "[items.skill.a]\npermission = 'yes'\nnetwork = 1\nread = 'x'\nwrite = ['~you/x', '']\n\
         env = ['OK', 'hunter2']\nenvironment = ['X']\n[items.skill.b]\nwrite = ['~you']\n",
        &sources(),
        &expect![[r#"
            config.toml:2: `items.skill.a.permission` must be one of `ask`, `allow`, not `yes`
            config.toml:3: `items.skill.a.network` must be `true` or `false`, not a whole number
            config.toml:4: `items.skill.a.read` must be a list of paths, not a string
            config.toml:5: `items.skill.a.write` must be a list of paths; entry 2 is empty
            config.toml:6: `items.skill.a.env` must be a list of names of environment variables; entry 2 is none
              hint: write the variable's name, such as `OPENAI_API_KEY`, never the key itself
            config.toml:7: unknown key `items.skill.a.environment`
              hint: in `items.skill.a` there are `include`, `priority`, `permission`, `network`, `read`, `write`, `env`
            config.toml:9: `items.skill.b.write` has the path `~you`, but `~` with a name behind it is not supported
              hint: write the whole path, or `./~` for a name that begins so
        "#]],
    );
}

#[test]
fn a_server_is_a_program_or_an_address() {
    let program = server(
        "[mcp.files]\ncommand = 'npx'\nargs = ['-y', '~/x']\npassEnv = ['FILES_TOKEN']\n\
         workingDir = '~/w'\ninclude = 'agent'\npermission = 'allow'\nenabled = false\n\
         startLimit = 5\ntime_limit = 7\n[mcp.files.env]\nLANG = 'C'\nhttp_proxy = 'http://p'\n",
    );
    let expected = ServerSettings {
        name: "files".to_owned(),
        transport: TransportSettings::Program {
            command: "npx".to_owned(),
            args: ["-y", "~/x"].map(str::to_owned).to_vec(),
            env: [("LANG", "C"), ("http_proxy", "http://p")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
            pass_env: vec!["FILES_TOKEN".to_owned()],
            working_dir: Some("/home/me/w".into()),
            sandbox: ServerSandboxSettings::default(),
        },
        include: Some(IncludeMode::Agent),
        permission: Some(ToolPermission::Allow),
        enabled: false,
        start_limit: Duration::from_secs(5),
        time_limit: Duration::from_secs(7),
    };
    assert_eq!(program, expected);
    let empty = server("[mcp.a]\ncommand = 'a'\nargs = ['-c', '']\n");
    let TransportSettings::Program { args, .. } = empty.transport else { panic!("a program") };
    assert_eq!(args, ["-c", ""]);
    let address = server("[mcp.Docs_2-x]\nurl = 'https://h/mcp/'\napiKeyEnv = 'RECTO_DOCS'\n");
    let expected = ServerSettings {
        name: "Docs_2-x".to_owned(),
        transport: TransportSettings::Address {
            url: "https://h/mcp/".to_owned(),
            api_key_env: Some("RECTO_DOCS".to_owned()),
        },
        include: None,
        permission: None,
        enabled: true,
        start_limit: Duration::from_secs(30),
        time_limit: Duration::from_secs(60),
    };
    assert_eq!(address, expected);
}

#[test]
fn servers_keep_the_order_of_the_file() {
    let text = "mcp.z.command = 'a'\nmcp.a.command = 'b'\nmcp.z.env.X = 'y'\n";
    let names: Vec<String> = settings(text).servers.into_iter().map(|server| server.name).collect();
    assert_eq!(names, ["z", "a"]);
    assert_eq!(settings("").servers, []);
}

#[test]
fn a_program_of_a_server_is_a_name_or_a_path() {
    let command = |text: &str| {
        let TransportSettings::Program { command, .. } =
            server(&format!("mcp.x.command = '{text}'\n")).transport
        else {
            panic!("it is a program")
        };
        command
    };
    assert_eq!(command("npx"), "npx");
    assert_eq!(command("/opt/my server/run"), "/opt/my server/run");
    assert_eq!(command("~/bin/run"), "/home/me/bin/run");
    assert_eq!(command("bin/run"), "/home/me/.recto/bin/run");
    assert_eq!(command("./run"), "/home/me/.recto/run");
    report(
        "mcp.a.command = 'npx -y files'\nmcp.b.command = '~you/x'\nmcp.c.command = ' '\n",
        &sources(),
        &expect![[r#"
            config.toml:1: `mcp.a.command` must be a program alone
              hint: put its arguments into the list `args`
            config.toml:2: `mcp.b.command` has the path `~you/x`, but `~` with a name behind it is not supported
              hint: write the whole path, or `./~` for a name that begins so
            config.toml:3: `mcp.c.command` must be a string, not empty
        "#]],
    );
}

#[test]
fn a_server_has_only_the_keys_that_fit() {
    report(
        "[mcp.none]\ninclude = 'agent'\n\
         [mcp.both]\ncommand = 'a'\nurl = 'http://h'\n\
         [mcp.program]\ncommand = 'a'\napi_key_env = 'KEY'\n\
         [mcp.address]\nurl = 'http://h'\nargs = ['a']\npass_env = ['A']\nworking_dir = 'x'\n\
         env = { LANG = 'C' }\n",
        &sources(),
        &expect![[r#"
            config.toml:1: `mcp.none` has neither `command` nor `url`
              hint: a server is a program, which Recto starts, or an address
            config.toml:5: `mcp.both.url` stands beside `command`
              hint: keep one of the two: a server is a program, which Recto starts, or an address
            config.toml:8: `mcp.program.api_key_env` is for servers with a `url`, and this one is a program
              hint: name variables that the program needs with `pass_env`
            config.toml:11: `mcp.address.args` is for servers with a `command`, and this one has a `url`
              hint: leave it out
            config.toml:12: `mcp.address.pass_env` is for servers with a `command`, and this one has a `url`
              hint: leave it out
            config.toml:13: `mcp.address.working_dir` is for servers with a `command`, and this one has a `url`
              hint: leave it out
            config.toml:14: `mcp.address.env.LANG` is for servers with a `command`, and this one has a `url`
              hint: leave it out
        "#]],
    );
}

#[test]
fn a_sandbox_has_to_be_asked_for() {
    let sandboxed = "[mcp.a]\ncommand = 'a'\nsandbox = true\nread = ['/r']\nnetwork = true\n";
    let TransportSettings::Program { sandbox, .. } = server(sandboxed).transport else {
        panic!("a program")
    };
    let read = vec![PathBuf::from("/r")];
    let expected =
        ServerSandboxSettings { sandbox: true, read, network: true, ..Default::default() };
    assert_eq!(sandbox, expected);
    let loaded = load_text("[mcp.a]\ncommand = 'a'\nwrite = ['/w']\n", &sources()).unwrap();
    let warning = loaded.warnings.first().unwrap().to_string();
    assert!(warning.contains("hold only with `sandbox = true`"), "{warning}");
}

#[test]
fn the_name_of_a_server_is_short_and_plain() {
    let longest = "x".repeat(32);
    assert_eq!(server(&format!("mcp.{longest}.command = 'a'\n")).name, longest);
    report(
        &format!(
            "[mcp.\"a.b\"]\ncommand = 'a'\n[mcp.\"a b\"]\n[mcp.'']\n[mcp.\"ä\"]\nurl = 'http://h'\n\
             [mcp.{}]\ncommand = 'a'\n",
            "x".repeat(33)
        ),
        &sources(),
        &expect![[r#"
            config.toml:1: `mcp."a.b"` is no name for a server
              hint: use at most 32 letters, digits, `_` and `-`
            config.toml:3: `mcp."a b"` is no name for a server
              hint: use at most 32 letters, digits, `_` and `-`
            config.toml:3: `mcp."a b"` has neither `command` nor `url`
              hint: a server is a program, which Recto starts, or an address
            config.toml:4: `mcp.""` has an empty name
            config.toml:5: `mcp."ä"` is no name for a server
              hint: use at most 32 letters, digits, `_` and `-`
            config.toml:7: `mcp.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx` is no name for a server
              hint: use at most 32 letters, digits, `_` and `-`
        "#]],
    );
}

#[test]
fn values_of_a_server_that_do_not_fit_are_reported() {
    report(
        "mcp = 1\n",
        &sources(),
        &expect![[r#"
        config.toml:1: `mcp` must be a table, not a whole number
          hint: write `[mcp.NAME]`
    "#]],
    );
    report(
        "[mcp.a]\ncommand = 'a'\nargs = 'x'\npass_env = ['A', 'hunter2']\nworking_dir = 3\n\
         include = 'never'\npermission = 'deny'\nenabled = 'no'\nstart_limit = 0\ntime_limit = 86401\n\
         comand = 'x'\nenv = 'X=1'\n[mcp.b]\nurl = 'localhost'\napi_key_env = 'hunter2'\n\
         [mcp.c]\nurl = 'http://me:hunter2@h'\n[mcp.d]\ncommand = 'a'\n[mcp.d.env]\n\
         'A-B' = 'x'\n'' = 'x'\nX = 3\nY = ' '\n[mcp.d.env.Z]\nz = 'x'\n",
        &sources(),
        &expect![[r#"
            config.toml:3: `mcp.a.args` must be a list of strings, not a string
            config.toml:4: `mcp.a.pass_env` must be a list of names of environment variables; entry 2 is none
              hint: write the variable's name, such as `OPENAI_API_KEY`, never the key itself
            config.toml:5: `mcp.a.working_dir` must be a path, not a whole number
            config.toml:6: `mcp.a.include` must be one of `always`, `manual`, `agent`, not `never`
            config.toml:7: `mcp.a.permission` must be one of `ask`, `allow`, not `deny`
            config.toml:8: `mcp.a.enabled` must be `true` or `false`, not a string
            config.toml:9: `mcp.a.start_limit` must be a whole number from 1 to 86400, not `0`
            config.toml:10: `mcp.a.time_limit` must be a whole number from 1 to 86400, not `86401`
            config.toml:11: unknown key `mcp.a.comand`
              hint: did you mean `mcp.a.command`?
            config.toml:12: `mcp.a.env` must be a table, not a string
            config.toml:14: `mcp.b.url` must be an address that starts with `http://` or `https://`
            config.toml:15: `mcp.b.api_key_env` must be the name of an environment variable
              hint: write the variable's name, such as `OPENAI_API_KEY`, never the key itself
            config.toml:17: `mcp.c.url` must not hold a user name, a password or a query
              hint: put the key into an environment variable and name it with `api_key_env`
            config.toml:21: `mcp.d.env.A-B` is no name for a variable
              hint: write letters, digits and `_`, and no digit first
            config.toml:22: `mcp.d.env.""` is no name for a variable
              hint: write letters, digits and `_`, and no digit first
            config.toml:23: `mcp.d.env.X` must be a string, not a whole number
            config.toml:24: `mcp.d.env.Y` must be a string, not empty
            config.toml:25: `mcp.d.env.Z` must be a string, not a table
        "#]],
    );
}

#[test]
fn secrets_of_servers_stand_in_no_file_and_no_output() {
    report(
        "[mcp.a]\ncommand = 'a'\napi_key = 'hunter2'\ntoken = 'hunter2'\n[mcp.a.env]\n\
         GITHUB_TOKEN = 'hunter2'\nmy_api_key = 'hunter2'\nDB_PASSWORD = 'hunter2'\n",
        &sources(),
        &expect![[r#"
            config.toml:3: unknown key `mcp.a.api_key`
              hint: put the key into an environment variable and name it with `api_key_env`
            config.toml:4: unknown key `mcp.a.token`
              hint: put the key into an environment variable and name it with `api_key_env`
            config.toml:6: `mcp.a.env.GITHUB_TOKEN` holds a secret, which must not stand in the file
              hint: put it into Recto's own environment and name it in the list `pass_env`
            config.toml:7: `mcp.a.env.my_api_key` holds a secret, which must not stand in the file
              hint: put it into Recto's own environment and name it in the list `pass_env`
            config.toml:8: `mcp.a.env.DB_PASSWORD` holds a secret, which must not stand in the file
              hint: put it into Recto's own environment and name it in the list `pass_env`
        "#]],
    );
    let text = "[mcp.a]\ncommand = 'a'\nenv.DATABASE_URL = 'postgres://me:hunter2@h'\n\
                env.SORT_KEY = 'name'\nenv.TOKENIZERS = 'x'\npass_env = ['RECTO_A_TOKEN']\n";
    let sources = with_variables(&[("RECTO_A_TOKEN", "hunter3")]);
    let loaded = load_text(text, &sources).unwrap();
    assert_eq!(loaded.warnings, [], "a variable that is passed on is no setting");
    let shown: String =
        loaded.rows().iter().map(|row| format!("{} = {}\n", row.key, row.value)).collect();
    assert!(!shown.contains("hunter"), "{shown}");
    assert!(shown.contains("mcp.a.env.DATABASE_URL = \"…\"\n"), "{shown}");
    let TransportSettings::Program { env, .. } = &loaded.settings.servers[0].transport else {
        panic!("it is a program")
    };
    let names: Vec<&str> = env.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["DATABASE_URL", "SORT_KEY", "TOKENIZERS"]);
    assert_eq!(env[0].1, "postgres://me:hunter2@h");
}

#[test]
fn a_misspelled_table_of_servers_is_named() {
    report(
        "[mpc.files]\ncommand = 'a'\n[mcp.files]\ncommand = 'a'\n[mcp.files.evn]\nA = 'x'\n",
        &sources(),
        &expect![[r#"
            config.toml:1: unknown table `mpc`
              hint: did you mean `mcp`?
            config.toml:5: unknown table `mcp.files.evn`
              hint: did you mean `mcp.files.env`?
        "#]],
    );
}
