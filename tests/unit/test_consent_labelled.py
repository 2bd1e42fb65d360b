"""Sentences in eight languages, each labelled by a reader: does it ask that what is being said is not remembered?

They were written before the patterns were looked at, about half and half: what people say to be left alone, and what
sounds like it.
"""

from __future__ import annotations

from typing import Final

import pytest

from perdure.text import asks_to_forget_this

ASKS: Final = {
    "en": (
        "forget what I just said",
        "Please forget everything I just told you.",
        "Between you and me, don't remember any of this",
        "Let's keep this off the record.",
        "This stays off the record, okay?",
        "That was off the record.",
        "Don't keep that in mind for later, please",
        "Do not retain this conversation.",
        "Please don't log what I'm about to say",
        "You can forget what I said about my boss",
        "Ignore what I just said and don't save it",
        "Strike that from your memory.",
        "Please don't commit this to memory",
        "I'd prefer it if you didn't save this",
        "This is private, please do not store it.",
        "No notes on this one, please don't record it",
        "Don't make a note of this",
        "don't remember this",
        "Scratch that, forget I said anything",
        "Can you forget what I just told you?",
        "Please erase this conversation from your memory",
        "Just between us: please don't save this.",
        "I don't want this to be remembered",
        "I don't want this saved",
        "Not for the record: I quit my job",
        "Kindly do not remember this conversation",
    ),
    "de": (
        "das bitte nicht merken",
        "Bitte merk dir das nicht",
        "Vergiss bitte, was ich gerade gesagt habe",
        "Das bleibt aber unter uns, nicht speichern",
        "Merken Sie sich das bitte nicht.",
        "Speichere nichts von dem, was ich sage",
        "Ich möchte nicht, dass du dir das merkst",
        "Ich will nicht, dass das gespeichert wird",
        "Vergiss das wieder, bitte nicht speichern",
        "Vergiss einfach alles, was ich dir gerade erzählt habe",
        "Lösch das bitte aus deinem Gedächtnis",
        "Das ist nicht fürs Protokoll",
        "Du brauchst dir das nicht zu merken",
        "Bitte nichts davon speichern",
        "Behalte das nicht im Gedächtnis",
        "Vergiss das Gesagte bitte",
    ),
    "fr": (
        "Ne te souviens pas de ça, s'il te plaît",
        "Oublie ce que je viens de dire",
        "Oublie tout ce que je t'ai dit",
        "N'enregistre pas ça",
        "Merci de ne pas retenir ça",
        "Je ne veux pas que tu retiennes ça",
        "Je préfère que tu n'enregistres pas ça",
        "Efface ça de ta mémoire",
        "Ça reste entre nous, ne l'enregistre pas",
        "Ne garde pas ça en mémoire",
        "Ne mémorise pas cette conversation",
        "C'est off, ne note rien",
    ),
    "es": (
        "No recuerdes esto, por favor",
        "Olvida lo que acabo de decir",
        "Olvida todo lo que te he dicho",
        "No guardes esto en tu memoria",
        "No quiero que recuerdes esto",
        "Prefiero que no guardes esto",
        "No te acuerdes de esto",
        "Borra esto de tu memoria",
        "Esto es extraoficial, no lo guardes",
        "Que esto quede entre nosotros, no lo registres",
        "Por favor no memorices nada de esto",
        "Esto no lo guardes",
    ),
    "it": (
        "Non ricordarti di questo",
        "Dimentica quello che ho appena detto",
        "Dimentica tutto quello che ti ho detto",
        "Non salvare questo, per favore",
        "Non voglio che ricordi questo",
        "Preferisco che tu non salvi questo",
        "Cancella questo dalla tua memoria",
        "Resti tra noi, non salvarlo",
        "Questo non memorizzarlo",
        "Non tenere traccia di questa conversazione",
    ),
    "pt": (
        "Não se lembre disto",
        "Esqueça o que eu acabei de dizer",
        "Esqueça tudo o que eu disse",
        "Não guarde isso na memória",
        "Não quero que você se lembre disso",
        "Prefiro que não guarde isso",
        "Apague isso da sua memória",
        "Fica entre nós, não guarde isso",
        "Não registre esta conversa",
        "Isso não é para guardar",
    ),
    "ru": (
        "Не запоминай это, пожалуйста",
        "Забудь то, что я только что сказал",
        "Забудь всё, что я сказала",
        "Не сохраняй ничего из этого",
        "Я не хочу, чтобы ты это запоминал",
        "Это между нами, не записывай",
        "Сотри это из памяти",
        "Не надо это запоминать",
        "Это не для протокола",
        "Пожалуйста, не храните это",
    ),
    "zh": (
        "不要记住这个",
        "请忘记我刚才说的话",
        "这件事不要记下来",
        "别把这个存下来",
        "不要把这件事记录下来",
        "请不要保存这段对话",
        "我刚才说的别记",
        "把我刚才说的忘掉",
        "请从记忆里删除这个",
        "我不想让你记住这件事",
        "这是私下说的，不要记录",
        "当我没说过",
        "请忘掉这件事",
    ),
}

