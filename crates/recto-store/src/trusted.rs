//! What the declarations and scripts of skills were when a person last looked at
//! them. What a hash stands for is not known here.

use recto_context::ContentHash;
use rusqlite::params;

use crate::error::StoreResult;
use crate::ids::Moment;
use crate::rows;
use crate::store::Store;

/// Whether a hash takes the place of one that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustUpdate {
    /// The folder is seen for the first time; what is known of it stays.
    First,
    /// A person has looked at what changed.
    Again,
}

impl Store {
    /// All folders that an agent has seen, with what they were.
    pub async fn trusted(&self, agent: &str) -> StoreResult<Vec<(String, ContentHash)>> {
        let agent = agent.to_owned();
        self.read(move |db| {
            let sql = "SELECT folder, hash FROM trusted WHERE agent = ?1 ORDER BY folder";
            rows::all(db, sql, [&agent], |row| {
                Ok((row.get("folder")?, ContentHash::from_bytes(row.get("hash")?)))
            })
        })
        .await
    }

    /// Remembers what folders are.
    pub async fn trust(
        &self,
        agent: &str,
        folders: Vec<(String, ContentHash)>,
        update: TrustUpdate,
        at: Moment,
    ) -> StoreResult<()> {
        let agent = agent.to_owned();
        self.write(move |db| {
            let known = match update {
                TrustUpdate::First => "IGNORE",
                TrustUpdate::Again => "REPLACE",
            };
            let mut insert = db.prepare_cached(&format!(
                "INSERT OR {known} INTO trusted (agent, folder, hash, at) VALUES (?1, ?2, ?3, ?4)"
            ))?;
            for (folder, hash) in &folders {
                insert.execute(params![agent, folder, hash.as_bytes(), at.microseconds()])?;
            }
            Ok(())
        })
        .await
    }
}
