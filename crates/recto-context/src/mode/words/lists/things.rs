//! Nouns that tools can look at, how such things stand, and what marks a question about the world.

use super::{PhraseList, WordList};

/// Things that live in a workspace, a computer, a service or a house that tools reach. "The file"
/// is such a thing; with "a file" one may be talking about files in general.
pub(in crate::mode::words) static THINGS: WordList = WordList::new(
    "afspraak agenda alarm alert api app appointment archivo archivos arquivo attachment \
     aufgabe aufgaben backlog backup bestand bestanden boodschappenlijst bookmark branch \
     browser bucket budget build cache calendar calendario calendrier calendário carpeta \
     cartella changelog chart checklist cita clipboard cluster codebase column commit config \
     configuration contact container correo courriel courses cpu cron crontab csv dashboard \
     database dataset datei dateien deadline dependency deploy deployment desktop device diff \
     directory disk doc docker dockerfile document dossier download draft drucker einkaufsliste \
     email endpoint entry env erinnerung error expense fichier file firewall firmware folder \
     form function gpu heating homepage html image inbox invoice ip issue job json kalender \
     kanban kernel kubernetes lamp laptop license licht light lijst linter lista liste log \
     logfile luce luci luz machine mail mailbox makefile map meeting memory migration module \
     newsletter nota notas note notebook notification notiz notizen ordner output package page \
     partition password pasta pdf photo pipeline playlist plugin pod port pr printer process \
     processes project promemoria prompt query ram readme record recording registry reminder \
     rendez repo report repository roadmap router row schema screenshot script sensor server \
     service session settings sheet shell shopping sink slide snapshot spreadsheet standup \
     stash status stock storage subscription substrate tab table tarea tareas tarefa task \
     temperature termin terminal termine test testsuite thermostat thread ticket timer todo \
     todos token transcript trash tv typo tâche upload url usb user variable verzeichnis vm \
     volume warning webhook website wifi wiki workbook workflow workspace worktree xlsx yaml \
     zip",
);

/// Things that tools can know about only when they are someone's own: "my order", not "the order".
pub(in crate::mode::words) static PERSONAL_THINGS: WordList = WordList::new(
    "account address balance battery bill booking card code computer contact credit delivery \
     drive event events expenses fan flight friday goal grade grocery home hotel internet \
     itinerary key library list machine memories memory message mileage monday month network \
     number order package page parcel payment pc phone photos picture plan post program project \
     rate receipt reservation salary saturday savings schedule score screen site slack spending \
     sprint step streak sunday system tax team thursday todo train transaction transactions \
     trip tuesday vacation video wednesday week weekend weight window",
);

/// Things that "how many …", "which …" and "list …" ask about without an article.
pub(in crate::mode::words) static THING_HEADS_IN_A_LIST: WordList = WordList::new(
    "alarm appointment branch bug commit contact container cookie database dependency device \
     directory document email error event file folder image invoice issue job line log mail \
     meeting message migration note package photo pod port pr process processes program repo \
     row script server service space spreadsheet tag task test ticket todo user version \
     vulnerability warning window",
);

/// At the end of a yes-or-no question they ask how a service or a job stands.
pub(in crate::mode::words) static STATUS_WORDS: WordList = WordList::new(
    "alive booked broken charged configured connected deployed disabled done down enabled \
     failing fixed free green installed listening live locked merged mounted offline on online \
     open passing paused published reachable red responding running synced up updated upgraded",
);

/// Said of things that do not work.
pub(in crate::mode::words) static TROUBLE_WORDS: WordList = WordList::new(
    "broke broken corrupt corrupted crash crashed crashes crashing down empty error errors fail \
     failed failing fails frozen full gone hang hanging hangs lost missing outdated slow stuck \
     timeout unavailable unreachable unresponsive wrong",
);

/// Facts that change by the hour: a model cannot know them, a tool can.
pub(in crate::mode::words) static LIVE_FACTS: PhraseList = PhraseList::new(
    "bitcoin price, bus leave, current time in, exchange rate, flight status, forecast for, \
     going to rain, headlines, in the news, latest news, latest release, latest version, \
     newest version, news today, next bus, next train, open now, open right now, opening hours, \
     price of bitcoin, rain today, rain tomorrow, raining, share price, snow tomorrow, \
     stock price, sunrise, sunset today, the current date, the current time, the forecast, \
     the latest news, the news, the price of bitcoin, the traffic, the weather, today's date, \
     today's headlines, today's news, today's rate, traffic on, traffic to, train leave, \
     train status, weather for, weather forecast, weather in, weather like, weather on, \
     weather report, weather this, weather today, weather tomorrow, what day is it, \
     what is the time in, what time is it, what time it is, what's the date, what's the time",
);

/// Openings that ask whether something is there.
pub(in crate::mode::words) static EXISTENCE: PhraseList = PhraseList::new(
    "any new, any unread, are there, c'è, did anybody, did anyone, did i, did i get, did we, \
     do i have, do i still have, do we have, est ce, existe, gibt es, has anybody, has anyone, \
     have i, have i got, hay, is er, is there, is there still, was there, were there, y a t, \
     zijn er",
);

/// Openings and turns of a question that asks for knowledge, advice or an opinion, whatever things
/// it names.
pub(in crate::mode::words) static ABOUT_THE_WORLD: PhraseList = PhraseList::new(
    "are you, can one, can people, did i tell you, did you know, do you believe, do you enjoy, \
     do you ever, do you feel, do you like, do you prefer, do you remember, do you think, \
     have i told you, have you ever, how can i, how can one, how can we, how do i, \
     how do people, how do we, how do you, how does one, how should i, how should one, how to, \
     how would i, how would you, is it bad, is it better, is it normal, is it ok, is it okay, \
     is it possible, is it rude, is it safe, is it true, is it worth, is it wrong, should i, \
     should one, should people, what are good, what are some, what are you, what are your, \
     what do you think, what does it mean, what if, what is a, what is an, what is the best, \
     what is the difference, what is the meaning, what is your, what kind of, what makes, \
     what should i, what sort of, what type of, what would happen, what would you, what's a, \
     what's an, what's the best, what's the difference, what's the meaning, what's the point, \
     what's your, where does the term, where does the word, who are you, who created the first, \
     who discovered, who invented, why do people, would you rather",
);

/// In a question, these show that it is about words, ideas, people or taste.
pub(in crate::mode::words) static WORLD_WORDS: WordList = WordList::new(
    "advantage advantages advice best better called coined curious difference differences \
     etymology favorite favourite generally harder history humans hypothetically idea invent \
     invented mean meaning means metaphor origin originally overrated paradox people philosophy \
     prefer pros reason recommend stands story term theory typical typically underrated usually \
     word worse",
);
