//! What templates can do, and what they can't get away with.

use super::*;

/// What `source` writes, given no messages.
fn render(source: &str) -> Result<String, TemplateRefusal> {
    let template =
        ChatTemplate { source: source.to_owned(), bos: "<s>".to_owned(), eos: "</s>".to_owned() };
    let day = "2026-11-05".into();
    let given = TemplateInput { messages: Vec::new(), tools: None, day, size: 0 };
    on_deep_stack(0, || JinjaTemplate::parse(source)?.render(&template, given, &Arc::default()))
}

#[track_caller]
fn check(source: &str, expected: &str) {
    assert_eq!(render(source).as_deref(), Ok(expected), "{source}");
}

#[track_caller]
fn check_refused(source: &str, expected: &str) {
    assert_eq!(render(source).map_err(|refusal| refusal.to_string()), Err(expected.to_owned()));
}

#[test]
fn blocks_take_their_lines_with_them() {
    check("a\n  {% if true %}\nb\n  {% endif %}\nc\n", "a\nb\nc");
    check("a\n  {%- if true -%}\n  b {{- 'c' }}\n{% endif %}", "abc\n");
}

#[test]
fn templates_may_use_what_python_has() {
    check("{{ 'a b'.split(' ')[-1].upper() }}", "B");
    check("{{ {'a': 1}.get('b', 2) }}", "2");
    check("{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{% endfor %}", "a1");
    check("{{ [1, 2, 3][::-1] }} {{ none }} {{ true }}", "[3, 2, 1] None True");
    check("{% for i in [1, 2, 3] %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}", "1");
    let namespace = "{% set ns = namespace(n=0) %}{% for i in [1, 2] %}{% set ns.n = ns.n + i %}";
    check(&format!("{namespace}{{% endfor %}}{{{{ ns.n }}}}"), "3");
    check("{{ '<|x|>' }}{{ bos_token }}{{ eos_token }}", "<|x|><s></s>");
}

#[test]
fn what_is_not_there_is_nothing() {
    check("[{{ nothing }}{{ 'a' in nothing }}]", "[False]");
    check("{{ 'x' if tools is none and tools is defined and documents is none }}", "x");
    check("{% for x in nothing %}{{ x }}{% endfor %}", "");
    check_refused("{{ nothing.at.all }}", "it fails: undefined value (line 1)");
}

#[test]
fn the_day_is_the_sessions() {
    check("{{ strftime_now('%d %b %Y') }}", "05 Nov 2026");
    check("{{ strftime_now('%A, %-d %B, %H:%M:%S') }}", "Thursday, 5 November, 12:00:00");
    check("[{{ strftime_now('%Q') }}]", "[]");
    for no_day in ["", "today", "2026-02-30"] {
        assert_eq!(day(no_day, "%Y"), "");
    }
}

#[test]
fn what_training_marks_is_shown() {
    check("a{% generation %}b{% endgeneration %}c", "abc");
    check("a {%- generation -%} b {%- endgeneration -%} c", "abc");
    check("{{ 'generation' }}{% if add_generation_prompt %}!{% endif %}", "generation!");
    check_refused(
        "{% generation %}",
        "it cannot be read: unexpected end of input, expected end of block (line 1)",
    );
}

