//! People and groups of chat services who asked to be let in, and those who were.
//!
//! Whoever is not known gets a code, which the owner confirms. How long a code is good, how many
//! wait at once and how often wrong codes may be tried is decided in the transactions here.

use std::collections::{BTreeMap, BTreeSet};

use crate::sql::{SqlConnection, SqlRow, params};
use recto_context::AudienceKind;
use serde::{Deserialize, Serialize};

use crate::channel_deliveries::{self, NewChannelDelivery};
use crate::channel_updates::ChannelAccount;
use crate::error::{DbError, RowId, StoreError, StoreResult};
use crate::ids::{Moment, PairingId};
use crate::rows::{self, DbResult};
use crate::store::Store;

/// How many may wait at once to be let in by one bot.
const MOST_WAITING: usize = 5;

/// Who has waited for so many minutes makes room for somebody else, where as many wait as may. So a
/// few strangers can't keep everybody else out for good, and whoever gets a code has the time to tell
/// it.
pub const PAIRING_ROOM_MINUTES: u32 = 10;

/// The same in microseconds.
const ROOM_SPAN: i64 = PAIRING_ROOM_MINUTES as i64 * 60_000_000;

/// How many codes that are none may be tried within [`GUESS_SPAN`].
const MOST_GUESSES: i64 = 10;

/// An hour, in microseconds: how long a code is good, and a wrong guess counts.
const GUESS_SPAN: i64 = 3_600_000_000;

/// A day, in microseconds: for how long who was refused gets no other code.
const REFUSAL_SPAN: i64 = 24 * GUESS_SPAN;

/// Whether a person or a group is to be let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairingSubject {
    /// A person, in private.
    Person,
    /// A conversation of several people.
    Group,
}

/// What somebody who was let in is to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairedStanding {
    /// The agent's owner.
    Owner,
    /// A person with sessions of their own.
    Guest,
    /// A group.
    Group,
}

/// A wish to be let in.
#[derive(Debug, Clone, PartialEq)]
pub struct NewPairing {
    /// Whether a person or a group wants in.
    pub kind: PairingSubject,
    /// The service's own id of the person or the group.
    pub subject: String,
    /// The name that is shown.
    pub name: String,
    /// The code that lets them in once the owner has said it.
    pub code: String,
    /// What they asked with, by its key: who deals with the same again gets the same answer.
    pub request: String,
    /// What they are told once they are let in.
    pub welcome: NewChannelDelivery,
    /// When it was asked for.
    pub at: Moment,
}

/// What became of a wish to be let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PairingRequest {
    /// It waits, with a code that is told now.
    Begun(StoredPairing),
    /// It waits already, and was told its code: now it is told that it waits.
    Reminded(StoredPairing),
    /// It waits already, and was told all that there is to tell.
    Waiting(StoredPairing),
    /// The owner has refused it.
    Refused,
    /// Too many wait already.
    Full,
    /// They are let in.
    LetIn(StoredPairing),
}

/// What the owner lets somebody be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PairingGrant {
    /// The agent's owner, or a group where it is one.
    Owner,
    /// Somebody with sessions of their own, under this id of a person where one is given.
    Guest(Option<String>),
}

/// Somebody who asked to be let in, or was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoredPairing {
    /// The number by which people name it.
    pub id: PairingId,
    /// The service.
    pub channel: String,
    /// The bot there.
    pub account: String,
    /// Whether it is a person or a group.
    pub kind: PairingSubject,
    /// The service's own id of the person or the group.
    pub subject: String,
    /// The name that was shown when they asked.
    pub name: String,
    /// The conversation in which they asked.
    #[serde(skip)]
    pub conversation: Option<String>,
    /// The code, while they wait.
    #[serde(skip)]
    pub code: Option<String>,
    /// When they asked.
    pub requested: Moment,
    /// When their code ends.
    pub expires: Moment,
    /// Since when they are let in.
    pub approved: Option<Moment>,
    /// What they are to the agent, once they are let in.
    pub standing: Option<PairedStanding>,
    /// The id of the person, once they are let in.
    pub person: Option<String>,
    /// Since when they are no longer let in.
    pub revoked: Option<Moment>,
}

/// What somebody was to the agent, and is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingChange {
    /// As they were.
    pub before: StoredPairing,
    /// As they are.
    pub now: StoredPairing,
}

