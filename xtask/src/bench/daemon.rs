//! `recto serve` as it stands by: how soon it is ready, what it holds when nobody talks, what it
//! holds after many turns, and what conversations in chats cost in which nothing is said.

use std::path::Path;
use std::time::Duration;

use futures_util::future::try_join_all;
use recto_fakes::{DiscordPerson, FakeDiscord, FakeTelegram, TelegramPerson};
use tokio::time::sleep;

use super::report::{BenchReport, Figure, FigureGoal, FigureRow, FigureUnit};
use super::served::ServedHome;
use super::stats::Samples;
use super::turns::{Talker, TurnsArgs};
use crate::Result;

/// How often it is started.
const STARTS: usize = 20;
const SESSIONS: usize = 16;
/// Turns until everything that is kept between turns is there.
const FIRST_TURNS: usize = 1_000;
const TURNS: usize = 10_000;
/// Milliseconds from its start until it answers that it is ready.
const READY: f64 = 50.0;
/// Bytes that it may hold when nobody has talked yet.
const IDLE: f64 = 30e6;
/// How much more it may hold after all turns than after the first.
const GROWTH: f64 = 1.1;
/// Conversations in each chat service.
const CHATS: u32 = 20;
/// Bytes that these may cost while nobody says anything.
const CHATS_COST: f64 = 5e6;
/// For a moment after the work, so that what is let go is gone.
const REST: Duration = Duration::from_secs(2);

/// Starts servers, and talks to the last of them.
pub(super) fn run(args: &TurnsArgs) -> Result<BenchReport> {
    let recto = args.gateway()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(&recto))
}

async fn measure(recto: &Path) -> Result<BenchReport> {
    let mut ready = Vec::new();
    let mut server = ServedHome::start(recto).await?;
    for _ in 0..STARTS {
        server = ServedHome::start(recto).await?;
        ready.push(server.ready_after.as_secs_f64() * 1_000.0);
    }
    sleep(REST).await;
    let idle = server.resident_bytes()? as f64;
    let mut talkers =
        try_join_all((0..SESSIONS).map(|number| Talker::begin(server.address, number))).await?;
    let first = talk(&server, &mut talkers, FIRST_TURNS).await?;
    let last = talk(&server, &mut talkers, TURNS - FIRST_TURNS).await?;
    drop(server);
    let chats = measure_chats(recto).await?;
    let ready = Samples::new(ready).ok_or("nothing was started")?;
    let milliseconds = |name, value| Figure { name, value, unit: FigureUnit::Milliseconds };
    let bytes = |name: &'static str, value| {
        FigureRow::new(name, vec![Figure { name: "resident", value, unit: FigureUnit::Bytes }])
    };
    let started = FigureRow::new(
        "from its start until it is ready",
        vec![milliseconds("p50", ready.percentile(50)), milliseconds("max", ready.max())],
    );
    let setup = format!(
        "`recto serve` with the scripted model and an empty home, started {STARTS} times; then \
         {TURNS} turns in {SESSIONS} sessions of the last one. Beside that, one with bots of \
         Telegram and of Discord (fakes on loopback), in which {CHATS} people each have said \
         something."
    );
    let goals = vec![
        FigureGoal::at_most("ready (p50)", READY, ready.percentile(50), FigureUnit::Milliseconds),
        FigureGoal::at_most("resident when idle", IDLE, idle, FigureUnit::Bytes),
        FigureGoal::at_most(
            "resident after all turns, by after the first thousand",
            GROWTH,
            last / first,
            FigureUnit::Ratio,
        ),
        FigureGoal::at_most(
            "more of its own with 20 idle conversations in each chat service",
            CHATS_COST,
            chats.idle.own - chats.none.own,
            FigureUnit::Bytes,
        ),
    ];
    let mut report = BenchReport::new(setup, vec![started], goals);
    report.details.push(super::report::FigureTable {
        name: "memory".to_owned(),
        rows: vec![
            bytes("before anybody talks", idle),
            bytes("after 1,000 turns", first),
            bytes("after 10,000 turns", last),
        ],
    });
    report.details.push(super::report::FigureTable {
        name: "chats".to_owned(),
        rows: vec![
            chats.none.row("with bots, and no conversation"),
            chats.one.row("with one conversation in each chat service"),
            chats.idle.row("with 20 idle ones in each chat service"),
        ],
    });
    Ok(report)
}

