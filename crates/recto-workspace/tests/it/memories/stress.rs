//! Two processes of Recto, killed now and then, and an editor write one file at the
//! same time. Nothing that was acknowledged is lost, and nothing is there twice.
//!
//! The processes are this test binary, started again with an environment variable. They
//! don't wait for the disk: what is tested is who writes over whom, not the disk.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::*;

/// Five times two thousand writes. Files stay short, because each addition reads
/// them, and this is not optimised.
const ROUNDS: u64 = 5;
const LINES: usize = 990;
const SAVES: usize = 20;

/// Says to a process that it is a writer: its name, its first line, and the workspace.
const WRITER: &str = "RECTO_TEST_WRITER";

#[test]
fn no_line_is_lost_between_two_processes_and_an_editor() {
    for round in 0..ROUNDS {
        let home = WorkspaceHome::with(&[(MEMORY, "# Mine\n\n- the first line\n")]);
        let running = AtomicUsize::new(2);
        let saves = thread::scope(|scope| {
            for name in ["a", "b"] {
                let (home, running) = (&home, &running);
                scope.spawn(move || {
                    supervise(home, name, Chance(round * 2 + u64::from(name == "b")));
                    running.fetch_sub(1, Ordering::SeqCst);
                });
            }
            let edit = || edit(&home.path(MEMORY), &running, Chance(100 + round));
            scope.spawn(edit).join().unwrap()
        });
        // Whoever looks next puts back what the last save wrote over.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let view = runtime.block_on(home.recall());
        let archive = home.content("workspace/memory/archive/MEMORY.md");
        check(&home.content(MEMORY), &archive, saves, &view);
    }
}

/// What a writer does with one of its lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Add,
    AddAndEdit,
    AddAndForget,
}

fn deed(line: usize) -> Deed {
    match line % 90 {
        30 => Deed::AddAndEdit,
        60 => Deed::AddAndForget,
        _ => Deed::Add,
    }
}

/// Every line of everybody is there once. A save of what was read before a line was
/// edited or forgotten brings the old one back, which is no loss; so does a kill.
fn check(content: &str, archive: &str, saves: usize, view: &MemoryView) {
    let count_in =
        |content: &str, text: &str| content.lines().filter(|line| line.starts_with(text)).count();
    let count = |text: &str| count_in(content, text);
    assert_eq!(count("- the first line"), 1);
    for name in ["a", "b"] {
        for line in 0..LINES {
            let found = count(&format!("- writer {name} {line} "));
            let is_right = match deed(line) {
                Deed::Add => found == 1,
                Deed::AddAndEdit => count(&format!("- writer {name} {line} corrects")) >= 1,
                Deed::AddAndForget => {
                    found <= 1 && count_in(archive, &format!("- writer {name} {line} ")) >= 1
                }
            };
            assert!(is_right, "writer {name}, {line}: {found}");
        }
    }
    for save in 0..saves {
        assert_eq!(count(&format!("- editor {save} ")), 1, "editor, {save}");
    }
    let forgotten = 2 * (0..LINES).filter(|line| deed(*line) == Deed::AddAndForget).count();
    let least = 2 * LINES + saves - forgotten;
    assert!(view.memories.len() > least, "{}", view.memories.len());
}

/// Lets a process write until all its lines are acknowledged, and kills it now and then.
fn supervise(home: &WorkspaceHome, name: &str, mut chance: Chance) {
    let mut next = 0;
    while next < LINES {
        let mut child = start(home, name, next);
        let kill_after = next + 20 + chance.below(400);
        let mut is_killed = false;
        // What it said before it was killed counts, also what is read after it.
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let Some((_, number)) = line.as_ref().unwrap().rsplit_once("acknowledged ") else {
                continue;
            };
            assert_eq!(number.parse(), Ok(next));
            next += 1;
            if next >= kill_after && !is_killed {
                thread::sleep(Duration::from_micros(chance.below(3_000) as u64));
                child.kill().unwrap();
                is_killed = true;
            }
        }
        let status = child.wait().unwrap();
        assert!(is_killed || status.success(), "{status}");
    }
}

fn start(home: &WorkspaceHome, name: &str, first: usize) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "memories::stress::a_process_that_writes", "--nocapture"])
        .env(WRITER, format!("{name} {first} {}", home.path("workspace").display()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Not a test but a process of the test above.
#[tokio::test]
async fn a_process_that_writes() {
    let Ok(order) = env::var(WRITER) else { return };
    let [name_of, first, workspace] = order.splitn(3, ' ').collect::<Vec<_>>()[..] else {
        panic!("{order}");
    };
    let files = MemoryFiles::without_sync(PathBuf::from(workspace));
    for line in first.parse().unwrap()..LINES {
        let text = format!("writer {name_of} {line} says so.");
        let name = files.add(new(&text, MemoryScope::Global)).await.unwrap().memory.name;
        // Unknown is what an editor has written over just now. Whoever writes next puts
        // it back.
        loop {
            let done = match deed(line) {
                Deed::Add => Ok(()),
                Deed::AddAndEdit => {
                    let text = format!("writer {name_of} {line} corrects itself.");
                    files.edit(&name, Some(&text), |marks| marks, &owner()).await.map(|_| ())
                }
                Deed::AddAndForget => files.forget(&name, &owner()).await.map(|_| ()),
            };
            match done {
                Ok(()) => break,
                Err(MemoryError::Unknown { .. }) => {
                    files.add(new(&text, MemoryScope::Global)).await.unwrap();
                }
                Err(error) => panic!("{error}"),
            }
        }
        println!("acknowledged {line}");
        std::io::stdout().flush().unwrap();
    }
}

/// Reads, adds or changes a line of its own, and saves, in both ways that editors do,
/// as long as others write. Gives the number of lines that should be there.
fn edit(path: &Path, running: &AtomicUsize, mut chance: Chance) -> usize {
    let mut saves = 0;
    while saves < SAVES || running.load(Ordering::SeqCst) > 0 {
        let content = fs::read_to_string(path).unwrap();
        let mut lines: Vec<String> = content.lines().map(str::to_owned).collect();
        let own = lines.iter().position(|line| line.starts_with("- editor "));
        if let Some(at) = own.filter(|_| chance.below(2) == 0) {
            lines[at].push_str(" and more");
        }
        let at = chance.below(lines.len() + 1);
        lines.insert(at, format!("- editor {saves} was here"));
        thread::sleep(Duration::from_millis(chance.below(5) as u64));
        let new = lines.join("\n") + "\n";
        if chance.below(2) == 0 {
            let beside = path.with_file_name("MEMORY.md~");
            fs::write(&beside, new).unwrap();
            fs::rename(&beside, path).unwrap();
        } else {
            fs::write(path, new).unwrap();
        }
        saves += 1;
        thread::sleep(Duration::from_millis(60 + chance.below(150) as u64));
    }
    saves
}

/// Numbers without a pattern, the same at each run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}
