//! The cache of what is known of a server between runs: its tools, how it speaks, and why it
//! could not be reached last.
//!
//! So a turn can offer the tools of servers that are not running. A file that
//! can't be read, or that is about a server set up otherwise, is no memory.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use recto_context::ContentHash;
use recto_fs::{Access, create_private_folder, write_whole};
use serde::{Deserialize, Serialize};

use super::error::ServerProblem;
use super::listing::ServerListing;
use super::names::file_stem;
use crate::options::{ServerOptions, ServerTransport};

/// The largest file that is read.
const MAX_FILE: u64 = 32 * 1024 * 1024;

/// Changes when the form of the file does, or what may stand in it.
const VERSION: u32 = 2;

/// The tools and the protocol of a server, as it told them last.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct ServerSnapshot {
    /// Its tools, where it told them.
    pub(super) listing: Option<ServerListing>,
    /// The version of the protocol that was spoken last.
    pub(super) protocol: Option<String>,
    /// Whether it leaves `server/discover` without an answer, so that it is not asked again.
    #[serde(default)]
    pub(super) silent: bool,
    /// How the last try to reach it failed, unless it went well.
    #[serde(default)]
    pub(super) failure: Option<CachedFailure>,
}

/// A try to reach a server that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct CachedFailure {
    pub(super) at: SystemTime,
    pub(super) problem: ServerProblem,
}

#[derive(Serialize, Deserialize)]
struct CachedServer {
    version: u32,
    identity: String,
    known: ServerSnapshot,
}

/// The file that keeps what is known of a server.
#[derive(Debug)]
pub(super) struct ServerCache {
    path: Option<PathBuf>,
    identity: ContentHash,
}

impl ServerCache {
    /// Names the cache file of a server in this folder; without a folder nothing is kept.
    pub(super) fn new(folder: Option<&Path>, server: &ServerOptions) -> Self {
        let stem = file_stem(&server.name);
        let hash = ContentHash::of_bytes(server.name.as_bytes()).to_string();
        let name = format!("{stem}-{}.json", &hash[..8]);
        ServerCache { path: folder.map(|folder| folder.join(name)), identity: identity(server) }
    }

    /// The hash of all that decides which server it is, and with what rights.
    pub(super) fn identity(&self) -> ContentHash {
        self.identity
    }

    pub(super) fn load(&self) -> ServerSnapshot {
        self.path.as_deref().and_then(|path| self.read(path).ok().flatten()).unwrap_or_default()
    }

    fn read(&self, path: &Path) -> io::Result<Option<ServerSnapshot>> {
        let mut text = Vec::new();
        File::open(path)?.take(MAX_FILE).read_to_end(&mut text)?;
        let cached: CachedServer = serde_json::from_slice(&text)?;
        let is_ours = cached.version == VERSION && cached.identity == self.identity.to_string();
        Ok(is_ours.then_some(cached.known))
    }

    /// Keeps it. What can't be kept is found out anew by the next run.
    pub(super) fn save(&self, known: &ServerSnapshot) -> io::Result<()> {
        let Some((path, folder)) =
            self.path.as_deref().and_then(|path| Some((path, path.parent()?)))
        else {
            return Ok(());
        };
        create_private_folder(folder)?;
        let identity = self.identity.to_string();
        let cached = CachedServer { version: VERSION, identity, known: known.clone() };
        // Such a file is its owner's alone, and appears as a whole or not at all.
        write_whole(path, &serde_json::to_vec(&cached)?, Access::Owner)
    }
}

