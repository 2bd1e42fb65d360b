"""Consent: whether somebody asks that what is being said is not remembered, in the languages people say it in.

"Don't remember this" is such a request; "I don't remember this song", "don't forget to remember the milk" and "don't
save this file" are none. A request stands at the beginning of a clause, its verb is one of keeping, and its object is
what is being said ("this", "what I tell you", "our conversation") and nothing else.
"""

from __future__ import annotations

from typing import Final

import regex

from perdure.text.consent_erasing import BEGIN as _BEGIN
from perdure.text.consent_erasing import CUES, ERASING
from perdure.text.consent_erasing import SOFT_END as _SOFT_END
from perdure.text.folding import fold

LOOKED_AT: Final = 2000
"""Characters at either end of a message that are looked at: a request stands before or after what it is about, and a
novel that is pasted between holds such words without asking for anything."""

_ENGLISH_TALK: Final = (
    r"(?:(?:any ?(?:thing )?of )?(?:this|that|it|these|those) (?:conversation|chat|message|exchange|part|bit|one|secret"
    r"|detail|details|turn|session|information|info|stuff)"
    r"|(?:anything|what|everything|whatever|a word) (?:that )?(?:i|we)(?:'m|'re|'ve|'ll| am| are| have| just| ever)?"
    r"(?: just| about to| going to)? (?:say|said|saying|tell|told|telling|write|wrote|share|shared|mention(?:ed)?)"
    r"(?: you| to you)?|(?:our|the|my) (?:conversation|chat|message|messages|discussion|talk))"
)
_ENGLISH_THIS: Final = r"(?:any ?(?:thing )?of )?(?:this|that)|anything"
# "Don't remember it" can only mean what was said; "don't store it" may mean a lamp, "don't keep this" a dog.
_ENGLISH_OBJECTS: Final = (
    rf"(?:(?:remember|memori[sz]e|retain|log|note|(?:take|make) (?:a )?notes? of)\ "
    rf"(?:{_ENGLISH_TALK}|{_ENGLISH_THIS}|it|these|those)"
    rf"|(?:save|store|record)\ (?:{_ENGLISH_TALK}|{_ENGLISH_THIS})"
    rf"|(?:keep|hold on to|hang on to)\ {_ENGLISH_TALK}"
    r"|(?:commit|add|put|write|save|store|keep) (?:(?:any of )?(?:this|that|these|those)|it|anything)"
    r" (?:to|in|into|on) (?:your |the )?(?:memory|memories|record|file)"
    rf"|(?:keep|make|take|store) (?:a |any )?(?:record|records|trace|log|copy|note|notes) of (?:{_ENGLISH_TALK}"
    rf"|{_ENGLISH_THIS}|it|these|those)"
    r"|(?:write|note|jot) (?:this|that|it|any of (?:this|that)) down)"
)
_ENGLISH_AFTER: Final = (
    r"(?: (?:please|pls|ok|okay|though|anywhere|at all|ever|now|today|either|yet|from now on|from here on"
    r"|(?:in|to) (?:your |the )?(?:memory|memories)"
    r"|(?:and|but|because|since|it's|its|this is|just|thanks?|thank you|alright)\b.*"
    r"|as (?!(?:it|they) (?:is|are)\b)(?:i|i'm|it|it's|he|she|they|we|you|this is|that's)\b.*)\b)?"
)
_ENGLISH_FIRST: Final = (
    r"(?:(?:please|pls|kindly|and|but|so|just|ok|okay|hey|also|oh|well|now|then|actually|btw|by the way|important|note"
    r"|one thing|assistant|bot) ?,? ?){0,3}"
)

