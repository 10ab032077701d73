//! Verbs of talking and of doing, with the nouns and phrases that turn one into the other.

use super::{PhraseList, WordList};

/// Verbs that ask for an explanation. A thing to look at makes them work.
pub(in crate::mode::words) static EXPLAIN_VERBS: WordList = WordList::new(
    "analyse analyze beschreibe beschrijf clarify compare conte contrast cuenta cuéntame define \
     derive descreva describe descrivi discuss décris elaborate erklär erkläre erzähl erzähle \
     evaluate explain explica explique expliquez explícame illustrate interpret introduce leg \
     outline prove racconta raccontami raconte solve spiega spiegami summarise summarize teach \
     tell vertel walk",
);

/// Verbs that work on text that is in the conversation, unless they name a thing that is
/// elsewhere.
pub(in crate::mode::words) static TEXT_VERBS: WordList = WordList::new(
    "critique edit expand improve paraphrase polish proofread rate rephrase review reword \
     rewrite shorten simplify summarise summarize traduce traduci traduis traduza translate \
     vertaal übersetze",
);

/// Verbs that ask for invention.
pub(in crate::mode::words) static CREATIVE_VERBS: WordList = WordList::new(
    "act brainstorm compose dream entertain imagine improvise invent joke pretend recite rhyme \
     roast roleplay sing",
);

/// Verbs that steer or carry on the conversation.
pub(in crate::mode::words) static CONVERSATION_VERBS: WordList = WordList::new(
    "answer argue ask assume be believe calm cheer choose comfort consider continue convince \
     debate don encourage enjoy forget give guess hold keep listen mention motivate name pick \
     quiz rank recommend relax repeat respond say shut speak suggest suppose surprise swear \
     talk thank think trust wait wish",
);

/// Verbs of making: what they make decides whether it is text for the person or work for a tool.
pub(in crate::mode::words) static MAKER_VERBS: WordList = WordList::new(
    "add come construct craft create dame dammi design develop do donne draft escreva escribe \
     escribeme fai fais faça find finish geef generate get gib give haz hazme help improve \
     invent list maak mach mache make me need offer plan prepare produce propose provide put \
     rewrite schreib schreibe schrijf scrivi show start suggest think turn want write écris \
     écrivez",
);

/// Texts, ideas and games: what a model makes out of its own head.
pub(in crate::mode::words) static CREATIVE_NOUNS: WordList = WordList::new(
    "acronym acrostic adventure advice alternative analogy anecdote answer apology argument \
     article ballad barzelletta bedtime bio biography blague blessing blurb canción canzone \
     canção caption chanson character chiste comeback compliment conte conversation \
     counterargument couplet cuento debate description devinette dialog dialogue dish essay \
     eulogy example excuse explanation fable fact fairy fairytale fanfiction feedback fiction \
     filastrocca game gedicht geschichte grammar grap guess haiku headline hint histoire \
     historia história idea insight insult introduction invitation itinerary joke letter lied \
     liedje limerick lullaby lyric meal message metaphor monologue motto movie myth märchen \
     name nickname novel ode opinion outline overview paragraph parody perspective phrase piada \
     pickup piece plan plot poem poema poesia poetry post poème prayer proverb pun puzzle \
     question quiz quote raadsel rap reason recipe recommendation rhyme riddle roast rätsel \
     saying scene screenplay sentence sketch slogan song sonnet speech spelling storia stories \
     story suggestion summary synonym tagline tale thought tip title toast tongue trick trivia \
     verhaal verhaaltje verse villain vow witz word wordplay worldbuilding",
);

/// A message that begins with one of these wants ideas: "tips for …", "best way to …".
pub(in crate::mode::words) static TALK_NOUNS: WordList = WordList::new(
    "advice alternatives anecdotes arguments best career dating dinner examples facts favorite \
     favorites favourite fun funny gift idea ideas inspiration interesting joke jokes names \
     opinion opinions pros quote quotes reason reasons recipe recipes recommendation \
     recommendations story suggestion suggestions synonym synonyms thoughts tip tips top trivia",
);

/// Requests for talk that open with a verb of doing.
pub(in crate::mode::words) static TALK_PHRASES: PhraseList = PhraseList::new(
    "act as, act like, answer in, call it, call me, change the subject, change topic, \
     change your tone, check it out, check my grammar, check out this, check this out, \
     check this sentence, cheer me, come on, come up with, complete the sentence, correct my, \
     correct this sentence, count to, do a role, do an impression, do you, do your best, \
     draw me, fill in, find it, finish my sentence, finish the, fix my grammar, \
     fix this sentence, get lost, get to know, get well, give up, go away, go to hell, have a, \
     have fun, have you, help me choose, help me cope, help me decide, help me feel, \
     help me learn, help me practice, help me prepare, help me think, help me understand, \
     help me with my feelings, hold on, keep it, lend me, let me think, look on the bright, \
     make fun, make me feel, make me laugh, make me smile, make sense, make up, pass the, \
     play a character, play a game, play along, play chess with, play devil's, play hangman, \
     play the part, play the role, play tic, play twenty, play with me, play word, \
     read between, read me a, read my mind, read my palm, reply in, run away, run me through, \
     send good, send hugs, send love, set the scene, share a, share an, share some, share your, \
     show me a trick, show me how, show some, shut up, speak, spell, start a story, start over, \
     stop apologizing, stop being, stop it, stop saying, stop using, switch to, take a deep, \
     take a guess, take care, take it easy, tell a, tell us a, tell us about, test me, \
     test my knowledge, think about, think of, turn it into a, turn this into a, use fewer, \
     use less, use more, use simple, use simpler, walk me through, wish me, work out a, \
     write in",
);

