//! What the declarations and scripts of skills were when a person last looked at
//! them. What a hash stands for is not known here.

use crate::sql::params;
use recto_context::ContentHash;

use crate::error::StoreResult;
use crate::ids::Moment;
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
            db.all(sql, [&agent], |row| {
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
            let sql = match update {
                TrustUpdate::First => {
                    "INSERT INTO trusted (agent, folder, hash, at) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT (agent, folder) DO NOTHING"
                }
                TrustUpdate::Again => {
                    "INSERT INTO trusted (agent, folder, hash, at) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT (agent, folder)
                     DO UPDATE SET hash = excluded.hash, at = excluded.at"
                }
            };
            for (folder, hash) in &folders {
                db.execute(sql, params![agent, folder, hash.as_bytes(), at.microseconds()])?;
            }
            Ok(())
        })
        .await
    }
}