impl StandingChange {
    /// Whether what was begun for whom they were is not theirs to read any more.
    pub fn is_lowered(&self) -> bool {
        let StandingChange { before, now } = self;
        let is_same = (before.standing, &before.person) == (now.standing, &now.person);
        before.approved.is_some() && !is_same && now.standing != Some(PairedStanding::Owner)
    }
}

impl StoredPairing {
    /// Whether a conversation is theirs, by its name: the id of a chat, and that of a part of it.
    pub fn has_conversation(&self, name: &str) -> bool {
        let chat = name.split_once('/').map_or(name, |(chat, _)| chat);
        // In private some services have one id for a person and their chat, and others have two.
        chat == self.subject || self.conversation.as_deref() == Some(name)
    }

    /// The bot that they wrote to.
    pub fn bot(&self) -> ChannelAccount {
        ChannelAccount { channel: self.channel.clone(), account: self.account.clone() }
    }

    /// Whether they can be let in.
    fn is_waiting(&self, now: Moment) -> bool {
        self.approved.is_none() && self.revoked.is_none() && self.expires > now
    }

    /// What they are, for people.
    pub fn describe(&self) -> String {
        match (self.revoked.is_some(), self.standing, self.kind) {
            (true, None, _) => "refused".to_owned(),
            (true, Some(_), _) => "put out".to_owned(),
            (false, Some(PairedStanding::Owner), _) => "the owner".to_owned(),
            (false, Some(PairedStanding::Group), _) => "a group".to_owned(),
            (false, Some(PairedStanding::Guest), _) => match &self.person {
                Some(person) => format!("person {person}"),
                None => "a person".to_owned(),
            },
            (false, None, PairingSubject::Person) => "a person who waits".to_owned(),
            (false, None, PairingSubject::Group) => "a group that waits".to_owned(),
        }
    }
}

/// The bots at which as many wait to be let in as may, of those who are known now.
pub fn full_bots(pairings: &[StoredPairing]) -> BTreeSet<ChannelAccount> {
    let is_waiting = |it: &&StoredPairing| it.approved.is_none() && it.revoked.is_none();
    let mut waiting: BTreeMap<ChannelAccount, usize> = BTreeMap::new();
    for pairing in pairings.iter().filter(is_waiting) {
        *waiting.entry(pairing.bot()).or_default() += 1;
    }
    let full = waiting.into_iter().filter(|(_, waiting)| *waiting >= MOST_WAITING);
    full.map(|(bot, _)| bot).collect()
}

/// When somebody else gets a code at a bot where as many wait as may, for people.
pub fn describe_pairing_room() -> String {
    format!(
        "nobody else gets a code until one of them is let in, is refused, or has waited for \
         {PAIRING_ROOM_MINUTES} minutes"
    )
}

impl Store {
    /// Keeps a wish to be let in, unless too many wait. Each has one code at a time.
    pub async fn request_pairing(
        &self,
        account: &ChannelAccount,
        new: NewPairing,
    ) -> StoreResult<PairingRequest> {
        let account = account.clone();
        self.write(move |db| request(db, &account, &new)).await
    }

    /// The one who is let in by this id.
    pub async fn find_paired(
        &self,
        account: &ChannelAccount,
        subject: &str,
    ) -> StoreResult<Option<StoredPairing>> {
        let (account, subject) = (account.clone(), subject.to_owned());
        self.read(move |db| {
            Ok(find(db, &account, &subject)?.filter(|pairing| pairing.approved.is_some()))
        })
        .await
    }

    /// All who wait, are let in or once were; oldest first.
    pub async fn pairings(&self, now: Moment) -> StoreResult<Vec<StoredPairing>> {
        self.read(move |db| {
            let sql = "SELECT * FROM pairings WHERE approved IS NOT NULL OR expires > ?1
                       ORDER BY id";
            db.all(sql, [now.microseconds()], read)
        })
        .await
    }

    /// Lets in whoever has this code. A code that is none counts as a guess, and after too many
    /// of those none is taken for an hour.
    pub async fn approve_pairing(
        &self,
        code: &str,
        grant: PairingGrant,
        at: Moment,
    ) -> StoreResult<StoredPairing> {
        let code = code.trim().to_uppercase();
        let tried = code.clone();
        let approved = self.write(move |db| approve(db, &tried, &grant, at)).await?;
        // Not within the transaction: that a guess was wrong must stay.
        approved.ok_or(StoreError::NoSuchCode { code })
    }

