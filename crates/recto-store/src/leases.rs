//! What one process at a time may do over all that use the store, such as reading what the bot of a
//! chat is sent.
//!
//! A lease has a name and an owner, and is the owner's for as long as that one lives (`owner.rs`): nothing has to be
//! put off for each of them. Whoever writes in its name has the lease looked at in the same transaction,
//! so that one who was silent for too long can't write over what its successor has done.

use crate::error::{StoreError, StoreResult};
use crate::owner::{OwnerId, OwnerRegistry, TurnOwner};
use crate::rows::DbResult;
use crate::sql::{SqlConnection, params};
use crate::store::Store;

/// What became of the wish to have a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseOutcome {
    /// It is this process's.
    Held,
    /// Another process has it, and lives.
    Elsewhere,
}

impl Store {
    /// Takes a lease, unless a process that lives has it.
    pub async fn take_lease(&self, name: &str) -> StoreResult<LeaseOutcome> {
        let (owners, name) = (self.owners(), name.to_owned());
        // Who stands by looks again and again, and has nothing to write as long as it does.
        let (looking, looked) = (owners.clone(), name.clone());
        match self.read(move |db| find_holder(db, &looking, &looked)).await? {
            Some(TurnOwner::Here) => return Ok(LeaseOutcome::Held),
            Some(TurnOwner::Elsewhere) => return Ok(LeaseOutcome::Elsewhere),
            Some(TurnOwner::Gone) | None => {}
        }
        self.write(move |db| {
            if find_holder(db, &owners, &name)? == Some(TurnOwner::Elsewhere) {
                return Ok(LeaseOutcome::Elsewhere);
            }
            let sql = "INSERT INTO leases (name, owner) VALUES (?1, ?2)
                       ON CONFLICT (name) DO UPDATE SET owner = excluded.owner";
            db.execute(sql, params![name, owners.own().0])?;
            Ok(LeaseOutcome::Held)
        })
        .await
    }

    /// Gives a lease back, if it is this process's.
    pub async fn release_lease(&self, name: &str) -> StoreResult<()> {
        let (owners, name) = (self.owners(), name.to_owned());
        self.write(move |db| {
            let sql = "DELETE FROM leases WHERE name = ?1 AND owner = ?2";
            db.execute(sql, params![name, owners.own().0]).map(drop)
        })
        .await
    }
}

/// Passes while no other process has the lease. What nobody has taken is nobody else's.
pub(crate) fn must_not_be_lost(
    db: &SqlConnection,
    owners: &OwnerRegistry,
    name: &str,
) -> DbResult<()> {
    match owner_of(db, name)? {
        Some(owner) if owner != owners.own() => {
            Err(StoreError::LostLease { name: name.to_owned() }.into())
        }
        _ => Ok(()),
    }
}

fn find_holder(
    db: &SqlConnection,
    owners: &OwnerRegistry,
    name: &str,
) -> DbResult<Option<TurnOwner>> {
    owner_of(db, name)?.map(|owner| owners.look_up(db, owner)).transpose()
}

fn owner_of(db: &SqlConnection, name: &str) -> DbResult<Option<OwnerId>> {
    let sql = "SELECT owner FROM leases WHERE name = ?1";
    db.first(sql, [name], |row| Ok(OwnerId(row.get("owner")?)))
}
