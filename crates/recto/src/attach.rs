//! What comes along with a message: files by name, and what was piped in.
//!
//! Nothing is cut here and nothing is left out: what can't be sent whole is an error. Whether a
//! model takes images, and whether all of it fits, is for the agent to say.

use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use recto_agent::mentioned_files;
use recto_context::{AttachedFile, ContentPart, Image};
use rustix::fs::{Mode, OFlags};

use crate::failure::{CliFailure, CliResult};
use crate::input;
use crate::output::tame;

/// The most bytes of a file: more than the largest window holds, and what servers take of an
/// image.
const MOST_BYTES: u64 = 16 << 20;

/// The most files that come along with a message.
const MOST_FILES: usize = 32;

/// The paths that stand for what is piped in.
const STANDARD_INPUT: [&str; 4] = ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];

/// What comes along with a message beside its text.
#[derive(Debug)]
pub(crate) struct MessageAttachments {
    parts: Vec<ContentPart>,
    mentions: FileMentions,
}

/// Whether `@file:` in a message names a file. It does for whoever typed it; what was piped in
/// may be anybody's words, and can't fetch files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileMentions {
    Follow,
    AsText,
}

impl MessageAttachments {
    /// Nothing but what the message itself names.
    pub(crate) fn mentioned(mentions: FileMentions) -> Self {
        MessageAttachments { parts: Vec::new(), mentions }
    }

    /// The message that was typed behind a command, with what comes along: these files, and what
    /// is piped in beside it. `-` stands for a message that is piped in itself.
    pub(crate) fn read_message(
        typed: &str,
        files: &[PathBuf],
        mentions: FileMentions,
    ) -> CliResult<(String, Self)> {
        if typed == "-" {
            let attached = Self::read(None, files, FileMentions::AsText)?;
            return Ok((input::all()?, attached));
        }
        // One byte more than may come, to tell.
        let piped = input::piped(MOST_BYTES + 1)?;
        Ok((typed.to_owned(), Self::read(piped, files, mentions)?))
    }

    /// These files, behind what was piped in.
    fn read(piped: Option<Vec<u8>>, files: &[PathBuf], mentions: FileMentions) -> CliResult<Self> {
        let name = AttachedFile::STANDARD_INPUT;
        let piped = piped.map(|bytes| part(name, bytes)).transpose()?;
        let is_piped = |path: &&PathBuf| STANDARD_INPUT.iter().any(|it| path.as_path() == *it);
        if piped.is_none() && files.iter().any(|path| is_piped(&path)) {
            return Err(CliFailure::new("nothing is piped in that could be sent along")
                .hint("pipe something in, or name a file"));
        }
        // What is piped in comes along anyway, and can be read only once.
        let files = files.iter().filter(|path| !is_piped(path));
        let files = files.map(|path| match is_given_by_shell(path) {
            true => read_given(path),
            false => read_file(path),
        });
        let parts = piped.map(Ok).into_iter().chain(files).collect::<CliResult<_>>()?;
        Ok(MessageAttachments { parts, mentions })
    }

    /// The content of a message in place of another one. What came along with that one stays,
    /// but for the files that its text named.
    pub(crate) fn replace(
        mut self,
        text: &str,
        before: &str,
        others: Vec<ContentPart>,
    ) -> CliResult<Vec<ContentPart>> {
        let still_named: Vec<&str> = mentioned_files(text).collect();
        // Those that the new text names, too, are read as they are now, where that is allowed.
        let goes =
            |path: &&str| self.mentions == FileMentions::Follow || !still_named.contains(path);
        let gone: Vec<PathBuf> =
            mentioned_files(before).filter(goes).flat_map(possible_paths).collect();
        let stays = |part: &ContentPart| match part {
            ContentPart::Text(_) => false,
            ContentPart::File(file) => !gone.iter().any(|path| *path == Path::new(&**file.name())),
            ContentPart::Image(image) => {
                let name = image.name.as_deref().map(Path::new);
                !gone.iter().any(|path| Some(path.as_path()) == name)
            }
            _ => true,
        };
        let stay = others.into_iter().filter(stays).collect();
        let new = std::mem::replace(&mut self.parts, stay);
        self.parts.extend(new);
        self.content(text)
    }

    /// Whether nothing was sent along by name or through a pipe.
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The content of the message: its text as it was typed, and all that comes along.
    pub(crate) fn content(self, text: &str) -> CliResult<Vec<ContentPart>> {
        let mut content = vec![ContentPart::Text(text.into())];
        content.extend(self.parts);
        if self.mentions == FileMentions::Follow {
            for path in mentioned_files(text) {
                content.push(read_mentioned(path)?);
            }
        }
        let mut known = Vec::new();
        content.retain(|part| {
            let is_new = !known.contains(part);
            known.push(part.clone());
            is_new
        });
        match content.len() - 1 {
            ..=MOST_FILES => Ok(content),
            many => Err(CliFailure::new(format!("{many} files are too many for one message"))
                .hint(format!("send at most {MOST_FILES}"))),
        }
    }
}

/// Reads a file that a message names.
fn read_mentioned(typed: &str) -> CliResult<ContentPart> {
    let [whole, trimmed] = possible_paths(typed);
    read_file(if whole.exists() { &whole } else { &trimmed })
}