DOES_NOT: Final = {
    "en": (
        "I don't remember this song",
        "remember not to buy milk",
        "don't forget this!",
        "Remember that I don't eat meat",
        "Don't forget what I just said",
        "I forgot what I just said",
        "Please don't forget to save this",
        "She told me to forget what he said",
        "I can't forget what I just said to her",
        "We were off the record with the journalist last year",
        "He speaks off the record with reporters",
        "I don't keep a diary",
        "Remember to not store onions in the fridge",
        "I never save anything, I spend it all",
        "Do you remember what I said?",
        "My phone doesn't save this number",
        "Don't you remember this?",
        "I'd rather not remember that day",
        "Try not to remember this as a failure",
        "You should not forget that",
        "How can I forget what you told me?",
        "Save this, please",
        "Keep this in mind",
        "Never mind, I found it",
        "Don't delete this",
        "Forget what I said about the budget, it is 5000 now",
    ),
    "de": (
        "Merk dir das bitte!",
        "Ich kann mir Namen nicht merken",
        "Vergiss das nicht",
        "Vergiss nicht, was ich gesagt habe",
        "Denk daran, keine Milch zu kaufen",
        "Ich habe vergessen, was ich gesagt habe",
        "Das Lied kenne ich nicht mehr",
        "Mein Handy speichert das nicht",
        "Wir sollten das Protokoll nicht vergessen",
        "Das darfst du nicht vergessen",
        "Ich spare nicht gern",
        "Sie merkt das nicht",
        "Warum merkst du dir das nicht?",
    ),
    "fr": (
        "Je ne me rappelle pas cette chanson",
        "N'oublie pas ce que je t'ai dit",
        "Retiens bien ça",
        "Rappelle-toi de ne pas acheter de lait",
        "J'ai oublié ce que je viens de dire",
        "Mon téléphone n'enregistre pas ça",
        "Je ne garde pas mes vieux vêtements",
        "N'oublie pas ça !",
    ),
    "es": (
        "No me acuerdo de esta canción",
        "No olvides lo que te dije",
        "Recuerda no comprar leche",
        "He olvidado lo que dije",
        "Mi teléfono no guarda esto",
        "¡No lo olvides!",
        "Guarda esto, por favor",
        "No recuerdo lo que acabo de decir",
    ),
    "it": (
        "Non mi ricordo di questo",
        "Non dimenticare quello che ti ho detto",
        "Ricordati di non comprare il latte",
        "Ho dimenticato quello che ho detto",
        "Il telefono non salva questo",
        "Ricordalo",
    ),
    "pt": (
        "Não me lembro desta música",
        "Não esqueça o que eu disse",
        "Lembre-se de não comprar leite",
        "Esqueci o que eu disse",
        "O telefone não guarda isso",
        "Guarde isso, por favor",
    ),
    "ru": (
        "Я не помню эту песню",
        "Не забудь, что я сказал",
        "Запомни: молоко не покупать",
        "Я забыл, что сказал",
        "Телефон это не сохраняет",
        "Не забывай это!",
    ),
    "zh": (
        "我不记得这首歌了",
        "别忘了我刚才说的",
        "记住不要买牛奶",
        "我忘了我刚才说了什么",
        "手机没有保存这个",
        "请记住这件事",
        "不要忘记这件事!",
        "我记不住名字",
    ),
}


@pytest.mark.parametrize("text", [text for texts in ASKS.values() for text in texts])
def test_who_asks_to_be_forgotten_is_heard(text: str) -> None:
    assert asks_to_forget_this(text)


@pytest.mark.parametrize("text", [text for texts in DOES_NOT.values() for text in texts])
def test_who_does_not_ask_is_remembered(text: str) -> None:
    assert not asks_to_forget_this(text)


def test_the_list_is_long_enough_to_mean_something() -> None:
    assert set(ASKS) == set(DOES_NOT)
    assert len(ASKS) == 8
    assert sum(len(texts) for labelled in (ASKS, DOES_NOT) for texts in labelled.values()) >= 120
