//! Marks within a line: emphasis, code, links.
//!
//! The line becomes a queue of tokens. A mark that may begin something waits in
//! it for its other half, and with it all that stands behind it; when the other
//! half comes, both turn into a change of style. When the line ends, marks that
//! are still alone were meant as they stand. This is the algorithm of
//! `CommonMark` over one line, with bounds on how much may wait.

use std::collections::VecDeque;

use anstyle::Style;

use super::wrap::{Span, is_wide};
use super::{CODE, DIM};

/// The most characters that wait for a mark's other half.
const MAX_HELD: usize = 1_000;

/// The most marks that wait at a time.
const MAX_OPEN: usize = 32;

/// The text of one line in the making.
#[derive(Debug, Default)]
pub(super) struct Inline {
    /// The style of the whole line.
    base: Style,
    reading: Reading,
    /// The character before the next one.
    previous: Option<char>,
    queue: VecDeque<Token>,
    /// How many tokens have left the queue.
    left: usize,
    /// Which tokens are marks that wait, oldest first, counted from the first
    /// token of the line.
    open: VecDeque<usize>,
    /// The characters in the queue.
    held: usize,
    depths: Depths,
    done: Vec<Span>,
}

/// What the next character is read as.
#[derive(Debug, Default)]
enum Reading {
    #[default]
    Text,
    /// After a backslash.
    Escape,
    /// After an exclamation mark, which may begin an image.
    Exclamation,
    /// In a run of one mark.
    Run { mark: char, count: usize },
    /// In a run of backticks.
    Ticks(usize),
    /// In code, after `run` more backticks.
    Code { ticks: usize, body: String, run: usize },
    /// After a bracket that may end the text of a link.
    Bracket,
    /// In the address of a link, within brackets of its own.
    Target { body: String, depth: usize },
}

#[derive(Debug)]
enum Token {
    Text(String),
    Code(String),
    /// The address of a link.
    Target(String),
    /// A mark that waits or has waited.
    Opener(Opener),
    Off(Effect),
}

#[derive(Debug)]
struct Opener {
    mark: char,
    /// How many there were at first.
    count: usize,
    /// Whether it could have been the other half of an earlier one.
    closes: bool,
    /// What is left of it to be shown.
    literal: String,
    /// What it begins.
    on: Vec<Effect>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Italic,
    Bold,
    Struck,
    Link,
}

/// How many of each effect hold. Emphasis may stand within emphasis.
#[derive(Debug, Default)]
struct Depths([usize; 4]);

impl Depths {
    fn of(&mut self, effect: Effect) -> &mut usize {
        &mut self.0[effect as usize]
    }

    fn style(&self, base: Style) -> Style {
        let [italic, bold, struck, link] = self.0.map(|depth| depth > 0);
        let style = if italic { base.italic() } else { base };
        let style = if bold { style.bold() } else { style };
        let style = if struck { style.strikethrough() } else { style };
        if link { style.underline() } else { style }
    }
}

impl Inline {
    /// Begins a line in that style.
    pub(super) fn begin(&mut self, base: Style) {
        *self = Inline { base, ..Inline::default() };
    }

    /// Takes the next character and gives what is decided.
    pub(super) fn push(&mut self, c: char) -> Vec<Span> {
        self.read(c);
        self.release()
    }

    /// Ends the line and gives the rest.
    pub(super) fn end(&mut self) -> Vec<Span> {
        // What was begun in vain is read again as text, and may begin other things.
        while self.give_up() {}
        self.open.clear();
        self.release()
    }

    fn read(&mut self, c: char) {
        match std::mem::take(&mut self.reading) {
            Reading::Text => self.read_text(c),
            Reading::Escape if c.is_ascii_punctuation() => self.text(c),
            Reading::Exclamation if c == '[' => self.open('[', "![".to_owned(), Closes::Never),
            Reading::Run { mark, count } if c == mark => {
                self.reading = Reading::Run { mark, count: count + 1 };
            }
            Reading::Run { mark, count } => {
                self.end_run(mark, count, Some(c));
                self.read_text(c);
            }
            Reading::Ticks(count) if c == '`' => self.reading = Reading::Ticks(count + 1),
            Reading::Ticks(ticks) => {
                self.reading = Reading::Code { ticks, body: c.to_string(), run: 0 };
            }
            Reading::Code { ticks, body, run } => self.read_code(ticks, body, run, c),
            Reading::Bracket if c == '(' => {
                self.reading = Reading::Target { body: String::new(), depth: 0 };
            }
            Reading::Target { body, depth } => self.read_target(body, depth, c),
            other @ (Reading::Escape | Reading::Exclamation | Reading::Bracket) => {
                self.reading = other;
                self.give_up();
                self.read_text(c);
            }
        }
    }

