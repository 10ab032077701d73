//! Several agents: what each has for itself, and which one answers where.

use super::*;

const TWO: &str = "\
[agents.main]
[agents.work]
workspace = 'work'
model = 'b'
search.topN = 2
[agents.work.search.tools]
floor = 0.9
[agents.work.items.rules.style]
include = 'always'
[agents.work.skills]
disabled = ['weather']
[search]
top_n = 4
floor = 0.5
[items.rule.style]
include = 'manual'
priority = 7
[items.rule.tone]
include = 'agent'
[models.a]
provider = 'ollama'
model = 'm'
[models.b]
provider = 'ollama'
model = 'n'
";

fn two() -> (Settings, Settings) {
    let loaded = load_text(TWO, &sources()).unwrap();
    assert_eq!((&loaded.warnings[..], loaded.others.len()), (&[][..], 1));
    (loaded.settings, loaded.others.into_iter().next().unwrap())
}

fn includes(settings: &Settings) -> Vec<(&str, Option<IncludeMode>, Option<u32>)> {
    settings.items.iter().map(|item| (item.name.as_str(), item.include, item.priority)).collect()
}

#[test]
fn an_agents_own_tables_lie_over_those_for_all() {
    let (main, work) = two();
    assert_eq!((main.agent.name.as_str(), work.agent.name.as_str()), ("main", "work"));
    assert_eq!(main.agent.workspace, PathBuf::from("/home/me/.recto/workspace"));
    assert_eq!(work.agent.workspace, PathBuf::from("/home/me/.recto/work"));
    let others = |settings: &Settings| settings.other_workspaces.clone();
    assert_eq!(others(&main), std::slice::from_ref(&work.agent.workspace));
    assert_eq!(others(&work), std::slice::from_ref(&main.agent.workspace));
    assert_eq!((main.model.as_deref(), work.model.as_deref()), (Some("a"), Some("b")));
    assert_eq!((main.search.all.top_n, work.search.all.top_n), (Some(4), Some(2)));
    assert_eq!((main.search.all.floor, work.search.all.floor), (Some(0.5), Some(0.5)));
    let tools = |settings: &Settings| settings.search.groups[2].1.floor;
    assert_eq!((tools(&main), tools(&work)), (None, Some(0.9)));
    assert_eq!(
        (main.skills.disabled.len(), &work.skills.disabled[..]),
        (0, &["weather".to_owned()][..])
    );
    let (manual, always) = (Some(IncludeMode::Manual), Some(IncludeMode::Always));
    let tone = ("tone", Some(IncludeMode::Agent), None);
    assert_eq!(includes(&main), [("style", manual, Some(7)), tone]);
    assert_eq!(includes(&work), [("style", always, Some(7)), tone]);
    // All else is the same.
    assert_eq!((main.store, main.models, main.history), (work.store, work.models, work.history));
}

#[test]
fn variables_and_flags_win_over_an_agents_own_settings() {
    let loaded = load_text(TWO, &with_variables(&[("RECTO_SEARCH_TOP_N", "9")])).unwrap();
    assert_eq!(loaded.others[0].search.all.top_n, Some(9));
    let loaded = load_text(TWO, &with_model_flag("a")).unwrap();
    assert_eq!(loaded.others[0].model.as_deref(), Some("a"));
}

/// Every key that an agent can have for itself has the effect that it has for all, and
/// on that agent alone.
#[test]
fn every_key_of_an_agent_means_what_it_means_for_all() {
    for key in KEYS.iter().filter(|key| key.agent_path().is_some()) {
        let line = example_line(key, key.name(), key.example);
        let (head, last) = line.trim_end().rsplit_once('\n').unwrap_or(("", line.trim_end()));
        let agents = "agents.main.workspace = 'm'\nagents.work.workspace = 'w'\n";
        let for_all = load_text(&format!("{agents}{line}"), &sources()).unwrap();
        let own = format!("{agents}{head}\nagents.work.{last}\n");
        let own = load_text(&own, &sources()).unwrap();
        assert_eq!(own.others, for_all.others, "{}", key.path);
        assert_ne!(own.settings, for_all.settings, "{}", key.path);
        let own_rows = own.own_rows("work");
        assert!(own_rows.iter().any(|row| row.key.ends_with(key.name())), "{}", key.path);
    }
}