/// What a message can mean by a path: all of it, or less, as a sentence may end behind it.
fn possible_paths(typed: &str) -> [PathBuf; 2] {
    let trimmed = typed.trim_end_matches([',', '.', ';', ':', '!', '?', ')', ']', '\'', '"']);
    [typed, trimmed].map(|path| match path.strip_prefix("~/").zip(std::env::home_dir()) {
        Some((rest, home)) => home.join(rest),
        None => PathBuf::from(path),
    })
}

/// Reads a regular file under its path as it was typed. Nothing is waited for.
fn read_file(path: &Path) -> CliResult<ContentPart> {
    // Opening a device can do something already, so it is looked at before.
    must_be_file(path, &std::fs::metadata(path).map_err(|error| unreadable(path, &error))?)?;
    let file = open_without_waiting(path).map_err(|error| unreadable(path, &error))?;
    must_be_file(path, &file.metadata().map_err(|error| unreadable(path, &error))?)?;
    read_part(path, file)
}

/// Reads what the shell has opened for this program: a file, or a pipe to its end.
fn read_given(path: &Path) -> CliResult<ContentPart> {
    let metadata = std::fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if !metadata.file_type().is_fifo() {
        must_be_file(path, &metadata)?;
    }
    read_part(path, File::open(path).map_err(|error| unreadable(path, &error))?)
}

fn read_part(path: &Path, file: File) -> CliResult<ContentPart> {
    let mut bytes = Vec::new();
    let read = file.take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| unreadable(path, &error))?;
    part(&path.to_string_lossy(), bytes)
}

fn must_be_file(path: &Path, metadata: &Metadata) -> CliResult {
    let what = match metadata.is_file() {
        true => return Ok(()),
        false if metadata.is_dir() => "it is a folder; name a file",
        false => "it is no regular file; name one, or pipe it in",
    };
    Err(not_sent(path).hint(what))
}

fn not_sent(path: &Path) -> CliFailure {
    CliFailure::new(format!("cannot send the file `{}` along", tame(&path.to_string_lossy())))
}

fn unreadable(path: &Path, error: &std::io::Error) -> CliFailure {
    let looked = match std::path::absolute(path) {
        _ if error.kind() == ErrorKind::WouldBlock => {
            "it has no end that could be waited for; name another file".to_owned()
        }
        Ok(path) => format!("it was looked for at {}", tame(&path.to_string_lossy())),
        Err(_) => "name a file that is there".to_owned(),
    };
    not_sent(path).because(error).hint(looked)
}

/// Whether a path stands for something that the shell has opened for this program, such as what
/// `<(…)` makes.
fn is_given_by_shell(path: &Path) -> bool {
    let folders = ["/dev/fd", "/proc/self/fd"].map(Path::new);
    path.parent().is_some_and(|folder| folders.contains(&folder))
}

/// Opens a file so that reading it fails where it would wait: some that look like regular files
/// never end, such as those in which the kernel tells of itself.
fn open_without_waiting(path: &Path) -> std::io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// A file as a part of a message, by what is in it.
fn part(name: &str, bytes: Vec<u8>) -> CliResult<ContentPart> {
    let shown = tame(name);
    if bytes.len() as u64 > MOST_BYTES {
        let most = MOST_BYTES >> 20;
        return Err(CliFailure::new(format!("`{shown}` has more than {most} MiB"))
            .hint("send a part of it"));
    }
    if let Some(media_type) = Image::find_media_type(&bytes) {
        let data = BASE64_STANDARD.encode(&bytes).into();
        let name = Some(name.into());
        return Ok(ContentPart::Image(Image { media_type: media_type.into(), data, name }));
    }
    let kinds = "text files and images (png, jpeg, gif, webp) can be sent along";
    let (problem, hint) = match bytes.iter().position(|byte| *byte == 0) {
        Some(at) => (format!("byte {at} is NUL"), kinds.to_owned()),
        None => match String::from_utf8(bytes) {
            Ok(text) => return Ok(ContentPart::File(AttachedFile::new(name, text))),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let convert = "a text in an older encoding has to be converted first, as with \
                               `iconv -f LATIN1 -t UTF-8`";
                (format!("byte {at} does not belong to UTF-8"), format!("{kinds}; {convert}"))
            }
        },
    };
    Err(CliFailure::new(format!("`{shown}` is neither a text in UTF-8 nor an image: {problem}"))
        .hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_decides_what_a_file_is() {
        let image = part("a.txt", b"GIF89a\x01\x00".to_vec()).unwrap();
        assert!(matches!(image, ContentPart::Image(image) if &*image.media_type == "image/gif"));
        let text = part("a.png", b"no picture".to_vec()).unwrap();
        assert!(matches!(text, ContentPart::File(file) if file.text().as_str() == "no picture"));
        for binary in [&b"a\0b"[..], b"\xff\xfe", b"\x89PNG"] {
            let failure = part("x.bin", binary.to_vec()).unwrap_err().to_string();
            assert!(failure.contains("`x.bin` is neither a text"), "{failure}");
        }
        let older = part("x.txt", b"caf\xe9".to_vec()).unwrap_err().to_string();
        assert!(older.contains("byte 3 does not") && older.contains("iconv"), "{older}");
    }
}