/// Changes to what was just said: "make it shorter".
pub(in crate::mode::words) static REFINEMENTS: PhraseList = PhraseList::new(
    "a bit less, a bit more, a little less, a little more, add a bit, add a twist, add more, \
     add some, in english, in other words, in simple, less formal, make it a bit, \
     make it better, make it formal, make it funnier, make it funny, make it less, \
     make it longer, make it more, make it rhyme, make it short, make it shorter, \
     make it simpler, make it sound, make that a bit, make that less, make that more, \
     make that shorter, make them more, make them shorter, make this a bit, make this less, \
     make this more, make this shorter, make this sound, more detail, more details, \
     more formal, remove the last line, try again, try something",
);

/// How a text is to sound: only text has a style.
pub(in crate::mode::words) static MANNERS: PhraseList = PhraseList::new(
    "as if you were, as though you were, in the style of, in the tone of, in the voice of",
);

/// Verbs of doing: at the head of a sentence they ask for a tool. The seed's own (edit, read, run,
/// update, write) are among them.
pub(in crate::mode::words) static ACTION_VERBS: WordList = WordList::new(
    "abra abre abrir accendi activate actualiza add adiciona adicione adjust affiche aggiorna \
     aggiungere aggiungi agrega agregar ajoute ajouter ajoutez aktualisiere align allow allume \
     annotate apaga apagar apague append apply approve apri aprire archive arm assign attach \
     atualize audit authorize automate añade añadir back backup baixe ban benchmark benenne \
     bewaar bewerk block book bookmark boot borra borrar bring browse buche build bump busca \
     buscar buy calculate calibrate call cambia cancel cancella cancellare capture cerca \
     cercare change chart check checkout cherche chercher chiudi chmod cierra clean clear click \
     clone close collect coloque combine comment commit compile complete compress comprueba \
     compute configure connect controleer controlla convert copia copie copy correct count \
     crawl crea crear creare create crie crop crée créer cut debug decrease decrypt delete \
     deploy descarga desligue detach detect diff dim disable disarm disconnect dismiss display \
     download draft draw drop dump duplicate déplace déplacer edit edita edite efface eject \
     ejecuta ejecutar elenca elimina eliminar email empty enable enciende encontre encrypt \
     encuentra enregistre ensure enviar envie envoie envoyer envía erinnere erstelle erstellen \
     escreva escribe esegui exclua execute export extract exécute feche fetch file fill filter \
     find finde fix flag flash flush follow format forward free füge führe gather generate get \
     grab grep group guarda guardar herinner hernoem hide highlight identify import include \
     increase index initialise initialize inject insert inspect instala install installa \
     installe installeer installiere integrate invia inviare invite join kill kopieer kopiere \
     label lance lancer launch lee leer lees leggi leia lembre lies ligar ligue lint lis list \
     liste load locate lock log look lower lösche löschen maak mach mache mail make manda \
     mandar mark measure merge message mets metti mettre migrate mirror modifica modifie modify \
     monitor montre montrez mostra mostrami mostre mount mova move muestra mueve mute muéstrame \
     notify open optimize order organise organize ouvre ouvrez ouvrir overwrite patch pause pay \
     pin ping place play plot plug point poll pon populate post print procure profile protect \
     provision prune prüfe prüfen publish pull purge push put query queue raise rappelle \
     reactivate read rearrange rebase reboot rebuild recompile reconnect record recover \
     recuérdame redeploy redo reduce refactor refresh register reinstall release reload \
     remember remind remove rename render renew renombra renomeie renomme reopen reorder repair \
     replace reply report request reschedule reserva reserve reset resize resolve restart \
     restore resume retrieve retry revert revisa revoke ricordami ring rinomina roll rollback \
     rotate run réserve salva salvare salve save scan scarica schalte schedule schick schicke \
     schicken schreib schreibe schrijf scrape scrivi scroll search see seed send sende senden \
     set setup share ship show shuffle shut sign skip sluit snooze sort spegni speichere \
     speichern spiele split sposta squash ssh stage start starte starten stash stell stelle \
     stop stoppe store stream stuur submit subscribe such suche suchen supprime supprimer \
     supprimez swap switch sync tag tail take test text tidy time toggle toon touch trace track \
     trag transcribe transfer trash triage trigger trim trouve trova truncate turn télécharge \
     unblock undo uninstall unlock unmount unpack unpin unstage unsubscribe unzip update \
     upgrade upload use vacuum validate verifique verify verplaats verschiebe verschieben \
     verwijder view vind visit voeg voer vérifie vérifier wake watch water wipe wire withdraw \
     wrap write zeig zeige zeigen zet zip zoek zoom ändere ändern écris éteins öffne öffnen \
     überprüfe",
);

/// Verbs of doing that need a thing to do it with, because they are used in talk just as often.
pub(in crate::mode::words) static WEAK_ACTION_VERBS: WordList = WordList::new(
    "back call count do draw follow free identify include join list look make note place plan \
     point put raise release reply set share sign take time track use watch water work",
);

/// Verbs that hand a text on: "write a poem and save it" is work, for all the poetry.
pub(in crate::mode::words) static DELIVERY_VERBS: WordList = WordList::new(
    "add append attach commit copy deliver email export file forward log mail message paste \
     post print publish push put save send share store submit text tweet upload write",
);

/// "Look up", "look at": with these words behind them, weak verbs are verbs of doing.
pub(in crate::mode::words) static LOOK_PARTICLES: WordList =
    WordList::new("at away back down for in into off on out over through up");