    /// Lets in whoever waits under this number, or makes something else of who is let in. Only for
    /// those who see the list. What was still to be said to whom they were is said no more.
    pub async fn approve_pairing_by_number(
        &self,
        id: PairingId,
        grant: PairingGrant,
        at: Moment,
    ) -> StoreResult<StandingChange> {
        self.write(move |db| {
            let before = must_exist(db, id)?;
            let is_let_in = before.approved.is_some() && before.revoked.is_none();
            let now = match (&grant, before.kind) {
                _ if before.is_waiting(at) => let_in(db, &before, &grant, at)?,
                (PairingGrant::Owner | PairingGrant::Guest(Some(_)), PairingSubject::Person)
                    if is_let_in =>
                {
                    set_standing(db, &before, &grant, before.approved.unwrap_or(at))?
                }
                _ => return Err(StoreError::NotWaiting { pairing: id }.into()),
            };
            let change = StandingChange { before, now };
            if change.is_lowered() {
                withdraw_deliveries(db, &change.now, at)?;
            }
            Ok(change)
        })
        .await
    }

    /// Lets somebody in no longer, or refuses who waits. What was still to be said to them is
    /// said no more.
    pub async fn revoke_pairing(&self, id: PairingId, at: Moment) -> StoreResult<StoredPairing> {
        self.write(move |db| {
            let sql = "UPDATE pairings SET revoked = coalesce(revoked, ?2), code = NULL
                       WHERE id = ?1";
            db.execute(sql, [id.0, at.microseconds()])?;
            let revoked = must_exist(db, id)?;
            withdraw_deliveries(db, &revoked, at)?;
            Ok(revoked)
        })
        .await
    }

    /// Whether those in a conversation were let in once and are not any more.
    pub async fn is_put_out(
        &self,
        account: &ChannelAccount,
        conversation: &str,
    ) -> StoreResult<bool> {
        let (account, conversation) = (account.clone(), conversation.to_owned());
        self.read(move |db| is_put_out(db, &account, &conversation)).await
    }

    /// Refuses a conversation in which nobody is to read what is made for such readers: they were
    /// put out, or it is for the owner and they are somebody else.
    pub async fn check_readers(
        &self,
        account: &ChannelAccount,
        conversation: &str,
        readers: AudienceKind,
    ) -> StoreResult<()> {
        let (account, conversation) = (account.clone(), conversation.to_owned());
        self.read(move |db| check_readers(db, &account, &conversation, readers)).await
    }

    /// The conversations in which those whom a bot has let in as its owner talk to it alone.
    pub async fn owner_conversations(&self, account: &ChannelAccount) -> StoreResult<Vec<String>> {
        let account = account.clone();
        self.read(move |db| {
            let all = pairings_of_bot(db, &account)?.into_iter();
            let owners = all.filter(|pairing| {
                pairing.revoked.is_none() && pairing.standing == Some(PairedStanding::Owner)
            });
            Ok(owners.filter_map(|pairing| pairing.conversation).collect())
        })
        .await
    }
}

/// Whether those in a conversation were let in once and are not any more. Who was put out and let
/// in again has two rows.
fn is_put_out(db: &SqlConnection, account: &ChannelAccount, conversation: &str) -> DbResult<bool> {
    let all = pairings_of_bot(db, account)?;
    let mut theirs = all.iter().filter(|pairing| pairing.has_conversation(conversation)).peekable();
    Ok(theirs.peek().is_some() && theirs.all(|pairing| pairing.revoked.is_some()))
}

/// See [`Store::check_readers`].
pub(crate) fn check_readers(
    db: &SqlConnection,
    account: &ChannelAccount,
    conversation: &str,
    readers: AudienceKind,
) -> DbResult<()> {
    let place = || (account.channel.clone(), conversation.to_owned());
    if is_put_out(db, account, conversation)? {
        let (channel, chat) = place();
        return Err(StoreError::PutOut { channel, chat }.into());
    }
    let all = pairings_of_bot(db, account)?;
    let is_other = |pairing: &StoredPairing| {
        pairing.revoked.is_none()
            && pairing.has_conversation(conversation)
            && pairing.standing != Some(PairedStanding::Owner)
    };
    match readers == AudienceKind::Owner && all.iter().any(is_other) {
        false => Ok(()),
        true => {
            let (channel, chat) = place();
            Err(StoreError::NotOwner { channel, chat }.into())
        }
    }
}