#[test]
fn json_is_written_in_macros_too() {
    let texts = Arc::new(MarkedTexts::default());
    let source = "{% macro m(x) %}{{ x | tojson }}{% endmacro %}{{ m([1]) }}{{ m({'a': '<'}) }}";
    let output = on_deep_stack(0, || {
        let given = TemplateInput { messages: Vec::new(), tools: None, day: "".into(), size: 0 };
        JinjaTemplate::parse(source)?.render(&ChatTemplate::chatml(), given, &texts)
    });
    assert_eq!(texts.resolve(&output.unwrap()).0, r#"[1]{"a": "<"}"#);
}

#[test]
fn a_template_says_why_it_refuses() {
    check_refused("{{ raise_exception('No\n  system role!') }}", "No system role!");
    let within = "{% macro m() %}{{ raise_exception('inside') }}{% endmacro %}{{ m() }}";
    check_refused(within, "inside");
    check_refused("a\n{% if %}", "it cannot be read: unexpected end of block (line 2)");
    check_refused(
        "{{ 1 + 'a' }}",
        "it fails: tried to use + operator on unsupported types number and string (line 1)",
    );
    check_refused(
        "{% include 'other' %}",
        "it fails: tried to include non-existing template 'other' (line 1)",
    );
    assert!(render("{{ open('/etc/passwd').read() }}").is_err());
}

/// Promise: `input-never-runs-on`
#[test]
fn no_template_goes_on_for_ever() {
    let endless = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}";
    assert_eq!(render(endless), Err(TemplateRefusal::Endless));
    let recursive = "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}";
    check_refused(recursive, "it fails: recursion limit exceeded (line 1)");
    let looping = "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}";
    assert!(matches!(render(looping), Err(TemplateRefusal::Failed { .. })));
}

#[test]
fn no_template_writes_without_end() {
    let long = format!("{{% for i in range(99999) %}}{}{{% endfor %}}", "x".repeat(1_000));
    assert_eq!(render(&long), Err(TemplateRefusal::TooLong));
    let nested = "{% set ns = namespace(x=[]) %}{% for i in range(60) %}\
        {% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}";
    assert_eq!(render(nested), Err(TemplateRefusal::TooLong));
    let json = "{% for i in range(99999) %}{{ range(9999) | tojson }}{% endfor %}";
    assert_eq!(render(json), Err(TemplateRefusal::TooLong));
    assert_eq!(
        render(&"x".repeat(LARGEST_SOURCE + 1)),
        Err(TemplateRefusal::TooLarge(LARGEST_SOURCE))
    );
}

/// Whatever nests without a limit would need more stack than there is, and end the process.
#[test]
fn the_stack_is_deep_enough_for_any_template() {
    let fill = |before: &str, what: &str, after: &str| {
        let room = LARGEST_SOURCE - before.len() - after.len();
        format!("{before}{}{after}", what.repeat(room / what.len()))
    };
    for source in [
        fill("{{ ", "-", "1 }}"),
        fill("{{ ", "not ", "1 }}"),
        fill("{{ 1", "+1", " }}"),
        fill("{{ 1", "~1", " }}"),
        fill("{{ x", "()", " }}"),
        fill("{{ x", "|e", " }}"),
        fill("{{ ", "(", ""),
        fill("{{ ", "[", ""),
        fill("{% if 0 %}", "{%elif 0%}", "{% endif %}"),
        fill("", "{%if 1%}", ""),
    ] {
        let _ = render(&source);
    }
    // As many levels as an expression may have, with every turn of the loop.
    const LEVELS: usize = 70;
    let nest = format!(
        "{{% set ns = namespace(x=1) %}}{{% for i in range(COUNT) %}}\
         {{% set ns.x = {}ns.x{} %}}{{% endfor %}}",
        "[".repeat(LEVELS),
        "]".repeat(LEVELS),
    );
    assert_eq!(render(&nest.replace("COUNT", "99999")), Err(TemplateRefusal::Endless));
    let deep = nest.replace("COUNT", "1200");
    assert!(render(&format!("{deep}{{{{ ns.x }}}}")).is_ok());
    assert!(render(&format!("{deep}{{% set y = ns.x ~ '' %}}{{{{ ns.x == ns.x }}}}")).is_ok());
    let reversed = "{% set ns = namespace(x=[1]) %}{% for i in range(9000) %}\
        {% set ns.x = ns.x[::-1] %}{% endfor %}{{ ns.x }}";
    check(reversed, "[1]");
}

/// The engine has faults of its own, which must not end the process.
#[test]
fn a_fault_of_the_engine_is_a_refusal() {
    let refused =
        on_deep_stack(0, || -> Result<(), TemplateRefusal> { panic!("as a fault would") });
    assert_eq!(refused, Err(TemplateRefusal::Broken));
    let _ = render("{{ [1, 2, 3, 4, 5, 6][2:5:-1] }}");
}