    fn read_text(&mut self, c: char) {
        match c {
            '\\' => self.reading = Reading::Escape,
            '!' => self.reading = Reading::Exclamation,
            '*' | '_' | '~' => self.reading = Reading::Run { mark: c, count: 1 },
            '`' => self.reading = Reading::Ticks(1),
            '[' => self.open('[', "[".to_owned(), Closes::Never),
            ']' if self.open_bracket().is_some() => self.reading = Reading::Bracket,
            _ => self.text(c),
        }
    }

    fn read_code(&mut self, ticks: usize, mut body: String, run: usize, c: char) {
        if c == '`' {
            self.reading = Reading::Code { ticks, body, run: run + 1 };
        } else if run == ticks {
            self.code(&body);
            self.read_text(c);
        } else {
            body.extend(std::iter::repeat_n('`', run));
            body.push(c);
            let is_too_long = body.len() > MAX_HELD;
            self.reading = Reading::Code { ticks, body, run: 0 };
            if is_too_long {
                self.give_up();
            }
        }
    }

    fn read_target(&mut self, mut body: String, depth: usize, c: char) {
        let depth = match c {
            ')' if depth == 0 => return self.link(body),
            ')' => depth - 1,
            '(' => depth + 1,
            _ => depth,
        };
        body.push(c);
        let is_too_long = body.len() > MAX_HELD;
        self.reading = Reading::Target { body, depth };
        if is_too_long {
            self.give_up();
        }
    }

    /// Takes what is being read as text, because no more of it comes. False when
    /// that is what it is read as already.
    fn give_up(&mut self) -> bool {
        match std::mem::take(&mut self.reading) {
            Reading::Text => return false,
            Reading::Escape => self.text('\\'),
            Reading::Exclamation => self.text('!'),
            Reading::Run { mark, count } => self.end_run(mark, count, None),
            Reading::Ticks(count) => self.repeated('`', count),
            Reading::Code { ticks, body, run } if run == ticks => self.code(&body),
            Reading::Code { ticks, body, run } => {
                self.repeated('`', ticks);
                body.chars().chain(std::iter::repeat_n('`', run)).for_each(|c| self.read(c));
            }
            Reading::Bracket => self.unbracket(),
            Reading::Target { body, .. } => {
                self.unbracket();
                self.text('(');
                body.chars().for_each(|c| self.read(c));
            }
        }
        true
    }

    fn text(&mut self, c: char) {
        self.previous = Some(c);
        self.held += 1;
        match self.queue.back_mut() {
            Some(Token::Text(text)) => text.push(c),
            _ => self.queue.push_back(Token::Text(c.to_string())),
        }
    }

    fn repeated(&mut self, c: char, count: usize) {
        (0..count).for_each(|_| self.text(c));
    }

    /// Code in a line. One blank at each side only keeps backticks apart.
    fn code(&mut self, body: &str) {
        let inner = body.strip_prefix(' ').and_then(|body| body.strip_suffix(' '));
        let inner = inner.filter(|inner| !inner.trim().is_empty()).unwrap_or(body);
        self.held += inner.chars().count();
        self.queue.push_back(Token::Code(inner.to_owned()));
        self.previous = Some('`');
    }

    fn open(&mut self, mark: char, literal: String, closes: Closes) {
        self.previous = Some(mark);
        if self.open.len() == MAX_OPEN {
            self.open.pop_front();
        }
        self.open.push_back(self.left + self.queue.len());
        self.held += literal.len();
        let closes = closes == Closes::Too;
        let count = literal.len();
        let opener = Opener { mark, count, closes, literal, on: Vec::new() };
        self.queue.push_back(Token::Opener(opener));
    }

    fn opener(&self, index: usize) -> Option<&Opener> {
        match self.queue.get(self.open.get(index)?.checked_sub(self.left)?)? {
            Token::Opener(opener) => Some(opener),
            _ => None,
        }
    }

    fn opener_mut(&mut self, index: usize) -> Option<&mut Opener> {
        match self.queue.get_mut(self.open.get(index)?.checked_sub(self.left)?)? {
            Token::Opener(opener) => Some(opener),
            _ => None,
        }
    }

    /// A run of marks has ended: it closes what it can, and what is left of it
    /// may open something.
    fn end_run(&mut self, mark: char, count: usize, next: Option<char>) {
        let (opens, closes) = sides(mark, self.previous, next);
        // One tilde is an approximation, and no mark.
        let is_mark = mark != '~' || count == 2;
        let mut rest = count;
        while is_mark && closes && rest > 0 {
            let Some(index) = self.other_half(mark, count, opens) else { break };
            rest -= self.join(index, rest);
        }
        if is_mark && opens && rest > 0 {
            let closes = if closes { Closes::Too } else { Closes::Never };
            self.open(mark, mark.to_string().repeat(rest), closes);
        } else {
            self.repeated(mark, rest);
        }
        self.previous = Some(mark);
    }

