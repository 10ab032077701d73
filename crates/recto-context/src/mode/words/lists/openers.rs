//! Phrases that open a sentence or stand alone: courtesy, assent, frames of a request.

use super::PhraseList;

/// Said when people meet or part.
pub(in crate::mode::words) static GREETINGS: PhraseList = PhraseList::new(
    "adiós, arrivederci, au revoir, bis morgen, bis später, boa noite, boa tarde, bom dia, \
     bonjour, bonne nuit, bonsoir, buenas, buenas noches, buenas tardes, buenos días, \
     buonanotte, buonasera, buongiorno, bye, ciao, come stai, come va, comment vas tu, \
     comment ça va, como vai, coucou, cómo estás, dag, doei, goedemiddag, goedemorgen, \
     goedenavond, good afternoon, good day, good evening, good morning, good night, goodbye, \
     goodnight, greetings, gute nacht, guten abend, guten morgen, guten tag, hallo, \
     happy birthday, happy new year, hasta luego, have a good day, have a good one, \
     have a great day, have a great weekend, have a nice day, have a nice weekend, hello, \
     hello there, hey, hey there, hi, hi there, hiya, hoe gaat het, hoi, hola, how are you, \
     how are you doing, how are you today, how do you do, how have you been, how is it going, \
     how's it going, howdy, i'm back, long time no see, merry christmas, moin, morning, \
     namaste, nice to meet you, oi, olá, qué tal, salaam, salut, see ya, see you, \
     see you later, see you tomorrow, servus, sleep well, sup, sweet dreams, take care, \
     talk later, talk to you later, tchau, tot ziens, tschüss, tudo bem, welcome back, \
     what's up, whats up, wie geht es dir, wie geht's, wie gehts, yo, à bientôt, ça va",
);

/// Thanks, and apologies; the rest of such a clause says what for.
pub(in crate::mode::words) static THANKS: PhraseList = PhraseList::new(
    "apologies, appreciate it, bedankt, cheers, congrats, congratulations, dank je, \
     dank je wel, dank u, danke, dankeschön, excuse me, good bot, good job, good work, gracias, \
     grazie, grazie mille, great job, great work, i appreciate it, i'm grateful, i'm sorry, \
     many thanks, merci, merci beaucoup, much appreciated, muchas gracias, muito obrigado, \
     my apologies, my bad, nice job, nice work, obrigada, obrigado, sorry, thank u, thank you, \
     thanks, thanks a lot, thx, ty, tysm, vielen dank, well done",
);

/// Assent, refusal and noises, wherever they open a message.
pub(in crate::mode::words) static ACKNOWLEDGEMENTS: PhraseList = PhraseList::new(
    "absolutely, agreed, ah, aha, all good, all right, alright, anyway, apparently, aye, \
     basically, bien sûr, btw, by the way, carry on, certainly, certo, claro, d'accord, \
     daccord, dale, deal, definitely, do it, do so, do that, está bem, exactly, fair enough, \
     forget it, frankly, genau, go ahead, go for it, go on, goed, good idea, good point, \
     good to know, got it, gut, haha, hahaha, hehe, hm, hmm, hmmm, honestly, i agree, \
     i don't think so, i guess, i guess so, i see, i think so, i understand, imo, indeed, ja, \
     k, keep going, kk, klar, lately, let's do it, let's do that, let's go, lgtm, literally, \
     lmao, lol, looks good, looks great, luckily, makes sense, maybe, maybe later, me too, mhm, \
     nah, nee, nein, never mind, nevermind, no, no problem, no thank you, no thanks, \
     no worries, non, nope, not bad, not now, not really, not yet, of course, of course not, \
     oh, ok, okay, okey, oops, oui, parfait, perfecto, perfeito, perfekt, perfetto, personally, \
     please do, prima, recently, right on, rofl, same, seriously, sim, sometimes, sounds good, \
     sounds great, sure, sure thing, sí, tbh, that makes sense, that works, that's fine, \
     that's it, that's right, to be honest, true, uh, um, understood, unfortunately, va bene, \
     vale, well, whoa, works for me, wow, ya, yeah, yep, yes, yes do it, yes please, yesterday, \
     you're welcome, yup",
);

