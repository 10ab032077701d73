//! One line that says what goes on while a person waits.
//!
//! The functions give texts; [`StatusLine`] owns the line on the terminal. It is
//! written to standard error, and only where a person looks: a file or a program
//! gets none of it.
//!
//! What a person types meanwhile stands in it, too. Where a reply has begun a row and
//! not ended it, the line is drawn below that, and the cursor comes back to the row
//! before more is written to it.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anstream::{AutoStream, ColorChoice};
use anstyle::Style;
use parking_lot::Mutex;
use recto_context::{Tokens, first_chars};
use recto_models::ByteSize;
use rustix::termios::tcgetwinsize;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::open_row::OpenRow;
use super::quiet::is_dumb;
use crate::draw::cut_to;
use crate::output::tame;

const DIM: Style = Style::new().dimmed();

/// The pictures of the turning wheel, and how long each stands.
const WHEEL: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const TURN: Duration = Duration::from_millis(100);

/// What goes one row up, to its beginning.
const UP: &str = "\x1b[A\r";

/// What clears the screen from the cursor on.
const ERASE: &str = "\x1b[J";

/// The most rows of a reply's last line that are written anew when the terminal is resized.
const MOST_ROWS: usize = 12;

/// What stands between what goes on and what is typed.
const BETWEEN: &str = " │ ";

/// The most characters of a memory that stand in a line.
const MOST_KEPT: usize = 200;

/// How wide a terminal is taken to be that won't say.
const ASSUMED_WIDTH: usize = 80;

/// The model reads its prompt.
pub(crate) fn reading(tokens: u32) -> String {
    format!("reading {} tokens", Tokens::new(tokens))
}

/// A tool runs, on what its call is about. Both are a model's words: a line break in them begins
/// no line.
pub(crate) fn calling(tool: &str, about: &str) -> String {
    tame(format!("{tool} {about}").trim_end())
}

/// A tool has run, and gave this many bytes.
pub(crate) fn called(tool: &str, about: &str, bytes: usize) -> String {
    format!("✓ {} ({})", calling(tool, about), ByteSize(bytes as u64))
}

/// Something was remembered, in the words in which it is kept.
pub(crate) fn remembered(tool: &str, told: &str) -> Option<String> {
    if tool != "remember" {
        return None;
    }
    let each: Option<Vec<String>> = told.lines().map(remembered_one).collect();
    each.map(|each| each.join("\n")).or_else(|| remembered_one(told))
}

fn remembered_one(told: &str) -> Option<String> {
    let (how, kept) = told.split_once(": ")?;
    let (how, _) = how.split_once(" as ")?;
    let kept: String = kept.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(format!("✓ {how}: {}", first_chars(&kept, MOST_KEPT)))
}

/// A tool has failed. What the model was told begins with the tool's name, which a person has
/// read by then.
pub(crate) fn failed(tool: &str, about: &str, why: &str) -> String {
    let told = why.strip_prefix(tool).and_then(|rest| rest.strip_prefix(" failed: "));
    let why = told.unwrap_or(why);
    let why: Vec<&str> = why.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    format!("✗ {}: {}", calling(tool, about), why.join(" "))
}

/// The line of the terminal that says what goes on, with a wheel that turns.
///
/// It must be [hidden](Self::hide) before anything else is printed, and is
/// [told](Self::printed) what was printed of a reply. It goes away with its owner.
#[derive(Debug)]
pub(crate) struct StatusLine {
    line: Arc<Mutex<StatusWriter<io::Stderr>>>,
}

/// What takes a [`StatusLine`] from the screen from elsewhere.
#[derive(Debug, Clone)]
pub(crate) struct StatusHandle(Arc<Mutex<StatusWriter<io::Stderr>>>);

impl StatusHandle {
    /// Takes the line from the screen for good: the program is about to end.
    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }
}

