//! Tokens that let programs and people in over the network.
//!
//! The store has a token's hash and never the token. What its rights mean, and what the hash is
//! made of, is not known here. A revoked token's row stays: its number is part of who somebody
//! was, and is given to nobody else.

use crate::sql::{SqlConnection, SqlRow, params};
use recto_context::ContentHash;
use serde_json::Value;

use crate::error::{DbError, RowId, StoreError, StoreResult};
use crate::ids::{Moment, TokenId};
use crate::rows::{self, DbResult};
use crate::store::Store;

/// A token to be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct NewToken {
    /// What people call it.
    pub name: String,
    /// The hash that it is found by.
    pub hash: ContentHash,
    /// What it may do: JSON that the store does not read.
    pub rights: Value,
    /// When it is made.
    pub at: Moment,
    /// When it ends by itself.
    pub expires: Option<Moment>,
}

/// A token as it is stored, without its hash.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredToken {
    /// The number that stays its own.
    pub id: TokenId,
    /// What people call it.
    pub name: String,
    /// What it may do: JSON that the store does not read.
    pub rights: Value,
    /// When it was made.
    pub created: Moment,
    /// When it ends by itself.
    pub expires: Option<Moment>,
    /// When it was last used, about to the minute.
    pub last_used: Option<Moment>,
    /// Since when it is no longer good.
    pub revoked: Option<Moment>,
}

impl StoredToken {
    /// Whether it lets anybody in at this moment.
    pub fn is_valid(&self, at: Moment) -> bool {
        self.revoked.is_none() && self.expires.is_none_or(|expires| at < expires)
    }
}

impl Store {
    /// Keeps a new token. No two that are not revoked have one name.
    pub async fn create_token(&self, new: NewToken) -> StoreResult<StoredToken> {
        self.write(move |db| insert(db, &new)).await
    }

    /// All tokens, revoked ones as well, oldest first.
    pub async fn tokens(&self) -> StoreResult<Vec<StoredToken>> {
        self.read(|db| db.all("SELECT * FROM tokens ORDER BY id", [], read)).await
    }

    /// A token by its number.
    pub async fn token(&self, id: TokenId) -> StoreResult<Option<StoredToken>> {
        self.read(move |db| find(db, id)).await
    }

    /// The token with this hash, whether it is still good or not.
    pub async fn find_token(&self, hash: ContentHash) -> StoreResult<Option<StoredToken>> {
        self.read(move |db| {
            db.first("SELECT * FROM tokens WHERE hash = ?1", [hash.as_bytes()], read)
        })
        .await
    }

    /// Revokes a token for good. One that is revoked stays so since when it was.
    pub async fn revoke_token(&self, id: TokenId, at: Moment) -> StoreResult<StoredToken> {
        self.write(move |db| {
            let sql = "UPDATE tokens SET revoked = coalesce(revoked, ?2) WHERE id = ?1";
            db.execute(sql, [id.0, at.microseconds()])?;
            find(db, id)?.ok_or_else(|| StoreError::NotFound(RowId::Token(id)).into())
        })
        .await
    }

    /// Notes that a token was used.
    pub async fn note_token_use(&self, id: TokenId, at: Moment) -> StoreResult<()> {
        self.write(move |db| {
            let sql = "UPDATE tokens SET last_used = ?2 WHERE id = ?1";
            db.execute(sql, [id.0, at.microseconds()]).map(drop)
        })
        .await
    }
}

fn insert(db: &SqlConnection, new: &NewToken) -> DbResult<StoredToken> {
    let NewToken { name, hash, rights, at, expires } = new;
    let sql = "INSERT INTO tokens (name, hash, rights, created, expires)
               VALUES (?1, ?2, ?3, ?4, ?5)";
    let values = params![
        name,
        hash.as_bytes(),
        rows::to_json(rights)?,
        at.microseconds(),
        expires.map(Moment::microseconds)
    ];
    let id = db.insert(sql, values).map_err(|error| match error.is_duplicate() {
        true => StoreError::TokenNameTaken { name: name.clone() }.into(),
        false => error,
    })?;
    let id = TokenId(id);
    find(db, id)?.ok_or_else(|| DbError::from(StoreError::NotFound(RowId::Token(id))))
}

fn find(db: &SqlConnection, id: TokenId) -> DbResult<Option<StoredToken>> {
    db.first("SELECT * FROM tokens WHERE id = ?1", [id.0], read)
}

fn read(row: &SqlRow<'_>) -> DbResult<StoredToken> {
    Ok(StoredToken {
        id: TokenId(row.get("id")?),
        name: row.get("name")?,
        rights: rows::json(row, "rights")?,
        created: rows::moment(row, "created")?,
        expires: rows::optional_moment(row, "expires")?,
        last_used: rows::optional_moment(row, "last_used")?,
        revoked: rows::optional_moment(row, "revoked")?,
    })
}
