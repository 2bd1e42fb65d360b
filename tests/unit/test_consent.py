"""Whoever asks that something is not remembered is heard, in the language they ask in, and nobody else is."""

from __future__ import annotations

import pytest

from perdure.text import MAX_TEXT_BYTES, asks_to_forget_this

REQUESTS = [
    "Don't remember this.",
    "Please don't remember this, but I'm looking for a new job.",
    "I'm looking for a new job. Please don't save this.",
    "don’t remember that",
    "Do not store this conversation",
    "Please do not save anything I say now",
    "never remember what I just told you",
    "This is off the record: we're going to sell the company.",
    "off the record, she was fired",
    "Keep this out of your memory please",
    "I don't want you to remember this",
    "You don't have to remember this",
    "Could you please not save this?",
    "this should not be remembered",
    "forget what I said",
    "Please forget I said that.",
    "Just don't keep this in memory, okay?",
    "Don't memorize this secret!",
    "Hey, don't record this chat.",
    "don't write this down",
    "Merk dir das nicht!",
    "Bitte merke dir das nicht.",
    "Speicher das bitte nicht, ok?",
    "Bitte das nicht speichern",
    "Vergiss, was ich gesagt habe.",
    "Merk dir nichts davon.",
    "Das sollst du dir nicht merken.",
    "Ne retiens pas ça.",
    "S'il te plaît, n'enregistre pas cette conversation",
    "N'enregistre rien de ce que je dis",
    "Ne pas enregistrer ceci",
    "Oublie ce que je viens de te dire",
    "No recuerdes esto.",
    "Por favor, no guardes esto",
    "No lo guardes.",
    "Olvida lo que te dije",
    "No guardes nada de lo que te digo.",
    "Non ricordare questo.",
    "Per favore, non memorizzare questa conversazione",
    "Dimentica quello che ti ho detto",
    "Não guarde isso.",
    "Por favor, não memorize esta conversa",
    "Não se lembre disso",
    "Esquece o que eu disse",
    "Onthoud dit niet.",
    "Dit alsjeblieft niet opslaan",
    "Sla dit niet op",
    "Kom inte ihåg det här",
    "Spara inte detta",
    "Nie zapamiętuj tego",
    "Proszę, nie zapisuj tej rozmowy",
    "Не запоминай это",
    "Пожалуйста, не сохраняй этот разговор",
    "Это не записывай",
    "Забудь, что я сказал",
    "Не запам'ятовуй це",
    "Bunu hatırlama",
    "Bunu kaydetme lütfen",
    "Söylediğimi unut",
    "Đừng nhớ điều này",
    "đừng lưu cuộc trò chuyện này",
    "Jangan ingat ini",
    "Tolong jangan simpan percakapan ini",
    "不要记住这个",
    "请不要记住这件事。",
    "别记下来",
    "这个不要保存",
    "忘掉我刚才说的话",
    "請不要記住這個",
    "これは覚えないでください",
    "この会話は記録しないで",
    "今言ったことは忘れて",
    "이거 기억하지 마",
    "이 대화는 저장하지 마세요",
    "방금 한 말 잊어 주세요",
    "لا تتذكر هذا",
    "من فضلك لا تحفظ هذه المحادثة",
    "इसे याद मत रखना",
    "कृपया यह बात याद मत रखो",
    "यह बात सेव मत करना",
    "อย่าจำเรื่องนี้",
    "ไม่ต้องบันทึกข้อความนี้",
    "אל תזכור את זה",
    "Okay, I had a rough day. Oh and don't remember any of this.",
]
OTHER = [
    "I don't remember this song",
    "I don't remember this.",
    "Don't forget to remember the milk",
    "Do you remember this?",
    "Why don't you remember this?",
    "You don't remember this, do you?",
    "My parents don't remember this",
    "Remember this!",
    "Please remember this",
    "Don't save this file to the desktop",
    "Don't store this milk in the fridge door",
    "Don't keep this dog, it bites",
    "Don't record this show",
    "Don't forget this",
    "Never forget what I said",
    "I never remember what people tell me",
    "don't remember to call her",
    "They don't keep it",
    "I can't remember that",
    "She said she does not remember it",
    "How do I not save this document?",
    "Forget the milk, we have enough",
    "I forgot what I said",
    "Don't put this on the table",
    "Merk dir das",
    "Ich merke mir das nicht",
    "Ich kann mir das nicht merken",
    "Ich erinnere mich nicht daran",
    "Vergiss nicht, was ich gesagt habe",
    "Das habe ich nicht gespeichert",
    "Vergiss die Milch nicht",
    "Speicher die Datei nicht auf dem Desktop",
    "Je ne retiens pas ça.",
    "Je ne me souviens pas de cette chanson",
    "N'oublie pas ça",
    "No recuerdo esta canción",
    "No me acuerdo de esto",
    "No olvides esto",
    "Non ricordo questa canzone",
    "Non dimenticare questo",
    "Não me lembro disso",
    "Não esqueça isso",
    "Ik onthoud dit niet",
    "Nie pamiętam tego",
    "Nie zapomnij tego",
    "Я не помню эту песню",
    "Не забудь это",
    "Я не запоминаю это",
    "Bunu hatırlamıyorum",
    "Bunu unutma",
    "Tôi không nhớ bài này",
    "Đừng quên điều này",
    "Saya tidak ingat lagu ini",
    "Jangan lupa ini",
    "我不记得这首歌",
    "不要忘记这个",
    "我记不住这个",
    "请记住这个",
    "別忘了我說的話",
    "この歌を覚えていない",
    "これを忘れないで",
    "이 노래가 기억나지 않아",
    "이거 잊지 마",
    "لا أتذكر هذه الأغنية",
    "لا تنس هذا",
    "मुझे यह गाना याद नहीं है",
    "इसे मत भूलना",
    "ฉันจำเพลงนี้ไม่ได้",
    "อย่าลืมเรื่องนี้",
    "The record was off the charts",
    "不要存钱在这里",
    "别记错了",
    "I keep this off the table",
    "It's all good, don't worry about it",
    "Don't add this",
    "이 파일 저장하지 마",
    "Bitte speichere die Datei nicht",
    "Ne pas enregistrer le fichier",
    "¿No recuerdas esto?",
]


@pytest.mark.parametrize("text", REQUESTS)
def test_a_request_not_to_remember_is_heard(text: str) -> None:
    assert asks_to_forget_this(text)
    assert asks_to_forget_this(f"I met Ada today. {text}\nSee you tomorrow.")


@pytest.mark.parametrize("text", OTHER)
def test_what_only_speaks_of_remembering_is_no_request(text: str) -> None:
    assert not asks_to_forget_this(text)
    assert not asks_to_forget_this(f"I met Ada today.\n{text}\nSee you tomorrow.")


def test_a_request_before_or_behind_a_long_text_is_heard_but_not_a_sentence_within_it() -> None:
    novel = "The old man went down to the sea and looked at the boats. " * 2000
    assert asks_to_forget_this(f"Don't remember this: {novel}")
    assert asks_to_forget_this(f"{novel} Please don't save this.")
    assert not asks_to_forget_this(f"{novel} Don't remember this. {novel}")


@pytest.mark.parametrize(
    "begin", ["please don't ", "don't remember this x ", "merk dir bitte das ", "not ", "这个不要", "no "]
)
def test_the_longest_hostile_text_is_answered_from_its_ends(begin: str) -> None:
    # More than what is looked at makes no difference, and what is looked at ends.
    text = begin * (MAX_TEXT_BYTES // len(begin.encode()))
    assert asks_to_forget_this(text) is asks_to_forget_this(text + text)
