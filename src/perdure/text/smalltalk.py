"""Small talk: greetings, thanks, assent and laughter, which ask for nothing that could be remembered."""

from __future__ import annotations

from typing import Final

import regex

from perdure.text.folding import fold
from perdure.text.stopwords import STOP_WORDS

# Words in folded form. Words that may also be what a turn is about ("night", "morning", "love") count as small talk,
# since a turn needs only one word that is in no list to say something.
_WORDS: Final = """
    hi hello hey heya hiya yo howdy greetings morning afternoon evening night goodnight gn gm bye goodbye
    cya later cheers thanks thank thx ty tysm welcome ok okay okey k kk yes yep yeah yup yea no nope nah
    sure fine good great nice cool awesome perfect lovely amazing wow oh ah aha hmm hm mm mhm uh um lol lmao
    rofl haha hahaha hehe hah xd omg right alright exactly indeed true agreed deal done sorry oops please
    pls well anyway maybe guess np worries problem much lot day one sounds sound see got it mate buddy
    dear see hola buenas buenos dias tardes noches gracias muchas tal vale si claro bueno bien perfecto genial
    adios chao chau hasta luego jaja jajaja jeje oye venga nada abrazo besos hallo moin servus tschuss danke
    schon bitte gut guten morgen tag abend nacht genau klar super toll prima jo ne nee naja achso echt okay
    alles bonjour bonsoir salut coucou merci beaucoup oui non daccord parfait bien super bonne nuit soiree
    journee revoir ciao buongiorno buonasera buonanotte grazie mille prego perfetto bene certo arrivederci
    ola oi obrigado obrigada valeu tchau boa noite bom dia tarde beleza sim nao dank je wel hoi doei goed
    prima привет здравствуйте здравствуй пока спасибо пожалуйста да нет ага ладно хорошо отлично понятно ок
    доброе утро добрыи день вечер спокоинои ночи хаха 안녕 안녕하세요 감사합니다 고마워 고마워요 네 예 응
    아니 아니요 좋아 좋아요 알겠어 알겠습니다 ㅋㅋ ㅋㅋㅋ ㅎㅎ مرحبا السلام عليكم اهلا شكرا نعم لا حسنا تمام
    طيب مع السلامة صباح مساء الخير النور नमस्ते धन्यवाद शुक्रिया हां नहीं ठीक है अच्छा merhaba selam
    tesekkurler tesekkur ederim sagol evet hayir tamam iyi geceler gunaydin hosca kal
"""
# Written without spaces: cut out of the text wherever they stand.
_PHRASES: Final = """
    早上好 下午好 晚上好 晚安 早安 你好 您好 嗨 谢谢 多谢 谢了 不客气 没事 没关系 好的 好吧 好 嗯 哦 噢 啊
    呀 吧 了 呢 哈 嘿 呵 是的 对 行 可以 收到 明白 知道 再见 拜拜 哈喽 謝謝 晚上 早 こんにちは こんばんは
    おはようございます おはよう ありがとうございます ありがとう どうも おやすみなさい おやすみ はい うん
    いいえ 了解です 了解 すごい またね さようなら ですね です ね よ สวัสดีครับ สวัสดีค่ะ สวัสดี ขอบคุณครับ
    ขอบคุณค่ะ ขอบคุณมาก ขอบคุณ ราตรีสวัสดิ์ ฝันดี โอเค ได้เลย ครับ ค่ะ คะ นะ ใช่ ไม่เป็นไร 555
"""

SMALL_TALK: Final = frozenset(map(fold, _WORDS.split()))
_LEFT_OVER: Final = frozenset("你您我的是都也太很")
"""Chinese pronouns and particles that remain when the phrases are cut out."""
_IDLE: Final = SMALL_TALK.union(_LEFT_OVER, *STOP_WORDS.values())
_FUNCTION_WORDS: Final = frozenset().union(*STOP_WORDS.values())
_LONGEST_FIRST: Final = sorted(map(fold, _PHRASES.split()), key=len, reverse=True)
_CUT_OUT: Final = regex.compile("|".join(map(regex.escape, _LONGEST_FIRST)))
_WORD: Final = regex.compile(r"[\p{L}\p{N}\p{M}'’]+")
_DRAWN_OUT: Final = regex.compile(r"(\p{L})\1{2,}")
_LAUGHTER: Final = regex.compile(r"(?:[hj][aeiou]+){2,}h?|(?:ха)+х?|x+d+|w{2,}|5{3,}")


def says_something(text: str) -> bool:
    """Whether a turn has a word that is neither a function word nor small talk, in any script.

    >>> says_something("ok thanks, good night!"), says_something("Is Ada vegan?"), says_something("谢谢你")
    (False, True, False)
    """
    folded = _CUT_OUT.sub(" ", fold(text))
    return any(not _is_idle(word) for word in _WORD.findall(folded))


def is_elliptic(text: str) -> bool:
    """Whether a turn is function words alone, not all of them small talk, too: it goes on with what was said before.

    >>> is_elliptic("When is it?"), is_elliptic("und warum nicht?"), is_elliptic("ok thanks"), is_elliptic("Is it red?")
    (True, True, False, False)
    """
    folded = fold(text)
    words = [word.replace("'", "").replace("’", "") for word in _WORD.findall(folded)]
    if _CUT_OUT.search(folded) or not _FUNCTION_WORDS.issuperset(words):
        return False
    # "it" and "no" are in both lists.
    return not SMALL_TALK.issuperset(words)


def _is_idle(word: str) -> bool:
    plain = word.replace("'", "").replace("’", "")
    short = _DRAWN_OUT.sub(r"\1", plain)
    return not plain or plain in _IDLE or short in _IDLE or _LAUGHTER.fullmatch(plain) is not None