_REQUESTS: Final = {
    "en": rf"""
        (?:{_BEGIN}{_ENGLISH_FIRST}|\s(?:and|but|so|also) (?:also )?(?:please|pls),? )
        (?:do not|don't|dont|never|you (?:must|should|may) not|you (?:mustn't|shouldn't)
        |(?:can|could|would|will) you (?:please |maybe |just )?not|(?:there's |there is |you have )?no need to
        |you don't (?:have|need) to
        |i (?:do not|don't|dont) want you to|i(?:'d| would) (?:rather|prefer)(?: that)? you (?:not|didn't|did not|don't)
        |i(?:'d| would) prefer (?:if )?you (?:didn't|did not|don't))(?: (?:please|ever|even|you dare(?: to)?))?
        \ {_ENGLISH_OBJECTS}{_ENGLISH_AFTER}{_SOFT_END}
        |(?:^|[\s(])(?:this|that|it|everything)(?:'s| is| stays?| was| should (?:be|stay)| must (?:be|stay)
        | has to (?:be|stay))?
        (?: all| strictly)? off the record\b
        |\b(?:keep (?:this|that|it)|speaking|strictly) off the record\b|^[^a-z]{{0,4}}off the record\b
        |\b(?:keep|leave) (?:this|that|it|this conversation|our conversation) out of (?:your |the )?(?:memory
        |memories|records|notes)\b
        |\bnot for (?:your|the) (?:memory|memories|records?)\b
        |\b(?:this|that|it) (?:(?:should|must|may) ?not|shouldn't|mustn't) be (?:remembered|saved|recorded|memori[sz]ed)
        {_SOFT_END}
        |{_BEGIN}{_ENGLISH_FIRST}forget (?:that |what )?i (?:ever |just |even )?(?:said|told you|mentioned)
        (?: (?:that|this|it|anything|any of (?:this|that)|so))?{_SOFT_END}
        |{_BEGIN}{_ENGLISH_FIRST}forget (?:this|our|the) (?:conversation|chat|message|exchange)(?: please
        | ever happened)?{_SOFT_END}
        |(?:{_BEGIN}{_ENGLISH_FIRST}|\s(?:and|but|so) (?:please|pls) |{_BEGIN}(?:can|could|would) you (?:please )?)
        (?:delete|erase|remove|wipe|clear|drop) (?:{_ENGLISH_TALK}|{_ENGLISH_THIS}|it|these|those)
        \ from (?:your |the )?(?:long-term )?(?:memory|memories)(?: please| again| afterwards| now)?{_SOFT_END}
    """,
    "de": rf"""
        (?:merk|merke|merken sie|speicher|speichere|speichern sie|behalte|behalt|notier|notiere|notieren sie
        |erinnere|archiviere)
        (?: dir| dich| sich| bitte| das| dies| es| diese unterhaltung| dieses gesprach| diese nachricht
        | nichts davon| davon| hiervon
        | was ich(?: dir| gerade| jetzt| eben)* (?:sage|sagte|erzahle|schreibe|gesagt habe|erzahlt habe
        |geschrieben habe)){{1,4}}
        \ (?:bitte )?(?:nicht|nirgends|nirgendwo|auf keinen fall|ja nicht|bloß nicht|bloss nicht){_SOFT_END}
        |(?:merk|merke|speicher|speichere|notier|notiere)(?: dir| bitte)* nichts (?:davon|hiervon){_SOFT_END}
        |{_BEGIN}(?:(?:also|und|aber|ok|bitte),? )?(?:das|dies|dieses gesprach|diese unterhaltung|es)(?: hier
        | bitte| jetzt)* (?:bitte )?nicht (?:merken|speichern|behalten|notieren|abspeichern|aufzeichnen){_SOFT_END}
        |(?:{_BEGIN}(?:(?:also|ok|und|aber),? )?|\s(?:und|aber) )bitte (?:(?:davon|hiervon) )?(?:nicht|nichts)
        (?: davon| hiervon)? (?:merken|speichern|behalten|notieren|abspeichern|aufzeichnen){_SOFT_END}
        |\bunter uns[ ,;:–—\-]{{1,3}}(?:also |und )?(?:bitte )?nicht (?:merken|speichern|notieren
        |aufzeichnen){_SOFT_END}
        |\b(?:das|dies|es) (?:sollst|darfst|sollten|durfen|musst)(?: du| sie)? (?:dir |sich )?nicht (?:merken
        |speichern|behalten|notieren){_SOFT_END}
        |\b(?:du sollst|ich will nicht dass du|ich mochte nicht dass du|ich will nicht, dass du
        |ich mochte nicht, dass du)
        (?: dir)? (?:das|dies|es)(?: dir)? (?:nicht )?(?:merken|merkst|speichern|speicherst|behaltst
        |notierst){_SOFT_END}
        |{_BEGIN}(?:bitte )?(?:vergiss|vergessen sie)(?: bitte)?,? (?:was|dass) ich (?:(?:dir|ihnen|das|es|gerade
        |eben|jetzt) ){{0,3}}
        (?:gesagt|erzahlt|geschrieben|erwahnt)(?: habe| hab)?{_SOFT_END}
        |\b(?:unter uns gesagt und )?nicht fur (?:dein|das) (?:gedachtnis|protokoll)\b
    """,
    "fr": rf"""
        {_BEGIN}(?:s'il (?:te|vous) plait,? |stp |svp |merci de |et |mais |je prefere que tu
        \ |je ne veux pas que tu )?
        (?:n'|ne )(?:le |la |l')?(?:retiens|retenez|retenir|memorise|memorisez|memoriser|enregistre|enregistrez
        |enregistrer
        |garde|gardez|garder|sauvegarde|sauvegardez|sauvegarder|note|notez|noter|te souviens
        |t'en souviens|t'en souvenir|vous en souvenez|stocke|stockez|stocker
        |conserve|conservez)
        (?: surtout)? (?:pas|rien|jamais)(?: (?:ca|cela|ceci|de ca|de cela|de ceci|de tout ca
        |(?:de )?ce que je (?:te |vous )?(?:dis|viens de dire|raconte|ai dit)
        |cette (?:conversation|discussion)|ce message|en memoire))?(?: en memoire| s'il (?:te|vous) plait| stp
        | svp)?{_SOFT_END}
        |{_BEGIN}(?:merci de |priere de |de )?ne pas (?:retenir|memoriser|enregistrer|garder|sauvegarder|noter
        |stocker|conserver) (?:ca|cela|ceci
        |ce que je (?:te |vous )?dis|cette (?:conversation|discussion)|ce message){_SOFT_END}
        |{_BEGIN}(?:s'il te plait,? )?oublie(?:z)? (?:ce que je (?:viens de (?:te |vous )?dire|t'ai dit
        |vous ai dit)|que j'ai dit ca|cette conversation){_SOFT_END}
    """,
    "es": rf"""
        {_BEGIN}(?:por favor,? |pero |y |oye,? )?(?:no|nunca|no quiero que|prefiero que no) (?:lo |la |te |se )?
        (?:recuerdes|recuerde|acuerdes|guardes|guarde|memorices|memorice|almacenes|almacene|registres|registre
        |anotes|anote|apuntes|grabes)
        (?: (?:esto|eso|esta conversacion|este mensaje|este chat|nada de esto|nada de lo que (?:te )?(?:digo|diga)
        |lo que (?:te )?(?:digo|dije|acabo de decir|he dicho)))
        (?: por favor| en (?:tu )?memoria)?{_SOFT_END}
        |{_BEGIN}(?:por favor,? )?no (?:lo|la) (?:guardes|recuerdes|memorices|almacenes|registres
        |anotes)(?: por favor)?{_SOFT_END}
        |{_BEGIN}(?:por favor,? )?olvida (?:lo que (?:te )?(?:dije|he dicho|acabo de decir)|que (?:te )?(?:dije
        |he dicho) (?:esto|eso)|esta conversacion){_SOFT_END}
        |\bextraoficialmente,? no\b
    """,
    "it": rf"""
        {_BEGIN}(?:per favore,? |ti prego,? |ma |e )?(?:non|non voglio che (?:tu )?|preferisco che (?:tu )?non) ?
        (?:ricordare|ricordarti|ricordartelo|ricordi|memorizzare|memorizzi|memorizzarlo|salvare|salvi|salvarlo
        |registrare|registri|registrarlo|conservare|annotare|annotarlo|tenere a mente)
        (?: (?:questo|quello|cio|questa (?:conversazione|chat)|questo messaggio|niente di tutto questo|(?:quello
        |cio) che (?:ti )?(?:dico|ho detto|sto dicendo)))?
        (?: in memoria| per favore)?{_SOFT_END}
        |{_BEGIN}(?:per favore,? )?dimentica (?:(?:quello|cio) che (?:ti )?(?:ho (?:appena )?detto)
        |questa conversazione){_SOFT_END}
    """,
    "pt": rf"""
        {_BEGIN}(?:por favor,? |mas |e |olha,? )?(?:nao|nunca|nao quero que (?:voce )?
        |prefiro que (?:voce )?nao) ?(?:te |se |voce )?
        (?:lembres?|recordes?|guardes?|memorizes?|salves?|armazenes?|registres?|anotes?|grave|lembrar|guardar
        |salvar)(?: de| disso| disto)?
        (?: (?:isto|isso|disso|disto|nada disso|esta conversa|essa conversa|esta mensagem|essa mensagem|(?:o
        |do) que eu (?:te )?(?:disse|digo|falei|estou dizendo)))?
        (?: na memoria| por favor)?{_SOFT_END}
        |{_BEGIN}(?:por favor,? )?esque(?:ce|ca) (?:o que eu (?:te )?(?:disse|falei)|que eu (?:disse|falei) isso
        |esta conversa|essa conversa){_SOFT_END}
    """,
    "nl": rf"""
        {_BEGIN}(?:alsjeblieft,? |en |maar )?(?:onthoud|onthou|bewaar|sla|noteer|registreer) (?:dit|dat|het
        |dit gesprek|dit bericht|wat ik (?:zeg|net zei))
        (?: alsjeblieft)? (?:niet|nergens)(?: op)?(?: alsjeblieft)?{_SOFT_END}
        |\b(?:dit|dat|dit gesprek|dit bericht)(?: alsjeblieft)? niet (?:onthouden|bewaren|opslaan|noteren){_SOFT_END}
        |\b(?:ik wil niet dat je (?:dit|dat|het) (?:onthoudt|bewaart|opslaat)){_SOFT_END}
        |{_BEGIN}(?:vergeet (?:wat ik (?:net )?(?:zei|heb gezegd)|dit gesprek)){_SOFT_END}
    """,
    "sv": rf"""
        {_BEGIN}(?:snalla,? )?(?:kom inte ihag|spara inte|minns inte|lagra inte|lagg inte pa minnet|husk ikke
        |gem ikke|ikke husk|ikke lagre)
        (?: (?:detta|det har|det|det dar|dette|det her|den har konversationen|vad jag sager|denne samtalen?
        |denne samtale))(?: tack)?{_SOFT_END}
    """,
    "pl": rf"""
        {_BEGIN}(?:prosze,? |ale )?(?:nie (?:zapamietuj|zapamietywac|zapisuj|zapisywac|przechowuj|notuj
        |pamietaj))(?: (?:tego|tej rozmowy|tej wiadomosci|tego co (?:mowie|powiedzialem|powiedzialam)
        |niczego z tego))
        (?: prosze)?{_SOFT_END}
        |{_BEGIN}(?:prosze,? )?zapomnij(?:,)? (?:co (?:powiedzialem|powiedzialam)|o tej rozmowie
        |ze to (?:powiedzialem|powiedzialam)){_SOFT_END}
    """,
    "ru": rf"""
        {_BEGIN}(?:пожалуйста,? |но |и |только )?(?:не (?:запоминай(?:те)?|сохраняй(?:те)?|записывай(?:те)?
        |запоминать|сохранять|записывать|хранй(?:те)?|надо (?:это )?(?:запоминать|сохранять|записывать)))
        (?: (?:это|этого|этот разговор|эту (?:переписку|беседу)|это сообщение|то,? что я (?:говорю|сказал|сказала
        |написал|написала)|ничего из этого))?(?:,? пожалуйста)?{_SOFT_END}
        |\bэто (?:не (?:запоминай(?:те)?|сохраняй(?:те)?|записывай(?:те)?)|не (?:надо|нужно) (?:запоминать
        |сохранять|записывать)){_SOFT_END}
        |{_BEGIN}(?:пожалуйста,? )?забудь(?:те)?,? (?:то,? )?(?:что я (?:сказал|сказала|говорил|говорила|написал
        |написала)(?: это)?|этот разговор){_SOFT_END}
    """,
    "uk": rf"""
        {_BEGIN}(?:будь ласка,? |але )?не (?:запам'ятовуй(?:те)?|запамятовуй(?:те)?|зберігай(?:те)?
        |записуй(?:те)?)(?: (?:це|цього|цю розмову|те,? що я (?:кажу|сказав|сказала)))(?:,? будь ласка)?{_SOFT_END}
    """,
    "tr": rf"""
        \b(?:bunu|bunlari|bu konusmayi|bu sohbeti|bu mesaji|soyledigimi|soylediklerimi|dediklerimi)(?: lutfen
        | sakin)? (?:hatirlama|kaydetme|saklama|aklinda tutma|hafizana alma|not alma|unutma degil kaydetme)
        (?:yin|yiniz|n)?(?: lutfen)?{_SOFT_END}
        |\b(?:soyledigimi|soylediklerimi|dedigimi|bu konusmayi) unut(?: lutfen)?{_SOFT_END}
    """,
    "vi": rf"""
        {_BEGIN}(?:xin |lam on |vui long )?(?:đung|dung|khong duoc|xin đung) (?:nho|luu|ghi nho|ghi lai
        |luu lai)(?: (?:đieu nay|dieu nay|cai nay|chuyen nay|viec nay|cuoc tro chuyen nay|nhung gi (?:toi
        |minh) noi))(?: nhe| nha)?{_SOFT_END}
    """,
    "id": rf"""
        {_BEGIN}(?:tolong |mohon )?(?:jangan|tidak usah|tak usah) (?:di)?(?:ingat|simpan|catat|rekam|menyimpan
        |mengingat|mencatat)(?: (?:ini|itu|hal ini|percakapan ini|obrolan ini|pesan ini|apa yang (?:saya
        |aku) katakan))?(?: ya)?{_SOFT_END}
    """,
    "zh": r"""
        (?:请|請)?(?:不要|别|別|不用|不必|勿|千万别|千萬別)(?:再)?(?:记住|記住|记录|記錄|保存|储存|儲存|存储|存下来|存下來|记下来|記下來|记下|記下|记|記|存)
        (?:这个|這個|这些|這些|这件事|這件事|这段(?:对话|话)|這段(?:對話|話)|这次对话|這次對話|此事|我(?:刚才|剛才|刚|剛)?说的(?:话)?|我(?:刚才|剛才)?說的(?:話)?|以下内容
        |以下內容|本次对话|它)?(?:到记忆里|在记忆里|进记忆|下来|下來)?(?:了|吧|哦|好吗|好嗎)?(?=\s*(?:$|[。！？，、.!?,\n]))
        |(?:这个|這個|这件事|這件事|这些|這些|这段对话|這段對話)(?:请|請)?(?:不要|别|別|不用|不必)(?:记住|記住|记录|記錄|保存|储存|儲存|记下来|記下來|记|記|存)(?:了
        |吧)?(?=\s*(?:$|[。！？，、.!?,\n]))
        |(?<![别別要不])忘(?:掉|了|记|記)我(?:刚才|剛才|刚刚|剛剛)?(?:说|說)(?:的|过的|過的)(?:话|話|事)?
    """,
    "ja": r"""
        (?:これ|この(?:話|会話|こと|件|メッセージ)|今の(?:話|こと)?|今言ったこと|それ|以下)(?:は|を|も)?(?:絶対に|どうか)?
        (?:覚えないで|覚えなくて(?:いい|も)|記憶しないで|記録しないで|保存しないで|記憶に残さないで|残さないで|メモしないで)
        |(?:今|さっき)(?:言った|話した)こと(?:は|を)忘れて(?:ください|くれ|ね)?(?=\s*(?:$|[。！？、.!?,\n]))
        |オフレコ(?:で|に|です)
    """,
    "ko": r"""
        (?:(?:이거|이것|이건|이|지금|방금|내가)\s?(?:대화|이야기|얘기|말|내용|메시지|말한 것|말한 거|거|것)?
        |대화|이야기|얘기|메시지)
        (?:은|는|을|를|도)?\s?(?:절대\s)?
        (?:기억하지|저장하지|기록하지|메모하지|남기지|외우지)\s?
        (?:마|말아|마세요|말아줘|말아 ?주세요|마라|말 ?것|말아요)
        |(?:방금|내가|제가)\s?(?:한|말한|이야기한)\s?(?:말|것|거|얘기)(?:은|는|을|를)?\s?잊어\s?(?:줘|주세요|버려)
    """,
    "ar": rf"""
        (?:من فضلك |رجاء |ارجوك )?لا (?:تتذكر|تتذكري|تحفظ|تحفظي|تخزن|تسجل|تسجلي|تحتفظ ب|تدون)(?:ه|ها)? ?(?:هذا|هذه
        |ذلك|هذه المحادثه|هذا الكلام|هذا الامر|هذه الرساله|ما (?:اقوله|قلته)(?: لك)?)
        (?: من فضلك| رجاء)?{_SOFT_END}
        |انس(?:ي)? ما قلت(?:ه)?(?: لك)?{_SOFT_END}
    """,
    "hi": r"""
        (?:इसे|यह|ये|इस बात को|यह बात|ये बात|इस बातचीत को|मेरी यह बात)\s(?:कृपया\s|प्लीज\s)?(?:याद|सेव|सहेज|रिकॉर्ड
        |नोट|स्टोर)\s?(?:मत|न|ना|नहीं)\s?(?:रखना|रखो|रखें|रखिए|करना|करो|करें|कीजिए)
        |(?:इसे|यह|ये)\s(?:मत|न)\s(?:याद|सहेज)
    """,
    "th": r"""
        (?:อย่า|ไม่ต้อง|ห้าม)(?:จำ|จดจำ|บันทึก|เก็บ|จดบันทึก)(?:เรื่อง|ข้อความ|บทสนทนา|สิ่ง|อัน|ข้อมูล)?(?:นี้|นั้น
        |ที่ฉันพูด|ที่ผมพูด)
    """,
    "he": rf"""
        {_BEGIN}(?:בבקשה,? )?אל (?:תזכור|תזכרי|תשמור|תשמרי|תרשום|תרשמי|תתעד)(?: את)?(?: (?:זה|השיחה הזאת|השיחה הזו
        |מה ש(?:אני אומר|אמרתי))){_SOFT_END}
    """,
}