/// Values of variables, keys and the like are in it as part of a hash only.
fn identity(server: &ServerOptions) -> ContentHash {
    let text = match &server.transport {
        ServerTransport::Stdio { program, arguments, environment, working_dir, sandbox } => {
            let rights = sandbox.as_ref().map(|it| (&it.read, &it.write, it.network));
            format!("{:?}", (program, arguments, environment, working_dir, rights))
        }
        ServerTransport::Http { url, key } => {
            format!("{:?}", (url, key.as_ref().map(|key| key.reveal())))
        }
    };
    ContentHash::of_bytes(format!("{:?} {text}", server.name).as_bytes())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;
    use crate::options::{NetworkAccess, ServerIncludes, ServerKey, ServerSandbox};

    fn server(name: &str, transport: ServerTransport) -> ServerOptions {
        ServerOptions {
            name: name.to_owned(),
            transport,
            includes: ServerIncludes::default(),
            disabled_tools: Vec::new(),
            start_limit: Duration::from_secs(1),
            time_limit: Duration::from_secs(1),
        }
    }

    fn stdio(token: &str) -> ServerTransport {
        ServerTransport::Stdio {
            program: "a".to_owned(),
            arguments: vec!["b".to_owned()],
            environment: vec![("TOKEN".to_owned(), token.to_owned())],
            working_dir: None,
            sandbox: None,
        }
    }

    /// Promise: `trust-follows-content`
    #[test]
    fn other_rights_in_the_sandbox_make_another_server() {
        let granted = |change: fn(&mut ServerSandbox)| {
            let mut rights = ServerSandbox::default();
            change(&mut rights);
            let mut transport = stdio("x");
            if let ServerTransport::Stdio { sandbox, .. } = &mut transport {
                *sandbox = Some(rights);
            }
            identity(&server("a", transport))
        };
        let identities = [
            identity(&server("a", stdio("x"))),
            granted(|_| ()),
            granted(|rights| rights.read.push("/a".into())),
            granted(|rights| rights.write.push("/a".into())),
            granted(|rights| rights.network = NetworkAccess::Granted),
        ];
        for (at, identity) in identities.iter().enumerate() {
            assert!(!identities[at + 1..].contains(identity), "{at}");
        }
        // What Recto adds by itself is no right of the server.
        assert_eq!(granted(|rights| rights.locks.push("/a".into())), identities[1]);
    }

    fn known() -> ServerSnapshot {
        let listing = Some(ServerListing::default());
        let problem = ServerProblem::Slow { limit: Duration::from_millis(1_500), unread: None };
        let failure = Some(CachedFailure { at: SystemTime::now(), problem });
        ServerSnapshot { listing, protocol: Some("2025-11-25".to_owned()), silent: true, failure }
    }

    #[cfg(unix)]
    #[test]
    fn the_folder_is_its_owners() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("cache/mcp");
        ServerCache::new(Some(cache.as_path()), &server("a", stdio("x"))).save(&known()).unwrap();
        for made in [cache.as_path(), cache.parent().unwrap()] {
            assert_eq!(fs::metadata(made).unwrap().permissions().mode() & 0o777, 0o700);
        }
    }

    #[test]
    fn what_is_kept_comes_back_for_the_same_server_only() {
        let folder = tempfile::tempdir().unwrap();
        let (at, known) = (Some(folder.path()), known());
        ServerCache::new(at, &server("a", stdio("first-value"))).save(&known).unwrap();
        assert_eq!(ServerCache::new(at, &server("a", stdio("first-value"))).load(), known);
        assert_eq!(
            ServerCache::new(at, &server("a", stdio("other"))).load(),
            ServerSnapshot::default()
        );
        assert_eq!(
            ServerCache::new(at, &server("b", stdio("first-value"))).load(),
            ServerSnapshot::default()
        );
        assert_eq!(
            ServerCache::new(None, &server("a", stdio("first-value"))).load(),
            ServerSnapshot::default()
        );

        let file = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        assert!(!fs::read_to_string(&file).unwrap().contains("first-value"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        }
        fs::write(&file, "{").unwrap();
        assert_eq!(
            ServerCache::new(at, &server("a", stdio("first-value"))).load(),
            ServerSnapshot::default()
        );
    }

    #[test]
    fn another_key_is_another_server() {
        let http = |key: &str| ServerTransport::Http {
            url: "http://localhost/mcp".to_owned(),
            key: Some(ServerKey::new(key)),
        };
        let identity = |key| ServerCache::new(None, &server("a", http(key))).identity();
        assert_ne!(identity("a"), identity("b"));
        assert_eq!(identity("a"), identity("a"));
    }
}
