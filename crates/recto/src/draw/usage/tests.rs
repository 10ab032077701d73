//! What people read of a report, at the edges: much of it, and long names.

use expect_test::expect;
use jiff::Timestamp;
use recto_agent::{UsageQuery, UsageSpan};
use recto_context::{IncludeMode, ItemId, ItemKind};
use recto_store::{DayUsage, ItemUsage, Moment, UsageSummary};

use super::*;
use crate::draw::wrap_words;

fn tokens(requests: u64, prompt: u64) -> TokenCounts {
    TokenCounts {
        requests,
        pages: requests,
        layers: [(Layer::System, requests * 300), (Layer::History, requests * 900)].into(),
        fresh: prompt / 10,
        prompt,
        cached: prompt * 4 / 5,
        cached_of: prompt,
        completion: prompt / 20,
    }
}

fn item(kind: ItemKind, name: &str, counts: [u64; 7], used: Option<&str>) -> ReportedItem {
    let at = |text: &str| Moment::new(text.parse().unwrap());
    // Turn numbers are made by the store alone, which this does without.
    let last_used = used.map(|text| LastUse { at: at(text), turn: "7".parse().unwrap() });
    let usage = ItemUsage { item: ItemId::new(kind, name), counts: counts.into(), last_used };
    ReportedItem { usage, include: Some(IncludeMode::Agent) }
}

fn report(days: i16, items: Vec<ReportedItem>) -> UsageReport {
    let first: Date = "2025-11-16".parse().unwrap();
    let now: Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
    let endings = EndingCounts { done: 20, failed: 1, milliseconds: 50_000, ..Default::default() };
    let mut totals = UsageSummary { first_day: Some(first), ..UsageSummary::default() };
    for number in 0..days {
        let day = first.saturating_add(jiff::Span::new().days(number));
        let (tokens, items) = (tokens(40, 120_000), ItemCounts::from([90, 200, 30, 12, 0, 0, 0]));
        totals.endings.failed += endings.failed;
        totals.endings.done += endings.done;
        totals.endings.milliseconds += endings.milliseconds;
        totals.tokens.add(&tokens);
        totals.days.push(DayUsage { day, endings, tokens, items });
    }
    totals.selection[8] = SelectionBin::from([120, 90, 0, 0]);
    totals.selection[3] = SelectionBin::from([0, 0, 12_000, 3]);
    UsageReport {
        agent: "main".to_owned(),
        query: UsageQuery { now, ..UsageQuery::now(UsageSpan::All) },
        since: None,
        totals,
        unused: items.iter().filter(|item| item.usage.last_used.is_none()).cloned().collect(),
        items,
        session: Some(SessionUsage { turns: 1, tokens: tokens(2, 900) }),
    }
}

fn plain(report: &UsageReport, width: PageWidth) -> String {
    let printed = wrap_words(&usage(report, width), 2, width);
    anstream::adapter::strip_str(&printed).to_string()
}

#[test]
fn a_year_is_read_by_months_and_within_80_columns() {
    let long = "a-server-with-a-very-long-name.and_a_tool_with_a_longer_one";
    let mut items: Vec<ReportedItem> = (0..300)
        .map(|number| {
            item(ItemKind::Rule, &format!("rule-{number}"), [7_300, 0, 5, 0, 0, 0, 0], None)
        })
        .collect();
    let counts = [0, 12_345_678, 9_999_999, 1_234_567, 0, 0, 0];
    items.push(item(ItemKind::Tool, long, counts, Some("2026-11-16T12:00:00Z")));
    items.push(ReportedItem {
        include: None,
        ..item(ItemKind::Skill, &"wide ".repeat(20), counts, Some("2026-11-16T12:00:00Z"))
    });
    let text = plain(&report(365, items), PageWidth::Columns(80));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains(long), "names are whole: {text}");
    assert!(text.contains("\n2025-12") && text.contains("and 262 more\n"), "{text}");
    assert!(text.contains(" (gone)"), "{text}");
    assert!(text.contains("300 items that nothing has used for 30 days"), "{text}");
}

#[test]
fn a_few_days_are_read_one_by_one() {
    let items = vec![
        item(ItemKind::Rule, "tone", [60, 0, 0, 0, 60, 0, 0], Some("2025-11-18T12:00:00Z")),
        item(ItemKind::Tool, "read_file", [0, 60, 0, 19, 60, 0, 0], Some("2025-11-17T12:00:00Z")),
        item(ItemKind::Skill, "tides", [0, 4, 9, 0, 0, 0, 4], None),
    ];
    expect![[r#"
        agent main since 2025-11-16, when counting began
        turns     63: 60 done, 3 failed
        time      2.4 s a turn
        requests  120; 360,000 prompt tokens (288,000 from cache), 18,000 written
        fresh     36,000 tokens differed from the request before
        session   1 turn; 900 prompt tokens (720 from cache), 45 written

        What the pages were made of, in tokens as Recto counts them.
        layer    tokens a request  share
        system                300    25%
        history               900    75%

        Turns, the tokens of their prompts as the model's server counted them, and how
        many items they took, offered, left and used.
        when        turns  prompt  cached  taken  offered  left  used
        2025-11-16     21   120 k     80%     90      200    30    12
        2025-11-17     21   120 k     80%     90      200    30    12
        2025-11-18     21   120 k     80%     90      200    30    12

        In how many turns an item was taken (on the page with its text), offered (to be
        called, or read by its name), left (considered, and not on the page) and used
        (called, read by its name or recalled; of a rule or a reference on the page it
        can't be seen).
        It was last used by the last turn that took it or used it.
        item            taken  offered  left  used  last used
        tool read_file      0       60     0    19  2025-11-17
        rule tone          60        0     0     -  2025-11-18
        skill tides         0        4     9     0  never

        What search chose, and what the turn then used. Only tools and skills are here:
          whether a rule, a reference or a memory on the page was used can't be seen.
        probability  picked  used       passed over  used all the same
        0.8 to 0.9      120    90  75%            0                  0
        0.3 to 0.4        0     0            12,000                  3

        1 item that nothing has used for 30 days:
        not used     include  offered  left  last used
        skill tides  agent          4     9  never
    "#]]
    .assert_eq(&plain(&report(3, items), PageWidth::Columns(80)));
    let weeks = plain(&report(30, Vec::new()), PageWidth::Columns(80));
    assert!(
        weeks.contains("week of 2025-11-10")
            && weeks.contains("no item is without use for 30 days"),
        "{weeks}"
    );
}

#[test]
fn nothing_is_said_in_words() {
    let mut report = report(0, Vec::new());
    assert!(
        plain(&report, PageWidth::Unlimited).contains("no turn ended in this time"),
        "{}",
        plain(&report, PageWidth::Unlimited)
    );
    report.totals.first_day = None;
    report.totals.damaged_days = 2;
    let text = plain(&report, PageWidth::Unlimited);
    assert!(text.contains("counted yet") && text.contains("2 days can't be read"), "{text}");
}