# What every request of a language holds somewhere: a sentence without it is not looked at closely.
_CUES: Final = {
    "en": "n't|dont | not |never |not for|off the record|out of|forget |do not|no need"
    "|delete |erase |remove |wipe |clear |drop ",
    "de": "nicht|nirgend|vergiss|vergessen sie",
    "fr": " pas|rien|jamais|oublie",
    "es": "no |nunca |olvida",
    "it": "non |dimentica",
    "pt": "nao |nunca |esquec|esquea|esque",
    "nl": "niet|nergens|vergeet",
    "sv": "inte|ikke",
    "pl": "nie |zapomnij",
    "ru": "не |забудь",
    "uk": "не ",
    "tr": "hatirlama|kaydetme|saklama|tutma|alma|unut",
    "vi": "đung|dung |khong đuoc",
    "id": "jangan|usah",
    "zh": "不|别|別|勿|忘",
    "ja": "ないで|なくて|忘れて|オフレコ",
    "ko": "지 마|지마|지 말|지말|잊어",
    "ar": "لا |انس",
    "hi": " मत|याद|सेव|न ",
    "th": "อย่า|ไม่ต้อง|ห้าม",
    "he": "אל ",
}
_SENTENCE_ENDS: Final = regex.compile(r"[.!?。\n]+")