impl StatusLine {
    /// The line on standard error; nothing is shown yet.
    pub(crate) fn new() -> Self {
        let stderr = io::stderr();
        let look = match AutoStream::choice(&stderr) {
            _ if !stderr.is_terminal() => StatusStyle::Nothing,
            ColorChoice::Never => StatusStyle::Plain,
            _ => StatusStyle::Dim,
        };
        let columns = match look {
            StatusStyle::Nothing => 0,
            _ => crossterm::terminal::size().map_or(0, |(columns, _)| columns.into()),
        };
        // The reply's own row can be come back to where both are on one screen that can
        // move its cursor and says how wide it is.
        let reply = match columns > 0 && io::stdout().is_terminal() && !is_dumb() {
            true => ReplyScreen::Shared,
            false => ReplyScreen::Apart,
        };
        let width = if columns == 0 { ASSUMED_WIDTH } else { columns };
        StatusLine { line: Arc::new(Mutex::new(StatusWriter::new(stderr, look, width, reply))) }
    }

    /// What takes it from the screen when its owner can't.
    pub(crate) fn handle(&self) -> StatusHandle {
        StatusHandle(Arc::clone(&self.line))
    }

    /// Says what goes on, until the next call of this or of [`clear`](Self::clear).
    pub(crate) fn show(&mut self, text: &str) {
        self.draw(|line| line.show(text));
    }

    /// Says what is being typed, until the next call.
    pub(crate) fn show_typed(&mut self, text: &str) {
        self.draw(|line| line.show_typed(text));
    }

    /// Keeps what is being typed for the next drawing.
    pub(crate) fn keep_typed(&mut self, text: &str) {
        self.line.lock().typed = tame(text);
    }

    /// Draws what there is to say, after something else was printed.
    pub(crate) fn refresh(&mut self) {
        self.draw(StatusWriter::draw);
    }

    fn draw(&mut self, draw: impl FnOnce(&mut StatusWriter<io::Stderr>)) {
        let mut line = self.line.lock();
        line.fit_terminal();
        draw(&mut line);
        if line.shown > 0 && !line.is_turning {
            line.is_turning = true;
            let line = Arc::clone(&self.line);
            thread::spawn(move || turn(&line));
        }
    }

    /// Takes the line from the screen, and nothing from what it says.
    pub(crate) fn hide(&mut self) {
        let mut line = self.line.lock();
        line.fit_terminal();
        line.hide();
    }

    /// Takes the line away. What is being typed comes back with the next drawing.
    pub(crate) fn clear(&mut self) {
        let mut line = self.line.lock();
        line.fit_terminal();
        line.clear();
    }

    /// Takes in what was printed of a reply while the line was hidden.
    pub(crate) fn printed(&mut self, text: &str) {
        self.line.lock().open.push(text);
    }

    /// The terminal has become this wide.
    pub(crate) fn resize(&mut self, width: usize) {
        self.line.lock().resize(width);
    }

    /// Says something for good, on a line of its own.
    pub(crate) fn note(&mut self, text: &str) {
        self.line.lock().note(text);
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Turns the wheel for as long as there is one.
fn turn(line: &Mutex<StatusWriter<io::Stderr>>) {
    loop {
        thread::sleep(TURN);
        let mut line = line.lock();
        line.fit_terminal();
        line.turn();
        if line.shown == 0 {
            line.is_turning = false;
            return;
        }
    }
}

/// What is on the line. Nobody is left to be told when standard error is gone,
/// so failed writes are not looked at.
#[derive(Debug)]
struct StatusWriter<W> {
    out: W,
    look: StatusStyle,
    /// How wide the terminal is.
    width: usize,
    /// What goes on; empty where there is nothing to say.
    text: String,
    /// What is being typed; empty where nothing is.
    typed: String,
    /// The columns that it takes on the terminal now.
    shown: usize,
    /// The columns of it that stand before the cursor.
    cursor: usize,
    /// Where it stands now.
    place: LinePlace,
    /// The row that the reply has come to.
    open: OpenRow,
    reply: ReplyScreen,
    /// Which picture of the wheel is next.
    picture: usize,
    /// Whether a thread turns the wheel.
    is_turning: bool,
}

/// What may be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StatusStyle {
    Dim,
    Plain,
    Nothing,
}

/// Where the line stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinePlace {
    /// Where the cursor was.
    Here,
    /// Below the row of a reply.
    BelowReply,
}

/// Where the reply is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplyScreen {
    /// On the same screen, whose cursor can be moved.
    Shared,
    /// Somewhere else, or where the cursor can't come back to.
    Apart,
}

