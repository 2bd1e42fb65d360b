"""Whether a text asks the assistant to read, look up, tell or write something, in the languages people say it in.

What the assistant answers to "read me the mail from Bob" is Bob's word and not the user's, though there is no question
mark. "I read your mail" and "remember that I sing" ask for nothing of the kind.
"""

from __future__ import annotations

from typing import Final

import regex

from perdure.text.folding import fold

LOOKED_AT: Final = 2000
"""Characters of a text that are looked at: who asks for something says so at the beginning or at the end of it."""

# In folded form: accents and case are gone. Each is what a clause of the request begins with, a greeting aside.
_VERBS: Final = {
    "en": """
        read show tell list find search look check open summari[sz]e sum~up translate explain describe quote recite
        repeat give get fetch pull bring display print draft write compose rewrite google browse scan analy[sz]e
        review compare calculate convert recap brief remind~me~what remind~me~when remind~me~who
        remind~me~where recommend suggest name what's what~is what~are who~is when~is where~is how~is how~do how~many
        go~through
    """,
    "de": """
        lies lese lest lesen~sie zeig(?:e|t|en~sie)? sag(?:e|~mir|en~sie) nenn(?:e|en~sie)? such(?:e|en~sie)?
        find(?:e|en~sie)? schau(?:e|en~sie)? schlag(?:e)?~nach pruf(?:e|en~sie)? offne fass(?:e|en~sie)? ubersetz(?:e)?
        erklar(?:e)? beschreib(?:e)? zitier(?:e)? wiederhol(?:e)? gib hol(?:e)? schreib(?:e)? entwirf erzahl(?:e)?
        analysier(?:e)? vergleich(?:e)? berechne google was~ist was~steht was~sagt wer~ist wann~ist wo~ist
    """,
    "fr": """
        lis lisez montre(?:z|-moi)? dis-moi dites-moi raconte(?:z|-moi)? cherche(?:z)? trouve(?:z)? regarde(?:z)?
        verifie(?:z)? ouvre(?:z)? resume(?:z)? traduis traduisez explique(?:z)? decris cite(?:z)? repete(?:z)?
        donne(?:z|-moi)? ecris redige(?:z)? liste(?:z)? analyse(?:z)? compare(?:z)? calcule(?:z)? consulte(?:z)?
    """,
    "es": """
        lee(?:me|melo|d)? lea(?:me)? muestra(?:me)? muestre(?:me)? dime diga(?:me)? cuenta(?:me)? busca(?:me)? busque
        encuentra mira revisa(?:r)? abre resume(?:me)? traduce(?:me)? explica(?:me)? describe cita repite da(?:me)
        escribe(?:me)? redacta lista enumera analiza compara calcula consulta comprueba
    """,
    "it": """
        leggi(?:mi)? legga(?:mi)? mostra(?:mi)? dimmi dica(?:mi)? racconta(?:mi)? cerca(?:mi)? trova(?:mi)? guarda
        controlla apri riassumi(?:mi)? traduci(?:mi)? spiega(?:mi)? descrivi cita ripeti dammi scrivi(?:mi)? elenca
        analizza confronta calcola consulta
    """,
    "pt": """
        le~(?:me|o|a|os|as) leia(?:-me)? mostra(?:-me)? mostre(?:-me)? me~mostr[ae] diz(?:-me)? diga(?:-me)? me~diga
        me~diz conta(?:-me)? me~conte procura procure busca busque encontra encontre olha~o verifica verifique abre abra
        resume resuma traduz traduza explica explique descreve descreva cita repete repita da-me me~da me~de escreve
        escreva lista liste analisa analise compara compare calcula calcule consulta consulte
    """,
    "nl": """
        lees toon laat~(?:me|mij|eens)? vertel zeg zoek vind kijk controleer open vat vertaal leg~uit beschrijf citeer
        herhaal geef schrijf stel~op som~op analyseer vergelijk bereken
    """,
    "pl": "przeczytaj pokaz powiedz znajdz wyszukaj sprawdz otworz podsumuj przetlumacz wyjasnij opisz podaj napisz",
    "ru": """
        прочитай(?:те)? прочти(?:те)? зачитай(?:те)? покажи(?:те)? скажи(?:те)? расскажи(?:те)? найди(?:те)?
        поищи(?:те)?
        посмотри(?:те)? проверь(?:те)? открой(?:те)? перескажи(?:те)? переведи(?:те)? объясни(?:те)? опиши(?:те)?
        повтори(?:те)? дай(?:те)? напиши(?:те)? перечисли(?:те)? сравни(?:те)? посчитай(?:те)?
    """,
    "tr": (
        r"[^.!?\n]{0,80}(?:oku|goster|soyle|anlat|bul|ozetle|cevir|acikla|listele|yaz|kontrol~et)(?:r~misin)?"
        r"(?:~bana)?(?=\s*(?:$|[.!?,]))"
    ),
}
_FIRST: Final = r"""
    (?:(?:please|pls|hey|hi|hello|ok(?:ay)?|so|now|then|and|also|can~you|could~you|would~you|will~you|i~(?:want|need)~you~to
    |bitte|kannst~du|konntest~du|konnen~sie|und|jetzt|mal|s'il~te~plait|stp|svp|peux-tu|pouvez-vous|tu~peux|et
    |por~favor|puedes|podrias|y|per~favore|puoi|potresti|e|podes|voce~pode|pode|kun~je|alsjeblieft|en|prosze|mozesz
    |пожалуйста|можешь|lutfen)[\s,:]{1,3}){0,3}
"""
_NO_SPACES: Final = r"""
    (?:请|請|帮我|幫我|给我|給我|麻烦|麻煩|能不能|可以)[^。！？!?\n]{0,12}?(?:读|讀|念|看|查|找|搜|搜索|告诉|告訴|列|总结|總結|翻译|翻譯|解释|解釋|写|寫|打开|打開|说|說)
    |(?:^|[。！？!?，,\n]\s*)(?:读|讀|念|查|搜索|告诉我|告訴我|总结|總結|翻译|翻譯|解释|解釋|列出|打开|打開)
    |(?:読んで|見せて|教えて|調べて|探して|検索して|要約して|翻訳して|説明して|書いて|開いて|まとめて)(?:ください|くれ|ほしい|もらえ|ね|よ|下さい)?
    |(?:읽어|보여|알려|말해|찾아|검색해|요약해|번역해|설명해|써|열어)\s?(?:줘|주세요|줄래|주실래요|봐|줄)
"""


def _plain(pattern: str) -> str:
    """A pattern without the white space that it is laid out with; "~" stands for a space."""
    return "".join(pattern.split()).replace("~", " ")


_WORDS: Final = "|".join("|".join(words.split()) for words in _VERBS.values())
_ASKS: Final = regex.compile(
    rf"(?:^|[.!?;:\n…—–]\s{{0,4}}|,\s)(?:{_plain(_FIRST)})(?:{_plain(_WORDS)})"
    rf"(?=$|[\s.,!?:;'’\"-])|{fold(_plain(_NO_SPACES))}"
)


def is_request(text: str) -> bool:
    """Whether `text` asks for something to be read, shown, looked up, told or written.

    >>> is_request("Read me the mail from Bob, please"), is_request("I read the mail from Bob")
    (True, False)
    """
    parts = [text] if len(text) <= 2 * LOOKED_AT else [text[:LOOKED_AT], text[-LOOKED_AT:]]
    return any(_ASKS.search(fold(part)) is not None for part in parts)
