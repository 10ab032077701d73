//! Moments as people read them, in the time zone of the machine.

use jiff::Zoned;
use jiff::tz::TimeZone;
use maud::{Markup, html};
use recto_store::Moment;

/// A moment in the machine's own time zone.
pub(crate) fn local(moment: Moment) -> Zoned {
    moment.timestamp().to_zoned(TimeZone::system())
}

/// The time of day at which something was said, with its date where that is not today's.
pub(crate) fn said_at(moment: Moment) -> Markup {
    let (zoned, now) = (local(moment), Zoned::now());
    let form = if zoned.date() == now.date() {
        "%H:%M"
    } else if zoned.year() == now.year() {
        "%-d %b, %H:%M"
    } else {
        "%-d %b %Y, %H:%M"
    };
    let machine = zoned.strftime("%Y-%m-%dT%H:%M").to_string();
    html! { time.q datetime=(machine) { (zoned.strftime(form)) } }
}

/// A time in a list: the hour of today, the day of the week, or the date.
pub(crate) fn short(moment: Moment) -> Markup {
    let (zoned, now) = (local(moment), Zoned::now());
    let days = days_between(&zoned, &now);
    let form = match days {
        ..=0 => "%H:%M",
        1..=6 => "%a",
        _ if zoned.year() == now.year() => "%-d %b",
        _ => "%Y",
    };
    html! {
        time.q datetime=(zoned.strftime("%Y-%m-%dT%H:%M")) { (zoned.strftime(form)) }
    }
}

/// How many days lie between two moments, by the calendar.
pub(crate) fn days_between(earlier: &Zoned, later: &Zoned) -> i32 {
    earlier.date().until(later.date()).map_or(0, |span| span.get_days())
}
