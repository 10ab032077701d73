//! Words that hold a sentence together: question words, auxiliaries, articles, pronouns.

use super::WordList;

/// Words that open a question, or the clause that a roundabout question asks about.
pub(in crate::mode::words) static QUESTION_WORDS: WordList = WordList::new(
    "chi combien comment como cosa cuál cuáles cuándo cuánta cuánto cuántos cómo dove dónde hoe \
     how hows if onde où perché porque pourquoi qu quais qual quale quali quand quando quanto \
     quel quelle quelles quels quem qui quién quiénes quoi qué waar waarom wann wanneer warum \
     wat welche welcher welches welke wer weshalb what whats when whens where wheres whether \
     which who whom whos whose why whys wie wiens wieso wieviel wo woher wozu",
);

/// Verbs that open a yes-or-no question when they stand first.
pub(in crate::mode::words) static AUXILIARIES: WordList = WordList::new(
    "am are aren bist can could couldn did didn do does doesn don es esiste est existe gibt had \
     has hasn hast hat have haven hay is isn ist kann may might must shall should shouldn sind \
     tem was wasn were weren will won would wouldn",
);

/// Words that open a statement.
pub(in crate::mode::words) static STATEMENT_HEADS: WordList = WordList::new(
    "das du ela ele ella elle er es eu everybody everyone he hij i ich id ik il im io it its \
     ive je jij lei lui mi mir nobody noi nosotros nous people she sie someone that thats there \
     theres these they this those tu we wij wir yo you your youre él",
);

/// Words that put something before the request proper: "in the config, change …".
pub(in crate::mode::words) static CONDITION_HEADS: WordList = WordList::new(
    "after as at before for from given if in inside on once regarding since under until when \
     whenever while with within",
);

/// Words that point at a thing that is there, rather than at a kind of thing.
pub(in crate::mode::words) static DETERMINERS: WordList = WordList::new(
    "all any as das de dem den der die each el every gli her het his i il la las le les lo los \
     ma many mein meine meinem meinen meiner mes meu meus mi mia mie miei mijn minha minhas mio \
     mis mon much my nos notre nuestra nuestro ons onze os our that the their these this those \
     unser unsere what which",
);

/// Of these, the ones that say whose it is.
pub(in crate::mode::words) static POSSESSIVES: WordList = WordList::new(
    "ma mein meine meinem meinen meiner mes meu meus mi mia mie miei mijn minha minhas mio mis \
     mon my nos notre nuestra nuestro ons onze our unser unsere",
);

/// Words that end a noun phrase: behind "the folder" they show that "folder" was its last word.
pub(in crate::mode::words) static FUNCTION_WORDS: WordList = WordList::new(
    "a about after again all am an and are as at auf avec be because been before but by called \
     can changed com con contain containing contains could created da dans de del deleted della \
     des di did do does doing done du e ed edited else em en ended es est et exist exists fail \
     failed failing fails finish finished for from für going gone had happen happened has hat \
     have having here how i if im in installed instead into is ist it left like look looks may \
     me mean merged met missing mit modified na naar named need needs nel nella never no not \
     now o oder off on onto op open or ou out over para pass passed passing per please por pour \
     right run running said saved say says see sent should show shows since sind so son sont \
     start started still stop stopped su sur take than that the their them then there these \
     they this those through to today together tomorrow tonight too um uma und under until up \
     updated use used using van via von voor vs was we were what when where which while who \
     whose why will with within without work working works would written y yesterday yet you \
     your zijn zu à",
);

/// What the object of an imperative begins with, as opposed to a list of verbs.
pub(in crate::mode::words) static SOFT_OBJECTS: WordList = WordList::new(
    "a all an any back each every everything her him his it me my new our some that the their \
     them these this those us",
);