impl StatusWriter<io::Stderr> {
    /// Takes in how wide the terminal is by now.
    fn fit_terminal(&mut self) {
        if self.look == StatusStyle::Nothing {
            return;
        }
        let columns = tcgetwinsize(&self.out).map_or(0, |size| usize::from(size.ws_col));
        if columns > 0 && columns != self.width {
            self.resize(columns);
        }
    }
}

impl<W: Write> StatusWriter<W> {
    fn new(out: W, look: StatusStyle, width: usize, reply: ReplyScreen) -> Self {
        StatusWriter {
            out,
            look,
            width,
            text: String::new(),
            typed: String::new(),
            shown: 0,
            cursor: 0,
            place: LinePlace::Here,
            open: OpenRow::new(width),
            reply,
            picture: 0,
            is_turning: false,
        }
    }

    fn show(&mut self, text: &str) {
        self.text = tame(text);
        self.draw();
    }

    fn show_typed(&mut self, text: &str) {
        self.typed = tame(text);
        match self.text.is_empty() && self.typed.is_empty() {
            true => self.hide(),
            false => self.draw(),
        }
    }

    /// Draws the next picture of the wheel, if the line is there.
    fn turn(&mut self) {
        if self.shown > 0 {
            self.picture = (self.picture + 1) % WHEEL.len();
            self.draw();
        }
    }

    /// The terminal has another width, at which it has wrapped anew what stands on it: the line
    /// goes with all of its rows, and the reply's last line is written once more.
    fn resize(&mut self, width: usize) {
        self.width = width;
        self.open.set_width(width);
        if self.shown == 0 {
            return;
        }
        let mut up = self.cursor / width.max(1);
        let mut again = "";
        if self.place == LinePlace::BelowReply && self.open.line_rows() <= MOST_ROWS {
            up += self.open.line_rows();
            again = self.open.line();
        }
        let _ = write!(self.out, "\r{}{ERASE}{again}", UP.repeat(up));
        let _ = self.out.flush();
        if self.place == LinePlace::BelowReply && again.is_empty() {
            // What stood above the line may be anywhere: the reply goes on where the line was.
            self.open = OpenRow::new(width);
        }
        (self.shown, self.cursor, self.place) = (0, 0, LinePlace::Here);
        self.draw();
    }

    fn clear(&mut self) {
        self.text.clear();
        self.hide();
    }

    fn hide(&mut self) {
        if self.shown == 0 {
            return;
        }
        // A terminal shows the Ctrl-C that was typed behind the line: two more.
        let blanks = " ".repeat((self.shown + 2).min(self.width.saturating_sub(1)));
        let _ = write!(self.out, "\r{blanks}\r");
        if self.place == LinePlace::BelowReply {
            let _ = write!(self.out, "{UP}{}", self.open.written());
        }
        let _ = self.out.flush();
        (self.shown, self.cursor, self.place) = (0, 0, LinePlace::Here);
    }

    fn note(&mut self, text: &str) {
        self.clear();
        let line = cut_to(&tame(text), self.width);
        self.write("", &line, "\n");
    }

    /// Draws the line over itself. The last column stays free, because some
    /// terminals go to the next line when it is written to.
    fn draw(&mut self) {
        let is_open = !self.open.is_empty();
        let nothing = self.text.is_empty() && self.typed.is_empty();
        if nothing || (is_open && self.reply == ReplyScreen::Apart) {
            return;
        }
        let line = self.compose(self.width.saturating_sub(1));
        let width = line.width();
        let rest = " ".repeat(self.shown.saturating_sub(width));
        // What is typed ends where the cursor stands.
        let back = "\u{8}".repeat(rest.len());
        let start = match (self.shown, is_open) {
            (0, true) => {
                self.place = LinePlace::BelowReply;
                "\n"
            }
            (0, false) => "",
            _ => "\r",
        };
        self.write(start, &line, &format!("{rest}{back}"));
        self.shown = if self.look == StatusStyle::Nothing { 0 } else { width.max(self.shown) };
        self.cursor = width.min(self.shown);
    }

    /// What goes on and what is typed, of which the end is shown.
    fn compose(&self, width: usize) -> String {
        let wheel = format!("{} ", WHEEL[self.picture]);
        if self.typed.is_empty() {
            return cut_to(&(wheel + &self.text), width);
        }
        let room = width.saturating_sub(wheel.width());
        let both = [&*self.text, &*self.typed].into_iter().filter(|part| !part.is_empty());
        let both = both.collect::<Vec<_>>().join(BETWEEN);
        if both.width() <= room {
            return cut_to(&(wheel + &both), width);
        }
        cut_to(&(wheel + &cut_front(&self.typed, room)), width)
    }