    /// The nearest mark that a run can close. Where a run could do both, three
    /// marks in all are no pair: in `**a*b**` the one in the middle is none.
    fn other_half(&self, mark: char, count: usize, opens: bool) -> Option<usize> {
        (0..self.open.len()).rev().find(|index| {
            self.opener(*index).is_some_and(|opener| {
                let sum = opener.count + count;
                let are_threes = opener.count.is_multiple_of(3) && count.is_multiple_of(3);
                let is_odd = sum.is_multiple_of(3) && !are_threes;
                opener.mark == mark && !((opener.closes || opens) && is_odd)
            })
        })
    }

    /// Joins a run with the mark that it closes, and says how many marks of the
    /// run that took. Marks between the two have no other half.
    fn join(&mut self, index: usize, rest: usize) -> usize {
        let Some(opener) = self.opener_mut(index) else { return rest };
        let taken = if rest >= 2 && opener.literal.len() >= 2 { 2 } else { 1 };
        let effect = match (opener.mark, taken) {
            ('~', _) => Effect::Struck,
            (_, 2) => Effect::Bold,
            _ => Effect::Italic,
        };
        opener.literal.truncate(opener.literal.len() - taken);
        opener.on.push(effect);
        let is_used_up = opener.literal.is_empty();
        self.open.truncate(if is_used_up { index } else { index + 1 });
        self.queue.push_back(Token::Off(effect));
        taken
    }

    fn open_bracket(&self) -> Option<usize> {
        (0..self.open.len())
            .rev()
            .find(|index| self.opener(*index).is_some_and(|opener| opener.mark == '['))
    }

    /// The brackets were brackets.
    fn unbracket(&mut self) {
        if let Some(index) = self.open_bracket() {
            self.open.remove(index);
        }
        self.text(']');
    }

    /// A link is complete. Its address is shown unless it is its text.
    fn link(&mut self, target: String) {
        let Some(index) = self.open_bracket() else { return };
        let position = self.open[index].saturating_sub(self.left);
        if let Some(opener) = self.opener_mut(index) {
            opener.literal.clear();
            opener.on.push(Effect::Link);
        }
        self.open.truncate(index);
        let shown: String = self.queue.iter().skip(position + 1).map(Token::shown).collect();
        self.queue.push_back(Token::Off(Effect::Link));
        if !target.is_empty() && target != shown {
            self.held += target.chars().count();
            self.queue.push_back(Token::Target(target));
        }
        self.previous = Some(')');
    }

    /// Gives all that stands before the first mark that waits.
    fn release(&mut self) -> Vec<Span> {
        loop {
            let end = self.left + self.queue.len();
            let until = self.open.front().map_or(end, |first| *first);
            while self.left < until
                && let Some(token) = self.queue.pop_front()
            {
                self.left += 1;
                self.show(token);
            }
            if self.held <= MAX_HELD || self.open.pop_front().is_none() {
                return std::mem::take(&mut self.done);
            }
        }
    }

    fn show(&mut self, token: Token) {
        self.held = self.held.saturating_sub(token.shown().chars().count());
        let style = self.depths.style(self.base);
        match token {
            Token::Text(text) => self.done.push(Span::new(text, style)),
            Token::Code(text) => {
                self.done.push(Span::new(text, style.fg_color(CODE.get_fg_color())));
            }
            Token::Target(target) => self.done.push(Span::new(format!(" ({target})"), DIM)),
            Token::Opener(opener) => {
                self.done.push(Span::new(opener.literal, style));
                opener.on.iter().for_each(|effect| *self.depths.of(*effect) += 1);
            }
            Token::Off(effect) => {
                let depth = self.depths.of(effect);
                *depth = depth.saturating_sub(1);
            }
        }
    }
}

/// Whether a mark that opens could also close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closes {
    Too,
    Never,
}

impl Token {
    /// What people see of it.
    fn shown(&self) -> &str {
        match self {
            Token::Text(text) | Token::Code(text) | Token::Target(text) => text,
            Token::Opener(opener) => &opener.literal,
            Token::Off(_) => "",
        }
    }
}

/// Whether a run of marks can open and can close something, by what stands
/// around it: words and blanks. An underscore within a word is part of it.
///
/// Beside characters of scripts without blanks, every place is the end of a word.
fn sides(mark: char, before: Option<char>, after: Option<char>) -> (bool, bool) {
    let is_blank = |c: Option<char>| c.is_none_or(char::is_whitespace);
    let is_sign = |c: Option<char>| c.is_some_and(|c| !c.is_alphanumeric() && !c.is_whitespace());
    let is_edge = |c: Option<char>| is_blank(c) || is_sign(c) || c.is_some_and(is_wide);
    let opens = !is_blank(after) && (!is_sign(after) || is_edge(before));
    let closes = !is_blank(before) && (!is_sign(before) || is_edge(after));
    match mark {
        '_' => (opens && (!closes || is_sign(before)), closes && (!opens || is_sign(after))),
        _ => (opens, closes),
    }
}
