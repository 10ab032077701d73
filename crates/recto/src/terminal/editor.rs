//! The line that a person types, with history and completion.
//!
//! Reading a line blocks its thread, so async code does it with `spawn_blocking`
//! and takes the editor back afterwards. The editor knows words that can be completed
//! (`completion.rs`), and nothing else of what it reads.
//!
//! Enter sends. Alt-Enter, Shift-Enter where the terminal tells it apart, and
//! Enter right after a backslash begin a new line; what is pasted stays together
//! whatever it holds. Ctrl-O, or Ctrl-X Ctrl-E as in shells, asks for a person's own
//! editor; which one that is, others know.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::{AutoStream, ColorChoice};
use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use recto_fs::{create_private_folder, private_options};
use reedline::{
    Color, ColumnarMenu, EditCommand, EditMode, Emacs, FileBackedHistory, Keybindings, MenuBuilder,
    Prompt, PromptEditMode, PromptHistorySearch, PromptHistorySearchStatus, Reedline,
    ReedlineError, ReedlineErrorVariants, ReedlineEvent, ReedlineMenu, ReedlineRawEvent, Signal,
    SimpleMatchHighlighter, default_emacs_keybindings,
};

use super::completion::CompletionWords;
use super::open_row::OpenRow;
use super::quiet::is_dumb;
use crate::output::tame_lines;

/// What stands before what is typed, and before its further lines.
pub(crate) const PROMPT: &str = "> ";
const FURTHER: &str = "  ";

/// How many messages the history keeps.
const MAX_HISTORY: usize = 1_000;

/// The name by which the keys find the menu.
const MENU: &str = "commands";

/// What a person typed, or how they ended it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EditorInput {
    /// A message, which may have several lines.
    Text(String),
    /// What is to be written on in a person's own editor. It is in the line no more.
    Draft(String),
    /// Ctrl-C. What was typed is gone.
    Interrupted,
    /// The [`EditorBreaker`] broke in. What was typed stays in the line.
    Broken,
    /// Ctrl-D on an empty line.
    End,
}

/// Reads what a person types, with history and completion.
pub(crate) struct LineEditor {
    line: Reedline,
    history: PathBuf,
    words: CompletionWords,
    breaker: EditorBreaker,
}

/// Ends the reading of a line, from another thread, with nothing lost of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct EditorBreaker {
    /// What ends the reading, for whatever reason.
    signal: Arc<AtomicBool>,
    /// Whether somebody else is to have the screen.
    is_wanted: Arc<AtomicBool>,
}

impl EditorBreaker {
    pub(crate) fn interrupt(&self) {
        self.is_wanted.store(true, Ordering::Relaxed);
        self.signal.store(true, Ordering::Relaxed);
    }

    /// Has the line drawn anew by whoever reads it.
    fn redraw(&self) {
        self.signal.store(true, Ordering::Relaxed);
    }

    fn clear(&self) {
        self.signal.store(false, Ordering::Relaxed);
        self.is_wanted.store(false, Ordering::Relaxed);
    }
}

impl LineEditor {
    /// An editor whose history is in that file, for its owner only.
    pub(crate) fn open(history: &Path) -> io::Result<Self> {
        make_private(history)?;
        let (words, breaker) = (CompletionWords::default(), EditorBreaker::default());
        let line = open_line(history, &words, &breaker)?;
        Ok(LineEditor { line, history: history.to_owned(), words, breaker })
    }

    /// The editor with the words that Tab completes from now on.
    pub(crate) fn with_words(mut self, words: CompletionWords) -> Self {
        self.line = self.line.with_completer(Box::new(words.clone()));
        self.words = words;
        self
    }

    /// What ends [`read_line`](Self::read_line) from elsewhere.
    pub(crate) fn breaker(&self) -> EditorBreaker {
        self.breaker.clone()
    }

    /// Waits for a line. The terminal is as it was before when this returns.
    pub(crate) fn read_line(&mut self) -> io::Result<EditorInput> {
        // What was added to the history elsewhere can be come back to here.
        let _ = self.line.sync_history();
        let signal = loop {
            match self.line.read_line(&PlainPrompt)? {
                // Another width alone: the line is drawn anew.
                Signal::ExternalBreak(text) if !self.breaker.is_wanted.load(Ordering::Relaxed) => {
                    self.begin_anew(&text)?;
                }
                signal => break signal,
            }
        };
        // One that came too late for this line is not for the next.
        self.breaker.clear();
        // A history that can't be written is no reason to lose the message.
        let _ = self.line.sync_history();
        Ok(match signal {
            Signal::Success(text) => EditorInput::Text(text),
            Signal::HostCommand(_) => {
                let text = self.line.current_buffer_contents().to_owned();
                self.leave_screen()?;
                EditorInput::Draft(text)
            }
            Signal::ExternalBreak(text) => {
                self.begin_anew(&text)?;
                EditorInput::Broken
            }
            Signal::CtrlD => EditorInput::End,
            _ => EditorInput::Interrupted,
        })
    }