#[test]
fn rows_say_what_an_agent_has_for_itself() {
    let loaded = load_text(TWO, &sources()).unwrap();
    let shown = |rows: &[SettingRow]| {
        let set = rows.iter().filter(|row| row.origin.is_some());
        set.map(|row| format!("{} = {} ({})\n", row.key, row.value, row.origin.as_ref().unwrap()))
            .collect::<String>()
    };
    expect![[r#"
        search.top_n = 4 (config.toml:13)
        search.floor = 0.5 (config.toml:14)
        models.a.provider = "ollama" (config.toml:21)
        models.a.model = "m" (config.toml:22)
        models.b.provider = "ollama" (config.toml:24)
        models.b.model = "n" (config.toml:25)
        items.rule.style.include = "manual" (config.toml:16)
        items.rule.style.priority = 7 (config.toml:17)
        items.rule.tone.include = "agent" (config.toml:19)
        agents.work.workspace = "/home/me/.recto/work" (config.toml:3)
        agents.work.model = "b" (config.toml:4)
        agents.work.skills.disabled = ["weather"] (config.toml:11)
        agents.work.search.top_n = 2 (config.toml:5)
        agents.work.search.tools.floor = 0.9 (config.toml:7)
        agents.work.items.rule.style.include = "always" (config.toml:9)
    "#]]
    .assert_eq(&shown(loaded.rows()));
    expect![[r#"
        workspace = "/home/me/.recto/work" (config.toml:3)
        model = "b" (config.toml:4)
        skills.disabled = ["weather"] (config.toml:11)
        search.top_n = 2 (config.toml:5)
        search.tools.floor = 0.9 (config.toml:7)
        items.rule.style.include = "always" (config.toml:9)
    "#]]
    .assert_eq(&shown(&loaded.own_rows("work")));
    let origin = |agent, name| loaded.include_origin(agent, ItemKind::Rule, name);
    let line = |line| SettingOrigin::File { name: "config.toml".into(), line: Some(line) };
    assert_eq!(origin("work", "style"), Some(&line(9)));
    assert_eq!(origin("main", "style"), Some(&line(16)));
    assert_eq!(origin("work", "tone"), Some(&line(19)));
    assert_eq!(origin("work", "other"), None);
}

#[test]
fn all_mistakes_of_agents_and_bindings_are_reported_at_once() {
    report(
        "[agents.main]\n[agents.work]\n[agents.'a b']\nworkspace = 'x'\nmodell = 'a'\n\
         [agents.work.items.rule.x]\nnetwork = true\n[agents.work.search]\nfloor = 3\n\
         [agents.work.store]\npath = 'x'\n[[bindings]]\nsurface = 'telegram'\nagent = 'wrok'\n\
         [[bindings]]\nagent = 'nobody'\nuser = 'x'\n[history]\nmax_messages = 0\n",
        &sources(),
        &expect![[r#"
            config.toml:2: `agents.work.workspace` is missing: each agent but the first names its own
              hint: add `workspace = "workspaces/work"`
            config.toml:3: `agents."a b"` is no name for an agent
              hint: use at most 32 letters, digits, `_` and `-`
            config.toml:5: unknown key `agents."a b".modell`
              hint: did you mean `agents."a b".model`?
            config.toml:7: `agents.work.items.rule.x.network` is for skills, and this is a rule
              hint: leave it out
            config.toml:9: `agents.work.search.floor` must be a number from 0 to 1, not `3`
            config.toml:10: unknown table `agents.work.store`
              hint: in `agents.work` there are `workspace`, `model`, `context`, `history`, `memory`, `delegate`, `skills`, `tools`, `search`, `items`
            config.toml:14: `bindings.1.agent` names an agent that is not there: `wrok`
              hint: did you mean `work`? (known agents: `main`, `work`, `a b`)
            config.toml:15: `bindings.2.surface` is missing
            config.toml:16: `bindings.2.agent` names an agent that is not there: `nobody`
              hint: known agents: `main`, `work`, `a b`
            config.toml:17: unknown key `bindings.2.user`
              hint: in `bindings.2` there are `surface`, `account`, `conversation`, `agent`
            config.toml:19: `history.max_messages` must be a whole number from 1 to 100000, not `0`
        "#]],
    );
    report(
        "[bindings]\nagent = 'main'\n",
        &sources(),
        &expect![[r#"
        config.toml:1: `bindings` must be a list of tables, not a table
          hint: write `[[bindings]]` above each
    "#]],
    );
    report(
        "agents.x.model = 'q'\nagents.y.workspace = 'y'\nagents.y.model = 'q'\n[models.a]\nprovider = 'ollama'\nmodel = 'm'\n",
        &sources(),
        &expect![[r#"
            config.toml:1: `agents.x.model` names a model that is not there: `q`
              hint: known models: `a`
            config.toml:3: `agents.y.model` names a model that is not there: `q`
              hint: known models: `a`
        "#]],
    );
}

#[test]
fn bindings_keep_their_order_and_may_leave_out_what_does_not_matter() {
    let text = "[agents.main]\n[agents.work]\nworkspace = 'w'\n\
                [[bindings]]\nsurface = 'telegram'\naccount = 'work_bot'\nagent = 'work'\n\
                [[bindings]]\nsurface = 'terminal'\nconversation = 'work-*'\nagent = 'work'\n";
    let loaded = load_text(text, &sources()).unwrap();
    let shown = loaded.bindings.iter().map(|binding| {
        let BindingSettings { surface, account, conversation, agent } = binding;
        format!("{surface} {account} {conversation} {} {}\n", agent.value, agent.place)
    });
    expect![[r#"
        telegram work_bot * work config.toml:7
        terminal * work-* work config.toml:11
    "#]]
    .assert_eq(&shown.collect::<String>());
    // Without agents in the file there is one, which can be named.
    let text = "[[bindings]]\nsurface = 'telegram'\nagent = 'main'\n";
    assert_eq!(load_text(text, &sources()).unwrap().bindings.len(), 1);
}