/// What a server with bots holds.
struct ChatMemory {
    /// Before anybody has written.
    none: HeldMemory,
    /// When one person of each service has.
    one: HeldMemory,
    /// When all have, and none does any more.
    idle: HeldMemory,
}

/// What a server holds, in bytes.
#[derive(Clone, Copy)]
struct HeldMemory {
    resident: f64,
    /// Without pages of files: the first turn brings in those of the program that it needs.
    own: f64,
}

impl HeldMemory {
    fn measure(server: &ServedHome) -> Result<Self> {
        let (resident, own) = (server.resident_bytes()?, server.own_bytes()?);
        Ok(HeldMemory { resident: resident as f64, own: own as f64 })
    }

    fn row(self, name: &'static str) -> FigureRow {
        let bytes = |name, value| Figure { name, value, unit: FigureUnit::Bytes };
        FigureRow::new(name, vec![bytes("resident", self.resident), bytes("own", self.own)])
    }
}

async fn measure_chats(recto: &Path) -> Result<ChatMemory> {
    let (telegram, discord) = (FakeTelegram::start(), FakeDiscord::start());
    let ids: Vec<String> = (1..=CHATS).map(|id| format!("\"{id}\"")).collect();
    let bot = |name: &str, url: &str| {
        let allow = ids.join(", ");
        format!("[channels.{name}]\nenabled = true\napi_url = \"{url}\"\nallow = [{allow}]\n")
    };
    let settings = bot("telegram", &telegram.url()) + &bot("discord", &discord.url());
    let variables =
        [("TELEGRAM_BOT_TOKEN", FakeTelegram::TOKEN), ("DISCORD_BOT_TOKEN", FakeDiscord::TOKEN)];
    let server = ServedHome::start_with(recto, &settings, &variables).await?;
    let mut looks = 0..600;
    while telegram.calls("getUpdates") < 2 || discord.identifies() < 1 {
        looks.next().ok_or("the bots don't connect")?;
        sleep(Duration::from_millis(100)).await;
    }
    sleep(REST).await;
    let none = HeldMemory::measure(&server)?;
    let mut held = Vec::new();
    for ids in [1..=1, 2..=CHATS] {
        for id in ids {
            let text = format!("hello from {id}.");
            let (ada, ben) = (
                TelegramPerson::new(i64::from(id), "Ada"),
                DiscordPerson::new(u64::from(id), "Ben"),
            );
            telegram.say(&ada, &text);
            discord.say(&ben, &text);
            telegram.wait_for(ada.id, |said| {
                said.iter().any(|it| it.is_from_bot && it.text.contains(&text))
            });
            discord.wait_for(ben.direct(), |said| {
                said.iter().any(|it| it.is_from_bot && it.text.contains(&text))
            });
        }
        sleep(REST).await;
        held.push(HeldMemory::measure(&server)?);
    }
    match held[..] {
        [one, idle] => Ok(ChatMemory { none, one, idle }),
        _ => Err("the chats were not measured".into()),
    }
}

/// Takes so many turns in all sessions, and gives the memory behind them.
async fn talk(server: &ServedHome, talkers: &mut [Talker], turns: usize) -> Result<f64> {
    for _ in 0..turns / SESSIONS {
        try_join_all(talkers.iter_mut().map(Talker::take_turn)).await?;
    }
    sleep(REST).await;
    Ok(server.resident_bytes()? as f64)
}