    /// Takes the prompt from the screen. The text comes with the next one, and so does the cursor.
    fn begin_anew(&mut self, text: &str) -> io::Result<()> {
        let position = self.line.current_insertion_point();
        self.leave_screen()?;
        self.insert(text);
        self.line.run_edit_commands(&[EditCommand::MoveToPosition { position, select: false }]);
        Ok(())
    }

    /// Whether nothing is in the line. What was there when a [`EditorBreaker`] broke in still is.
    pub(crate) fn is_empty(&self) -> bool {
        self.line.current_buffer_contents().is_empty()
    }

    /// Puts a text into the line, behind what is there, with the cursor at its end. It may be one
    /// of somebody else's, and the line is drawn as it is: what hides in it is written out.
    pub(crate) fn preload(&mut self, text: &str) {
        self.insert(&tame_lines(text));
    }

    fn insert(&mut self, text: &str) {
        if !text.is_empty() {
            self.line.run_edit_commands(&[
                EditCommand::MoveToEnd { select: false },
                EditCommand::InsertString(text.to_owned()),
            ]);
        }
    }

    /// Takes the prompt from the screen, so that something else can stand there, and begins
    /// with an empty line: the old one would be drawn where it was.
    fn leave_screen(&mut self) -> io::Result<()> {
        let text = self.line.current_buffer_contents();
        let typed = text.get(..self.line.current_insertion_point()).unwrap_or(text);
        let shown = format!("{PROMPT}{}", typed.replace('\n', &format!("\n{FURTHER}")));
        let mut terminal = io::stderr();
        match is_dumb() {
            true => terminal.write_all(b"\n")?,
            false => terminal.write_all(erase(&shown).as_bytes())?,
        }
        self.line = open_line(&self.history, &self.words, &self.breaker)?;
        Ok(())
    }
}

/// What takes a text and all below it from the screen, with the cursor at its end. The first column
/// goes last: a screen that is cleared from its very beginning is kept by some terminals, such as
/// tmux, among what has left it.
fn erase(text: &str) -> String {
    let columns = crossterm::terminal::size().map_or(0, |(columns, _)| usize::from(columns));
    let mut row = OpenRow::new(if columns == 0 { usize::MAX } else { columns });
    row.push(text);
    let up = match row.rows_above() {
        0 => String::new(),
        rows => format!("\x1b[{rows}A"),
    };
    format!("\r{up}\x1b[C\x1b[J\r\x1b[K")
}

fn open_line(
    history: &Path,
    words: &CompletionWords,
    breaker: &EditorBreaker,
) -> io::Result<Reedline> {
    let history =
        FileBackedHistory::with_file(MAX_HISTORY, history.to_owned()).map_err(io_error)?;
    let menu = Box::new(ColumnarMenu::default().with_name(MENU).with_marker(""));
    let colours = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
    Ok(Reedline::create()
        .with_history(Box::new(history))
        .with_completer(Box::new(words.clone()))
        .with_menu(ReedlineMenu::EngineCompleter(menu))
        .with_edit_mode(Box::new(EditorKeys::new(breaker.clone())))
        // One that finds nothing: what is typed has no colours.
        .with_highlighter(Box::new(SimpleMatchHighlighter::default()))
        .with_quick_completions(true)
        .with_ansi_colors(colours)
        .with_break_signal(breaker.signal.clone())
        .use_bracketed_paste(true))
}

/// Makes the file, if there is none, and takes it away from everybody else.
fn make_private(file: &Path) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        create_private_folder(folder)?;
    }
    restrict(&private_options().create(true).append(true).open(file)?)
}

#[cfg(unix)]
fn restrict(file: &File) -> io::Result<()> {
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))
}

#[cfg(not(unix))]
fn restrict(_file: &File) -> io::Result<()> {
    Ok(())
}

fn io_error(error: ReedlineError) -> io::Error {
    match error.0 {
        ReedlineErrorVariants::IOError(error) => error,
        other => io::Error::other(other.to_string()),
    }
}