def _compiled(lines: str) -> regex.Pattern[str]:
    """One pattern from lines that are written apart only to be read, folded as the texts are that it meets."""
    return regex.compile(fold("".join(line.strip() for line in lines.splitlines())))


_LANGUAGES: Final = tuple(
    (tuple(map(fold, cues[language].split("|"))), _compiled(lines))
    for requests, cues in ((_REQUESTS, _CUES), (ERASING, CUES))
    for language, lines in requests.items()
)

# Every captured message is looked through for all of them: one flat list takes a third of the time of one in the other.
_CUES_OF_ALL: Final = tuple((cue, place) for place, (cues, _) in enumerate(_LANGUAGES) for cue in cues)


def asks_to_forget_this(text: str) -> bool:
    """Whether a message asks that it, or the talk it belongs to, is not remembered.

    >>> asks_to_forget_this("Don't remember this, please: I'm looking for a new job.")
    True
    >>> asks_to_forget_this("I don't remember this song"), asks_to_forget_this("Don't forget to remember the milk!")
    (False, False)
    """
    parts = [text] if len(text) <= 2 * LOOKED_AT else [text[:LOOKED_AT], text[-LOOKED_AT:]]
    return any(_asks(fold(part)) for part in parts)


def _asks(folded: str) -> bool:
    near = {place for cue, place in _CUES_OF_ALL if cue in folded}
    if not near:
        return False
    for sentence in _SENTENCE_ENDS.split(folded):
        for cues, pattern in map(_LANGUAGES.__getitem__, sorted(near)):
            if any(cue in sentence for cue in cues) and pattern.search(sentence.strip()):
                return True
    return False
