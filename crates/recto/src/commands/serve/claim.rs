//! The claim of one server on a home: a locked file that says where it answers.

use std::fs::File;
use std::io::{self, Read, Write};

use recto_fs::{create_private_folder, private_options, try_lock};

use crate::failure::{CliFailure, CliResult};
use crate::home::RectoHome;
use crate::output::tame;

/// The claim of a server on a home. The kernel takes it back however the process ends.
pub(super) struct ServeClaim {
    file: File,
}

impl ServeClaim {
    /// Claims a home, unless another server has it.
    pub(super) fn take(home: &RectoHome) -> CliResult<Self> {
        let path = home.path().join("data/serve.lock");
        let failure = |error: io::Error| {
            CliFailure::new(format!("cannot claim {} for a server", home.path().display()))
                .because(&error)
        };
        create_private_folder(&home.path().join("data")).map_err(failure)?;
        let open =
            private_options().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = open.map_err(failure)?;
        if try_lock(&file).map_err(failure)? {
            return Ok(ServeClaim { file });
        }
        let mut address = String::new();
        // Where it can't be read, the other one has only just begun.
        let _ = file.read_to_string(&mut address);
        let place = match address.trim() {
            "" => String::new(),
            address => format!(" at {}", tame(address)),
        };
        Err(CliFailure::new(format!("a server already answers{place} for this home"))
            .hint("use that one, or end it first"))
    }

    /// Writes down where the server answers, for whoever tries to start a second one.
    pub(super) fn tell_address(&self, url: &str) -> CliResult {
        let mut file = &self.file;
        let written = self.file.set_len(0).and_then(|()| file.write_all(url.as_bytes()));
        written
            .map_err(|error| CliFailure::new("cannot write the server's address").because(&error))
    }
}

impl Drop for ServeClaim {
    fn drop(&mut self) {
        let _ = self.file.set_len(0);
    }
}