/// Words that assent only when a pause or the end follows: "great, …" but not "great books".
pub(in crate::mode::words) static ACKNOWLEDGEMENTS_WHEN_ALONE: PhraseList = PhraseList::new(
    "again, amazing, awesome, beautiful, bene, bien, bom, brilliant, bueno, continue, cool, \
     correct, done, excellent, fantastic, fine, first, good, good one, great, incredible, \
     interesting, love it, lovely, more, next, nice, nice one, one more, one more thing, \
     one more time, perfect, please continue, proceed, quick question, right, super, sweet, \
     then, true, very good, very nice, weiter, wonderful, yay",
);

/// Choices and confirmations that mean nothing without what was offered.
pub(in crate::mode::words) static BARE_CHOICES: PhraseList = PhraseList::new(
    "a, all, all of them, another one, approve, approved, as before, as usual, as you like, \
     as you wish, b, both, both of them, c, cancel, confirm, confirmed, denied, either, \
     either one, first one, it, just do it, just that, later, like before, like that, n, \
     neither, none, none of them, not that one, now, number, once more, one more, option, \
     reject, same as before, second one, ship it, stop, that, that one, the first, \
     the first one, the former, the last, the last one, the latter, the other, the other one, \
     the same, the second, the second one, the third, the third one, these, this, this one, \
     those, today, tomorrow, try again, up to you, wait, whatever, whichever, y, you choose, \
     you decide, your choice",
);

/// What comes before the verb when someone is asked to do something.
pub(in crate::mode::words) static REQUEST_FRAMES: PhraseList = PhraseList::new(
    "actually, afterwards, again, alexa, alsjeblieft, also, alstublieft, and, are you able to, \
     asap, be sure to, bitte, but, can u, can ya, can you, can you help, can you help me, \
     carefully, could u, could you, do me a favor and, do me a favour and, do not forget to, \
     do you mind, don't forget to, dont forget to, feel free to, finally, first, go, go ahead, \
     go ahead and, go and, hey siri, i need you to, i think you should, i want you to, \
     i would like you to, i'd like for you to, i'd like you to, i'd love you to, if possible, \
     if you can, instead, it's time to, just, kan je, kannst du, kannst du bitte, kindly, \
     kun je, kunt u, können sie, könnten sie, könntest du, let us, let's, lets, make sure, \
     make sure that you, make sure to, make sure you, me puedes, next, now, per favore, \
     peux tu, please, pls, plz, pode, poderia, podrías, por favor, potresti, pourrais tu, \
     pourriez vous, pouvez vous, puede, puedes, puoi, quickly, remember to, s'il te plaît, \
     s'il vous plaît, simply, so, stp, svp, then, time to, try and, try to, tu peux, você pode, \
     we have to, we must, we need to, we should, when you can, when you get a chance, \
     why don't you, why not, will you, would you, would you be able to, would you mind, \
     you can, you could, you have to, you may, you must, you need to, you should, \
     your job is to, your task is to",
);

/// Frames that fit talk as well as work: "help me …" needs a thing to work on before it counts.
pub(in crate::mode::words) static TENTATIVE_FRAMES: PhraseList = PhraseList::new(
    "can i, can we, could i, could we, help me, help me to, help us, how about, i am trying to, \
     i gotta, i have to, i need help, i need help with, i need some help with, i need to, \
     i wanna, i want to, i would like to, i'd like to, i'd love to, i'm going to, \
     i'm trying to, is it possible to, may i, shall we, should we",
);

/// What comes before a question that is asked in a roundabout way.
pub(in crate::mode::words) static REPORT_FRAMES: PhraseList = PhraseList::new(
    "any clue, any idea, can anyone tell me, do you happen to know, do you know, explain, \
     explain to me, i need to know, i want to know, i was wondering, i wonder, \
     i'd like to know, i'm curious, i'm wondering, let me know, remind me, tell me, \
     what do you know about",
);