/// The keys of Emacs and most shells, and those that begin a new line.
struct EditorKeys {
    keys: Emacs,
    /// The last key, where what follows it means something else.
    prefix: KeyPrefix,
    /// What has the line drawn anew.
    breaker: EditorBreaker,
}

/// A key that changes what the next one means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyPrefix {
    None,
    Backslash,
    /// Ctrl-X.
    ControlX,
}

impl EditorKeys {
    fn new(breaker: EditorBreaker) -> Self {
        EditorKeys { keys: Emacs::new(bindings()), prefix: KeyPrefix::None, breaker }
    }
}

fn bindings() -> Keybindings {
    let mut keys = default_emacs_keybindings();
    let complete = vec![ReedlineEvent::Menu(MENU.to_owned()), ReedlineEvent::MenuNext];
    keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, ReedlineEvent::UntilFound(complete));
    let new_line = ReedlineEvent::Edit(vec![EditCommand::InsertNewline]);
    keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, new_line.clone());
    keys.add_binding(KeyModifiers::SHIFT, KeyCode::Enter, new_line);
    keys.add_binding(KeyModifiers::CONTROL, KeyCode::Char('o'), own_editor());
    keys
}

/// Asks for a person's own editor.
fn own_editor() -> ReedlineEvent {
    ReedlineEvent::ExecuteHostCommand(String::new())
}

/// A backslash is looked for among the keys and not in the text, so that what
/// is pasted or edited later stays as it is.
impl EditMode for EditorKeys {
    fn parse_event(&mut self, event: ReedlineRawEvent) -> ReedlineEvent {
        let event = Event::from(event);
        if let Event::Resize(..) = event {
            // The editor would look for its line where that stood, and the terminal has wrapped
            // it anew by now.
            self.breaker.redraw();
            return ReedlineEvent::None;
        }
        let key = match &event {
            Event::Key(KeyEvent { code, modifiers, .. }) => Some((*code, *modifiers)),
            _ => None,
        };
        let prefix = match key {
            // On some keyboards a backslash takes other keys to type.
            Some((KeyCode::Char('\\'), _)) => KeyPrefix::Backslash,
            Some((KeyCode::Char('x'), KeyModifiers::CONTROL)) => KeyPrefix::ControlX,
            _ => KeyPrefix::None,
        };
        match (std::mem::replace(&mut self.prefix, prefix), key) {
            (KeyPrefix::Backslash, Some((KeyCode::Enter, KeyModifiers::NONE))) => {
                return ReedlineEvent::Edit(vec![
                    EditCommand::Backspace,
                    EditCommand::InsertNewline,
                ]);
            }
            (KeyPrefix::ControlX, Some((KeyCode::Char('e'), KeyModifiers::CONTROL))) => {
                return own_editor();
            }
            // It waits for the next key.
            _ if prefix == KeyPrefix::ControlX => return ReedlineEvent::None,
            _ => {}
        }
        match ReedlineRawEvent::try_from(event) {
            Ok(event) => self.keys.parse_event(event),
            Err(()) => ReedlineEvent::None,
        }
    }

    fn edit_mode(&self) -> PromptEditMode {
        self.keys.edit_mode()
    }
}

/// A prompt without time, folder or colours.
struct PlainPrompt;