/// Has nothing more said of what was still to be said to somebody.
fn withdraw_deliveries(db: &SqlConnection, pairing: &StoredPairing, at: Moment) -> DbResult<()> {
    channel_deliveries::withdraw(db, &pairing.bot(), at, |name| pairing.has_conversation(name))?;
    Ok(())
}

/// All who were let in by a bot at some time.
fn pairings_of_bot(db: &SqlConnection, account: &ChannelAccount) -> DbResult<Vec<StoredPairing>> {
    let sql = "SELECT * FROM pairings
               WHERE channel = ?1 AND account = ?2 AND approved IS NOT NULL ORDER BY id";
    db.all(sql, [&account.channel, &account.account], read)
}

fn request(
    db: &SqlConnection,
    account: &ChannelAccount,
    new: &NewPairing,
) -> DbResult<PairingRequest> {
    let now = new.at.microseconds();
    let sql = "DELETE FROM pairings WHERE approved IS NULL
               AND CASE WHEN revoked IS NULL THEN expires <= ?1 ELSE revoked <= ?2 END";
    db.execute(sql, [now, now - REFUSAL_SPAN])?;
    match find(db, account, &new.subject)? {
        Some(known) if known.approved.is_some() => return Ok(PairingRequest::LetIn(known)),
        Some(known) => return answer_again(db, known, &new.request),
        None if was_refused(db, account, &new.subject)? => return Ok(PairingRequest::Refused),
        None => {}
    }
    let sql = "SELECT count(*) AS open FROM pairings WHERE channel = ?1 AND account = ?2
               AND approved IS NULL AND revoked IS NULL";
    let count = |row: &SqlRow<'_>| row.get::<_, i64>("open");
    let open = db.first(sql, [&account.channel, &account.account], count)?.unwrap_or(0);
    if open >= MOST_WAITING as i64 && !make_room(db, account, now)? {
        return Ok(PairingRequest::Full);
    }
    let sql = "INSERT INTO pairings
               (channel, account, subject, kind, name, code, requested, expires, request, welcome)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    let values = params![
        account.channel,
        account.account,
        new.subject,
        rows::to_json(&new.kind)?,
        new.name,
        new.code,
        now,
        now + GUESS_SPAN,
        new.request,
        rows::to_json(&new.welcome)?
    ];
    let id = PairingId(db.insert(sql, values)?);
    Ok(PairingRequest::Begun(must_exist(db, id)?))
}

/// Gives up the wish of whoever has waited longest, if that is long enough: whether it has.
fn make_room(db: &SqlConnection, account: &ChannelAccount, now: i64) -> DbResult<bool> {
    let sql = "DELETE FROM pairings WHERE id = (
                   SELECT id FROM pairings WHERE channel = ?1 AND account = ?2
                   AND approved IS NULL AND revoked IS NULL AND requested <= ?3
                   ORDER BY requested, id LIMIT 1)";
    let ChannelAccount { channel, account } = account;
    Ok(db.execute(sql, params![channel, account, now - ROOM_SPAN])? > 0)
}

/// What somebody hears who waits already: once that they wait. What was asked before has the same
/// answer as then, because that may not have been said.
fn answer_again(
    db: &SqlConnection,
    known: StoredPairing,
    request: &str,
) -> DbResult<PairingRequest> {
    let sql = "SELECT request, reminder FROM pairings WHERE id = ?1";
    let heard = db.first(sql, [known.id.0], |row| {
        Ok((row.get::<_, Option<String>>("request")?, row.get::<_, Option<String>>("reminder")?))
    })?;
    let (first, reminder) = heard.unwrap_or_default();
    if first.as_deref() == Some(request) {
        return Ok(PairingRequest::Begun(known));
    }
    match reminder {
        Some(reminder) if reminder != request => Ok(PairingRequest::Waiting(known)),
        _ => {
            let sql = "UPDATE pairings SET reminder = ?2 WHERE id = ?1";
            db.execute(sql, params![known.id.0, request])?;
            Ok(PairingRequest::Reminded(known))
        }
    }
}

/// Whether somebody was refused while they waited, not long ago.
fn was_refused(db: &SqlConnection, account: &ChannelAccount, subject: &str) -> DbResult<bool> {
    let sql = "SELECT id FROM pairings WHERE channel = ?1 AND account = ?2 AND subject = ?3
               AND approved IS NULL AND revoked IS NOT NULL";
    let values = [account.channel.as_str(), account.account.as_str(), subject];
    Ok(db.first(sql, values, |row| row.get::<_, i64>("id"))?.is_some())
}

