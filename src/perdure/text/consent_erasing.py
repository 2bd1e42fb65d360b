"""Requests to forget what was said already, and wishes in other words: "erase this from your memory", "I don't want
this saved", "between us, don't store it". What asks at once not to remember stands in consent.py.

All patterns are in folded form. They are written apart only to be read: lines are joined.
"""

from __future__ import annotations

from typing import Final

# Where a clause may begin, perhaps with a word that leads to what is asked for, and where a request is over.
BEGIN: Final = r"(?:^|[.!?;:,\n(…—–\-。！？，、]\s*)"
SOFT_END: Final = r"(?=\s*(?:$|[.!?;:,\n)…—–\-。！？，、]))"

_TALKED_DE: Final = r"(?:gesagt|erzahlt|geschrieben|erwahnt|sage|sagte|erzahle|schreibe)"
_END_ZH: Final = r"(?:了|吧|哦|好吗|好嗎)?(?=\s*(?:$|[。！？，、.!?,\n]))"

ERASING: Final = {
    "en": rf"""
        {BEGIN}(?:(?:please|pls|so|and|but|ok|okay|just|actually|oh),? ){{0,2}}
        (?:(?:you can|can you|could you|would you|will you) (?:please |just )?)?forget (?:all |everything |that |what )?
        (?:that )?i(?:'ve| have)? (?:ever |just |even )?(?:said|told you|mentioned|wrote)
        (?: (?:about|regarding|concerning) [^.!?;,\n]{{1,60}}(?=\s*$))?
        (?: (?:that|this|it|anything|so|please|ok|okay)){{0,2}}{SOFT_END}
        |{BEGIN}(?:(?:please|and|so|ok|okay),? )?(?:strike|scratch|scrub|erase|delete|remove|wipe|clear)
        \ (?:this|that|it|all of (?:this|that)|everything)(?: i (?:just )?(?:said|told you))? from (?:your|the)
        \ (?:long-term )?(?:memory|memories|records?)(?: please)?{SOFT_END}
        |{BEGIN}(?:please )?(?:do not|don't|dont|never) keep (?:any of )?(?:this|that|these|it) in mind\b
        |\bi(?:'d| would) (?:prefer|like|appreciate) it if you (?:didn't|did not|don't)
        \ (?:remember|save|store|record|keep|log|note) (?:any of )?(?:this|that|it)(?: down)?{SOFT_END}
        |\bi (?:do not|don't|dont) want (?:any of )?(?:this|that|it)(?: conversation| chat| message)? (?:to be )?
        (?:remembered|saved|stored|recorded|kept|logged|memori[sz]ed)\b
        |\b(?:private|confidential|between (?:us|you and me)|personal|no notes|ignore what i(?: just| have)? said)\b
        [^.!?\n]{{0,40}}\b(?:do not|don't|dont) (?:save|store|record|keep|log|note) (?:it|this|that)(?: down)?{SOFT_END}
        |{BEGIN}(?:this is )?not for the record\b
    """,
    "de": rf"""
        {BEGIN}(?:bitte )?(?:speicher|speichere|merk dir|merke dir|notier|notiere|behalte)(?: dir| bitte)? nichts
        \ (?:von (?:dem|alldem|allem),? was ich(?: dir| ihnen| gerade| jetzt| eben){{0,3}} {_TALKED_DE}(?: habe| hab)?)
        {SOFT_END}
        |\bich (?:will|mochte|wunsche) nicht,? dass (?:das|dies|es|dieses gesprach|diese unterhaltung)(?: hier)?
        \ (?:gespeichert|gemerkt|aufgezeichnet|notiert|behalten|festgehalten) wird
        |{BEGIN}(?:bitte )?(?:vergiss|vergessen sie)(?: bitte| einfach| wieder| am besten){{0,2}},? alles,? was ich
        (?: dir| ihnen| das| gerade| eben| jetzt){{0,3}} {_TALKED_DE}(?: habe| hab)?{SOFT_END}
        |{BEGIN}(?:bitte )?(?:losch|losche|loschen sie|entfern|entferne|streich|streiche)(?: bitte)?
        \ (?:das|dies|es|alles|diese unterhaltung|dieses gesprach)(?: bitte| wieder){{0,2}} aus (?:deinem|dem|ihrem)
        \ (?:gedachtnis|speicher){SOFT_END}
        |{BEGIN}(?:bitte )?(?:vergiss|vergessen sie)(?: bitte)? das (?:gesagte|gesprach)(?: bitte)?{SOFT_END}
        |\bnicht furs? (?:das |dein )?(?:protokoll|gedachtnis)\b
        |\b(?:du brauchst dir|du musst dir|sie brauchen sich|sie mussen sich) (?:das|dies) nicht (?:zu )?merken
        {SOFT_END}
        |{BEGIN}(?:bitte )?behalte? (?:das|dies|es)(?: bitte)? nicht im (?:gedachtnis|kopf){SOFT_END}
    """,
    "fr": rf"""
        {BEGIN}(?:s'il te plait,? )?oublie(?:z)? tout ce que je (?:t'ai|vous ai|viens de (?:te |vous )?) ?
        (?:dit|dire|raconte){SOFT_END}
        |\bje ne veux pas que (?:tu|vous) (?:retiennes|reteniez|enregistres|enregistriez|gardes|gardiez|memorises
        |memorisiez|notes|notiez) (?:ca|cela|ceci|cette conversation){SOFT_END}
        |\b(?:je prefere|je prefererais|j'aimerais) que (?:tu|vous) (?:ne |n')(?:retiennes|reteniez|enregistres
        |enregistriez|gardes|gardiez|memorises|memorisiez|notes|notiez) pas (?:ca|cela|ceci|cette conversation)
        {SOFT_END}
        |{BEGIN}(?:s'il te plait,? )?(?:efface|effacez|supprime|supprimez) (?:ca|cela|ceci|tout ca|cette conversation)
        \ de (?:ta|votre|la) memoire{SOFT_END}
    """,
    "es": rf"""
        {BEGIN}(?:por favor,? )?olvid(?:a|e) todo lo que (?:te |le )?(?:dije|he dicho|acabo de decir){SOFT_END}
        |{BEGIN}(?:por favor,? )?no te acuerdes de (?:esto|eso|nada de esto|lo que (?:te )?(?:dije|digo|he dicho))
        {SOFT_END}
        |{BEGIN}(?:por favor,? )?(?:borra|borre|elimina|elimine|quita|quite) (?:esto|eso|todo esto|esta conversacion)
        \ de (?:tu|su|la) memoria{SOFT_END}
        |\b(?:esto|eso),? no (?:lo )?(?:guardes|recuerdes|memorices|almacenes|registres|anotes){SOFT_END}
    """,
    "it": rf"""
        {BEGIN}(?:per favore,? )?non ricordarti di (?:questo|cio|niente|quello che (?:ti )?(?:ho detto|dico)){SOFT_END}
        |{BEGIN}(?:per favore,? )?dimentica tutto (?:quello|cio) che (?:ti )?ho (?:appena )?detto{SOFT_END}
        |{BEGIN}(?:per favore,? )?(?:cancella|elimina|rimuovi) (?:questo|cio|tutto|questa conversazione) dalla (?:tua )?
        memoria{SOFT_END}
        |\b(?:questo|cio|questa cosa) non (?:memorizzarl[oa]|salvarl[oa]|registrarl[oa]|ricordarl[oa]|annotarl[oa])
        {SOFT_END}
        |{BEGIN}(?:per favore,? )?non tenere (?:traccia|nota) di (?:questo|cio|questa conversazione){SOFT_END}
    """,
    "pt": rf"""
        {BEGIN}(?:por favor,? )?esque(?:ce|ca)(?: tudo)? o que eu (?:te )?(?:disse|falei
        |acabei de (?:te )?(?:dizer|falar)){SOFT_END}
        |{BEGIN}(?:por favor,? )?(?:apag(?:a|ue)|elimin(?:a|e)|delet(?:a|e)|remov(?:a|e)) (?:isto|isso|tudo isso
        |esta conversa|essa conversa) da (?:sua |tua )?memoria{SOFT_END}
        |\b(?:isto|isso) nao e (?:para|pra) (?:guardar|lembrar|memorizar|registrar|salvar|anotar){SOFT_END}
    """,
    "ru": rf"""
        {BEGIN}(?:пожалуйста,? )?забудь(?:те)?,? (?:то|все),? что я (?:только что |сейчас )?(?:сказал|сказала|говорил
        |говорила|написал|написала|рассказал|рассказала){SOFT_END}
        |\bя не хочу,? чтобы (?:ты|вы) (?:это |этот разговор )?(?:запоминал|сохранял|записывал|помнил)(?:а|и)?
        (?: это| этот разговор)?{SOFT_END}
        |{BEGIN}(?:пожалуйста,? )?(?:сотри(?:те)?|удали(?:те)?|вычеркни(?:те)?) (?:это|все это|этот разговор)
        \ из (?:своей |вашей )?памяти{SOFT_END}
        |\bне для (?:протокола|записи){SOFT_END}
        |{BEGIN}(?:пожалуйста,? )?не храни(?:те)? (?:это|этот разговор){SOFT_END}
    """,
    "zh": rf"""
        (?:不要|别|別|不用|不必)把(?:这|這|那|我(?:刚才|剛才|刚|剛)?(?:说|說)的)[^。！？，,!?\n]{{0,8}}?
        (?:记录|記錄|记住|記住|记下|記下|存储|存儲|存|保存)(?:下来|下來|起来|起來)?{_END_ZH}
        |把我(?:刚才|剛才|刚刚|剛剛)?(?:说|說)(?:的|过的|過的)(?:话|話|事)?(?:都|全)?(?:忘掉|忘了|忘记|忘記|删掉|删除|刪除)
        |(?:请|請)(?:忘掉|忘记|忘記)(?:这|這|此)(?:件事|个|個|些|段(?:话|話|对话|對話)|事)?{_END_ZH}
        |(?:从|從)(?:你的|您的)?(?:记忆|記憶)(?:里|中|裡)?(?:删除|刪除|删掉|刪掉|抹掉|清除)(?:这|這|此|刚才|剛才|我)
        |不(?:想|希望|愿意|願意)(?:让|讓)?你(?:记住|記住|记录|記錄|保存|记下|記下)(?:这|這|我)
        |(?:当|當)我(?:什么都|什麼都)?(?:没|沒)(?:有)?(?:说|說)(?:过|過)?{_END_ZH}
    """,
}

CUES: Final = {
    "en": "forget |strike |scratch |scrub |erase |delete |remove |wipe |clear |in mind| if you |n't want|not want|don't"
    "|dont |do not |not for",
    "de": "nichts|nicht|vergiss|vergessen|losch|entfern|streich",
    "fr": "oublie|ne veux pas|ne |n'|efface|supprime",
    "es": "olvid|no |borr|elimin|quit",
    "it": "non |dimentica|cancella|elimina|rimuovi",
    "pt": "esque|apag|elimin|delet|remov|nao ",
    "ru": "забудь|не |сотри|удали|вычеркни",
    "zh": "不|别|別|把我|从|從|当我|當我|忘",
}
"""What every such request of a language holds somewhere."""