impl Prompt for PlainPrompt {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        PROMPT.into()
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        "".into()
    }

    fn render_prompt_indicator(&self, _mode: PromptEditMode) -> Cow<'_, str> {
        "".into()
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        FURTHER.into()
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let found = match search.status {
            PromptHistorySearchStatus::Passing => "earlier",
            PromptHistorySearchStatus::Failing => "not found",
        };
        format!("({found}: {}) ", search.term).into()
    }

    fn get_prompt_color(&self) -> Color {
        Color::Reset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(keys: &mut EditorKeys, code: KeyCode) -> ReedlineEvent {
        let event = Event::Key(KeyEvent::new(code, KeyModifiers::NONE));
        keys.parse_event(ReedlineRawEvent::try_from(event).unwrap())
    }

    #[test]
    fn enter_after_a_backslash_begins_a_new_line() {
        let mut keys = EditorKeys::new(EditorBreaker::default());
        press(&mut keys, KeyCode::Char('\\'));
        let expected = vec![EditCommand::Backspace, EditCommand::InsertNewline];
        assert_eq!(press(&mut keys, KeyCode::Enter), ReedlineEvent::Edit(expected));
        assert_eq!(press(&mut keys, KeyCode::Enter), ReedlineEvent::Enter);
        press(&mut keys, KeyCode::Char('\\'));
        press(&mut keys, KeyCode::Char('x'));
        assert_eq!(press(&mut keys, KeyCode::Enter), ReedlineEvent::Enter);
    }

    #[test]
    fn another_width_has_the_line_drawn_anew_and_ends_nothing() {
        let breaker = EditorBreaker::default();
        let mut keys = EditorKeys::new(breaker.clone());
        let resize = ReedlineRawEvent::try_from(Event::Resize(80, 24)).unwrap();
        assert_eq!(keys.parse_event(resize), ReedlineEvent::None);
        let is_set = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        assert!(is_set(&breaker.signal) && !is_set(&breaker.is_wanted));
    }

    #[test]
    fn what_is_pasted_stays_one_message() {
        let mut keys = EditorKeys::new(EditorBreaker::default());
        let paste = Event::Paste("a \\\nb\\".to_owned());
        let event = keys.parse_event(ReedlineRawEvent::try_from(paste).unwrap());
        let expected = vec![EditCommand::InsertString("a \\\nb\\".to_owned())];
        assert_eq!(event, ReedlineEvent::Edit(expected));
        assert_eq!(press(&mut keys, KeyCode::Enter), ReedlineEvent::Enter);
    }

    #[test]
    fn alt_enter_begins_a_new_line() {
        let event = Event::Key(KeyEvent::new(KeyCode::Enter, KeyModifiers::ALT));
        let event = EditorKeys::new(EditorBreaker::default())
            .parse_event(ReedlineRawEvent::try_from(event).unwrap());
        assert_eq!(event, ReedlineEvent::Edit(vec![EditCommand::InsertNewline]));
    }

    #[test]
    fn the_keys_of_shells_ask_for_an_editor() {
        let control = |letter: char| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
        let mut keys = EditorKeys::new(EditorBreaker::default());
        let mut press =
            |key: KeyEvent| keys.parse_event(ReedlineRawEvent::try_from(Event::Key(key)).unwrap());
        assert_eq!(press(control('o')), own_editor());
        assert_eq!(press(control('x')), ReedlineEvent::None);
        assert_eq!(press(control('e')), own_editor());
        assert_ne!(press(control('e')), own_editor());
    }

    #[test]
    fn a_text_can_be_put_into_the_line() {
        let folder = tempfile::tempdir().unwrap();
        let mut editor = LineEditor::open(&folder.path().join("history")).unwrap();
        editor.preload("one");
        editor.preload(" two\nthree");
        assert_eq!(editor.line.current_buffer_contents(), "one two\nthree");
        assert_eq!(editor.line.current_insertion_point(), 13);
        editor.preload("\u{1b}[2J\u{202e}");
        assert_eq!(editor.line.current_buffer_contents(), "one two\nthree\\u{1b}[2J\\u{202e}");
    }

    #[cfg(unix)]
    #[test]
    fn the_history_is_for_its_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("data/history");
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        LineEditor::open(&file).unwrap();
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
        LineEditor::open(&file).unwrap();
        assert_eq!(mode(&file), 0o600);
    }

    #[test]
    fn the_history_keeps_the_newest() {
        use reedline::{History, HistoryItem, SearchDirection, SearchQuery};
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("history");
        let lines: String = (0..MAX_HISTORY + 10).map(|i| format!("{i}\n")).collect();
        std::fs::write(&file, lines).unwrap();
        let mut editor = LineEditor::open(&file).unwrap();
        let history = editor.line.history_mut();
        history.save(HistoryItem::from_command_line("two\nlines")).unwrap();
        editor.line.sync_history().unwrap();
        let editor = LineEditor::open(&file).unwrap();
        let all = SearchQuery::everything(SearchDirection::Forward, None);
        let found = History::search(editor.line.history(), all).unwrap();
        assert_eq!(found.len(), MAX_HISTORY);
        assert_eq!(found[0].command_line, "11");
        assert_eq!(found[MAX_HISTORY - 1].command_line, "two\nlines");
    }

    #[test]
    fn a_history_that_cannot_be_read_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert!(LineEditor::open(folder.path()).is_err());
        let file = folder.path().join("history");
        std::fs::write(&file, b"\xff\n").unwrap();
        assert!(LineEditor::open(&file).is_err());
    }

    #[test]
    fn an_editor_can_go_to_another_thread() {
        fn check<T: Send + 'static>() {}
        check::<LineEditor>();
    }
}