/// `None` where nobody has the code.
fn approve(
    db: &SqlConnection,
    code: &str,
    grant: &PairingGrant,
    at: Moment,
) -> DbResult<Option<StoredPairing>> {
    let now = at.microseconds();
    db.execute("DELETE FROM pairing_guesses WHERE at <= ?1", [now - GUESS_SPAN])?;
    let guesses = db.first("SELECT count(*) AS made FROM pairing_guesses", [], |row| {
        row.get::<_, i64>("made")
    })?;
    if guesses.unwrap_or(0) >= MOST_GUESSES {
        return Err(StoreError::TooManyGuesses.into());
    }
    let sql = "SELECT * FROM pairings WHERE code = ?1 AND expires > ?2 AND revoked IS NULL";
    let Some(waiting) = db.first(sql, params![code, now], read)? else {
        db.execute("INSERT INTO pairing_guesses (at) VALUES (?1)", [now])?;
        return Ok(None);
    };
    let_in(db, &waiting, grant, at).map(Some)
}

/// Lets in somebody who waits, and has them told.
fn let_in(
    db: &SqlConnection,
    waiting: &StoredPairing,
    grant: &PairingGrant,
    at: Moment,
) -> DbResult<StoredPairing> {
    let sql = "SELECT welcome FROM pairings WHERE id = ?1";
    let welcome: Option<Option<NewChannelDelivery>> =
        db.first(sql, [waiting.id.0], |row| rows::optional_json(row, "welcome"))?;
    if let Some(welcome) = welcome.flatten() {
        channel_deliveries::insert(db, &waiting.bot(), &welcome, at)?;
    }
    set_standing(db, waiting, grant, at)
}

/// Says what somebody is to the agent, since when.
fn set_standing(
    db: &SqlConnection,
    waiting: &StoredPairing,
    grant: &PairingGrant,
    at: Moment,
) -> DbResult<StoredPairing> {
    let (standing, person) = match (waiting.kind, grant) {
        (PairingSubject::Group, _) => (PairedStanding::Group, None),
        (PairingSubject::Person, PairingGrant::Owner) => (PairedStanding::Owner, None),
        (PairingSubject::Person, PairingGrant::Guest(person)) => {
            let own = || format!("{}-{}", waiting.channel, waiting.subject);
            (PairedStanding::Guest, Some(person.clone().unwrap_or_else(own)))
        }
    };
    let sql = "UPDATE pairings SET approved = ?2, code = NULL, standing = ?3, person = ?4
               WHERE id = ?1";
    let values = params![waiting.id.0, at.microseconds(), rows::to_json(&standing)?, person];
    db.execute(sql, values)?;
    must_exist(db, waiting.id)
}

fn find(
    db: &SqlConnection,
    account: &ChannelAccount,
    subject: &str,
) -> DbResult<Option<StoredPairing>> {
    let sql = "SELECT * FROM pairings
               WHERE channel = ?1 AND account = ?2 AND subject = ?3 AND revoked IS NULL";
    db.first(sql, [account.channel.as_str(), account.account.as_str(), subject], read)
}

fn must_exist(db: &SqlConnection, id: PairingId) -> DbResult<StoredPairing> {
    let found = db.first("SELECT * FROM pairings WHERE id = ?1", [id.0], read)?;
    found.ok_or_else(|| DbError::from(StoreError::NotFound(RowId::Pairing(id))))
}

fn read(row: &SqlRow<'_>) -> DbResult<StoredPairing> {
    Ok(StoredPairing {
        id: PairingId(row.get("id")?),
        channel: row.get("channel")?,
        account: row.get("account")?,
        kind: rows::json(row, "kind")?,
        subject: row.get("subject")?,
        name: row.get("name")?,
        conversation: rows::optional_json::<NewChannelDelivery>(row, "welcome")?
            .map(|welcome| welcome.conversation),
        code: row.get("code")?,
        requested: rows::moment(row, "requested")?,
        expires: rows::moment(row, "expires")?,
        approved: rows::optional_moment(row, "approved")?,
        standing: rows::optional_json(row, "standing")?,
        person: row.get("person")?,
        revoked: rows::optional_moment(row, "revoked")?,
    })
}