    fn write(&mut self, start: &str, line: &str, end: &str) {
        let _ = match self.look {
            StatusStyle::Dim => write!(self.out, "{start}{DIM}{line}{DIM:#}{end}"),
            StatusStyle::Plain => write!(self.out, "{start}{line}{end}"),
            StatusStyle::Nothing => Ok(()),
        };
        let _ = self.out.flush();
    }
}

/// The text, or as much of its end as there is room for.
fn cut_front(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut columns = 1;
    let fits = |c: &char| {
        columns += c.width().unwrap_or(0);
        columns <= width
    };
    let end: Vec<char> = text.chars().rev().take_while(fits).collect();
    std::iter::once('…').chain(end.into_iter().rev()).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    /// What is written by `act`: carriage returns, blanks and styles made visible.
    fn check(
        look: StatusStyle,
        act: impl FnOnce(&mut StatusWriter<&mut Vec<u8>>),
        expected: &Expect,
    ) {
        let mut written = Vec::new();
        act(&mut StatusWriter::new(&mut written, look, 30, ReplyScreen::Shared));
        let text = String::from_utf8(written).unwrap();
        let text = text.replace(UP, "<up>").replace(ERASE, "<erase>").replace('\u{8}', "<");
        let text = text.replace('\r', "<return>").replace("\x1b[2m", "<dim>");
        expected.assert_eq(&text.replace("\x1b[0m", "</>").replace(' ', "·"));
    }

    fn a_turn(line: &mut StatusWriter<&mut Vec<u8>>) {
        line.show(&reading(1_240));
        line.turn();
        line.show(&calling("read_file", "notes.md"));
        line.show("short");
        line.note(&called("read_file", "notes.md", 1_234));
        line.turn();
        line.note(&failed("list_files", "", "list_files failed: no such folder\nreally"));
        line.clear();
    }

    #[test]
    fn the_wheel_is_gone_before_anything_stays() {
        check(
            StatusStyle::Plain,
            a_turn,
            &expect![[r#"
                ⠋·reading·1,240·tokens<return>⠙·reading·1,240·tokens<return>⠙·read_file·notes.md··<<<return>⠙·short···············<<<<<<<<<<<<<<<<return>························<return>✓·read_file·notes.md·(1.2·kB)
                ✗·list_files:·no·such·folder·…
            "#]],
        );
    }

    #[test]
    fn it_is_dim_where_there_are_colours() {
        check(
            StatusStyle::Dim,
            |line| line.note("x"),
            &expect![[r#"
            <dim>x</>
        "#]],
        );
    }

    #[test]
    fn nothing_is_written_where_nobody_looks() {
        check(StatusStyle::Nothing, a_turn, &expect![[""]]);
    }

    #[test]
    fn a_long_text_is_cut_to_the_line_and_cannot_act_on_the_terminal() {
        let text = "日本語日本語日本語日本語日本語日本語";
        check(
            StatusStyle::Plain,
            |line| line.show(text),
            &expect!["⠋·日本語日本語日本語日本語日…"],
        );
        check(
            StatusStyle::Plain,
            |line| line.note(text),
            &expect![[r#"
            日本語日本語日本語日本語日本…
        "#]],
        );
        check(
            StatusStyle::Plain,
            |line| line.show("a\n\x1b[2Jb"),
            &expect![[r#"⠋·a\n\u{1b}[2Jb"#]],
        );
    }

    #[test]
    fn what_is_typed_stands_below_the_reply_and_goes_again() {
        let act = |line: &mut StatusWriter<&mut Vec<u8>>| {
            line.open.push("The rep");
            line.show_typed("next: wha");
            line.turn();
            line.hide();
            line.open.push("ly.\n");
            line.draw();
            line.show_typed("");
        };
        check(
            StatusStyle::Plain,
            act,
            &expect![[r#"

                ⠋·next:·wha<return>⠙·next:·wha<return>·············<return><up>The·rep⠙·next:·wha<return>·············<return>"#]],
        );
    }

    #[test]
    fn of_what_is_typed_the_end_is_shown() {
        let typed = "next: a line that is longer than the terminal";
        check(
            StatusStyle::Plain,
            |line| {
                line.text = "reading".to_owned();
                line.show_typed(typed);
            },
            &expect!["⠋·…s·longer·than·the·terminal"],
        );
        check(
            StatusStyle::Plain,
            |line| {
                line.text = "reading".to_owned();
                line.show_typed("next: a");
            },
            &expect!["⠋·reading·│·next:·a"],
        );
    }

    #[test]
    fn a_reply_is_written_anew_after_the_terminal_was_resized() {
        let act = |line: &mut StatusWriter<&mut Vec<u8>>| {
            line.open.push("one\nThe reply goes");
            line.show_typed("next: wha");
            line.resize(10);
            line.hide();
        };
        check(
            StatusStyle::Plain,
            act,
            &expect![[r#"

                ⠋·next:·wha<return><up><up><up><erase>The·reply·goes
                ⠋·…t:·wha<return>·········<return><up>goes"#]],
        );
    }

    #[test]
    fn a_line_alone_goes_with_all_of_its_rows() {
        let act = |line: &mut StatusWriter<&mut Vec<u8>>| {
            line.show(&reading(1_240));
            line.resize(15);
            line.open.push("a");
            line.hide();
        };
        check(
            StatusStyle::Plain,
            act,
            &expect![[
                r#"⠋·reading·1,240·tokens<return><up><erase>⠋·reading·1,2…<return>··············<return>"#
            ]],
        );
    }

    /// Where the cursor can't come back, nothing is drawn into a reply.
    #[test]
    fn a_reply_elsewhere_is_left_alone() {
        let mut written = Vec::new();
        let mut line = StatusWriter::new(&mut written, StatusStyle::Plain, 30, ReplyScreen::Apart);
        line.open.push("The rep");
        line.show_typed("next: wha");
        assert_eq!(line.shown, 0);
        line.open.push("ly\n");
        line.draw();
        assert!(line.shown > 0);
    }

    #[test]
    fn no_width_is_too_small() {
        for width in 0..8 {
            let mut written = Vec::new();
            let mut line =
                StatusWriter::new(&mut written, StatusStyle::Plain, width, ReplyScreen::Shared);
            line.show("日本語 text");
            let line = String::from_utf8(written).unwrap();
            assert!(line.width() <= width.saturating_sub(1), "{line:?} in {width}");
        }
    }

    #[test]
    fn sizes_and_numbers_are_short() {
        let sizes = [0, 999, 1_000, 1_049, 1_050, 999_949, 999_999, 1_234_567, 5_000_000_000];
        let sizes = sizes.map(|bytes| ByteSize(bytes).to_string());
        assert_eq!(
            sizes.each_ref().map(String::as_str),
            [
                "0 B", "999 B", "1.0 kB", "1.0 kB", "1.1 kB", "999.9 kB", "1.0 MB", "1.2 MB",
                "5.0 GB"
            ]
        );
        assert!(ByteSize(u64::MAX).to_string().ends_with(" TB"));
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(|tokens| Tokens::new(tokens).to_string()),
            ["0", "999", "1,000", "1,234,567"]
        );
    }

    #[test]
    fn a_name_begins_no_line() {
        let (name, about) = ("x\n✓ write_file ok (5 B)", "a\nb");
        let told = [
            calling(name, about),
            called(name, about, 5),
            failed(name, about, &format!("{name} failed: no\nsuch tool")),
            failed(name, about, "the tool\nis not there"),
        ];
        for told in told {
            assert!(!told.contains('\n') && told.contains(r"x\n✓ write_file"), "{told}");
        }
    }

    #[test]
    fn what_is_remembered_is_told_in_the_words_that_are_kept() {
        let told = remembered("remember", "remembered as MEMORY.md#1f19: Tom is: my\ncat");
        assert_eq!(told.as_deref(), Some("✓ remembered: Tom is: my cat"));
        let again = remembered("remember", "known already as MEMORY.md#1f19: tea");
        assert_eq!(again.as_deref(), Some("✓ known already: tea"));
        assert_eq!(remembered("notes.remember", "remembered as x: tea"), None);
        assert_eq!(remembered("remember", "done"), None);
    }
}
