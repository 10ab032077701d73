//! Which items were used for which message: a row for each turn and item, written in the
//! transaction that ends the turn, and gone with its session.
//!
//! What counts as a use is for the caller to say. Neither texts nor people are kept here: both
//! are read where they stand, so that what was taken back, redacted or deleted speaks for nothing.

use std::collections::BTreeSet;

use recto_context::{ItemId, MessageId, TurnNumber};
use serde_json::Value;

use crate::error::StoreResult;
use crate::holder::SessionHolder;
use crate::ids::{Moment, SessionId, TurnId};
use crate::rows::{self, DbResult};
use crate::sql::{SqlConnection, SqlRow, params};
use crate::store::Store;

/// The items that a turn used.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UsedItems {
    /// Those that did something: a tool that was called with success, an item that was read.
    pub used: BTreeSet<ItemId>,
    /// Those that stand on its page because a person added them. That counts for the first
    /// message behind it: for which of the later ones the item is still wanted, nobody said.
    pub added: BTreeSet<ItemId>,
}

/// A message for which items were used.
#[derive(Debug, Clone, PartialEq)]
pub struct UsedTurn {
    /// The turn that answered it.
    pub turn: TurnId,
    /// The session that it was said in.
    pub session: SessionId,
    /// The number of the turn within that, from 1.
    pub number: TurnNumber,
    /// Before whom that is held.
    pub holder: SessionHolder,
    /// Who said it: JSON that the store does not read.
    pub actor: Value,
    /// When it came in.
    pub at: Moment,
    /// The message itself.
    pub message: MessageId,
    /// What was used for it, in the order of their identities as they are stored.
    pub items: Vec<ItemId>,
}

/// A state of all uses: as long as it is the same, so are they.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UsesRevision {
    rows: i64,
    last: i64,
    retractions: i64,
}

impl Store {
    /// Which state all uses are in.
    pub async fn uses_revision(&self) -> StoreResult<UsesRevision> {
        self.read(|db| {
            Ok(UsesRevision {
                rows: db.only("SELECT count(*) FROM item_uses", [])?,
                last: db.only("SELECT coalesce(max(turn), 0) FROM item_uses", [])?,
                retractions: db.only("SELECT count(*) FROM retractions", [])?,
            })
        })
        .await
    }

    /// The messages of an agent for which items were used, the newest first: of the last `most`
    /// uses. Those that were taken back are not among them, nor are the tasks of sub-agents.
    pub async fn used_turns(&self, agent: &str, most: u32) -> StoreResult<Vec<UsedTurn>> {
        let agent = agent.to_owned();
        self.read(move |db| used_turns(db, &agent, most)).await
    }
}

/// Records what a turn that ends now has used.
pub(crate) fn record(db: &SqlConnection, turn: TurnId, items: &UsedItems) -> DbResult<()> {
    let UsedItems { used, added } = items;
    if used.is_empty() && added.is_empty() {
        return Ok(());
    }
    let turn = first_of(db, turn)?;
    let is_known = "SELECT 1 FROM item_uses JOIN turns ON turns.id = item_uses.turn
                    WHERE item_uses.item = ?2
                        AND turns.session = (SELECT session FROM turns WHERE id = ?1)";
    let insert =
        "INSERT INTO item_uses (turn, item) VALUES (?1, ?2) ON CONFLICT (turn, item) DO NOTHING";
    for item in added {
        let item = rows::to_json(item)?;
        if !db.exists(is_known, params![turn.0, item])? {
            db.execute(insert, params![turn.0, item])?;
        }
    }
    for item in used {
        db.execute(insert, params![turn.0, rows::to_json(item)?])?;
    }
    Ok(())
}

/// The turn whose message a turn answers: that with which it goes on, if it does.
fn first_of(db: &SqlConnection, turn: TurnId) -> DbResult<TurnId> {
    let mut first = turn;
    let sql = "SELECT continues FROM turns WHERE id = ?1";
    // A turn goes on with an earlier one, so this ends.
    while let Some(before) =
        db.first(sql, [first.0], |row| row.get::<_, Option<i64>>("continues"))?.flatten()
        && before < first.0
    {
        first = TurnId(before);
    }
    Ok(first)
}

fn used_turns(db: &SqlConnection, agent: &str, most: u32) -> DbResult<Vec<UsedTurn>> {
    let sql = "SELECT item_uses.turn, item_uses.item, turns.session, turns.number, turns.actor, turns.accepted,
                      turns.first_message, sessions.holder
               FROM item_uses JOIN turns ON turns.id = item_uses.turn
                    JOIN sessions ON sessions.id = turns.session
               WHERE sessions.agent = ?1 AND turns.first_message IS NOT NULL
                   AND NOT EXISTS (SELECT 1 FROM retractions WHERE retractions.turn = turns.id)
                   AND NOT EXISTS (SELECT 1 FROM delegations
                                   WHERE delegations.session = turns.session)
               ORDER BY item_uses.turn DESC, item_uses.item LIMIT ?2";
    let mut turns: Vec<UsedTurn> = Vec::new();
    db.all(sql, params![agent, i64::from(most)], |row| {
        let Some((turn, item)) = rows::unless_damaged(read_row(row).map(Some))? else {
            return Ok(());
        };
        match turns.last_mut() {
            Some(last) if last.turn == turn.turn => last.items.push(item),
            _ => turns.push(UsedTurn { items: vec![item], ..turn }),
        }
        Ok(())
    })?;
    Ok(turns)
}

fn read_row(row: &SqlRow<'_>) -> DbResult<(UsedTurn, ItemId)> {
    let turn = UsedTurn {
        turn: TurnId(row.get("turn")?),
        session: SessionId(row.get("session")?),
        number: rows::turn_number(row, "number")?,
        holder: SessionHolder::from_column(row.get("holder")?),
        actor: rows::json(row, "actor")?,
        at: rows::moment(row, "accepted")?,
        message: rows::message_id(row, "first_message")?.unwrap_or_default(),
        items: Vec::new(),
    };
    Ok((turn, rows::json(row, "item")?))
}
