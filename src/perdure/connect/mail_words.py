"""The words by which mailers of many languages mark what is quoted, passed on or a signature."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(word.strip() for word in text.replace("\n", " ").split("|"))


WROTE: Final = _words(
    """
    wrote:|writes:|schrieb|geschrieben:|a écrit|écrit :|escribió|escribio|scritto:|scrive:|ha scritto|escreveu|
    schreef|skrev|kirjoitti|napisał|napisal|napísal|írta|пишет|написал|написав|пише|έγραψε|yazdı|yazmış|כתב|كتب|
    写道|寫道|撰写|撰寫|書きました|のメール|作成|작성|님이 씀|đã viết|menulis|เขียน|a scris|pisze|napisao|
    написа|raksti|rašė|kirjutas|skrifaði|va escriure|idatzi zuen|نوشت|ने लिखा|লিখেছেন|எழுதினார்
    """
)
"""In "On Monday, Ann wrote:". Only believed beside a digit, at the end of a line that ends with a colon."""

FORWARDS: Final = _words(
    """
    forwarded message|begin forwarded message|forwarded by|weitergeleitete nachricht|weitergeleitete e-mail|
    anfang der weitergeleiteten nachricht|anfang der weitergeleiteten e-mail|message transféré|
    message réexpédié|début du message transféré|début du message réexpédié|courriel transféré|
    mensaje reenviado|inicio del mensaje reenviado|messaggio inoltrato|inizio messaggio inoltrato|
    mensagem encaminhada|mensagem reencaminhada|início da mensagem encaminhada|doorgestuurd bericht|
    begin doorgestuurd bericht|vidarebefordrat meddelande|vidarebefordrat mejl|videresendt melding|
    videresendt meddelelse|videresendt besked|välitetty viesti|edelleenlähetetty viesti|przekazana wiadomość|
    wiadomość przekazana|wiadomość przesłana dalej|přeposlaná zpráva|preposlaná správa|továbbított üzenet|
    mesaj redirecționat|пересылаемое сообщение|пересланное сообщение|переслане повідомлення|
    переадресоване повідомлення|προωθημένο μήνυμα|iletilen mesaj|yönlendirilmiş ileti|הודעה שהועברה|
    رسالة مُعاد توجيهها|رسالة معاد توجيهها|پیام بازارسالی|转发的邮件|转发邮件|已转发邮件|轉寄的郵件|轉寄郵件|
    已轉寄郵件|转发邮件信息|転送されたメッセージ|転送メッセージ|전달된 메일|전달된 메시지|
    thư đã được chuyển tiếp|pesan terusan|ข้อความที่ส่งต่อ|missatge reenviat
    """
)
"""Between rules, or before a colon, above a mail that is passed on."""

ORIGINALS: Final = _words(
    """
    original message|original appointment|reply message|ursprüngliche nachricht|originalnachricht|
    original-nachricht|message d'origine|message original|message initial|mensaje original|messaggio originale|
    mensagem original|oorspronkelijk bericht|origineel bericht|ursprungligt meddelande|originalmeddelande|
    original melding|opprinnelig melding|oprindelig meddelelse|alkuperäinen viesti|wiadomość oryginalna|
    oryginalna wiadomość|původní zpráva|pôvodná správa|eredeti üzenet|mesaj original|исходное сообщение|
    оригинальное сообщение|вихідне повідомлення|оригінальне повідомлення|αρχικό μήνυμα|özgün ileti|
    orijinal mesaj|הודעה מקורית|الرسالة الأصلية|原始邮件|邮件原件|原始郵件|元のメッセージ|original メッセージ|
    원본 메시지|원본메시지|thư gốc|pesan asli
    """
)
"""Between rules, above the mail that is answered."""

_LABELS_OF: Final[Mapping[str, str]] = {
    "from": """
        from|von|de|da|van|från|fra|lähettäjä|od|nadawca|feladó|de la|от|от кого|від|от:|από|kimden|gönderen|
        מאת|من|发件人|寄件者|寄件人|差出人|送信者|보낸 사람|보낸사람|từ|dari|จาก|expéditeur|absender|afzender|
        remetente|remitente|mittente
    """,
    "to": """
        to|an|à|a|para|aan|till|til|vastaanottaja|do|dla|címzett|către|komu|pro|кому|до|προς|kime|alıcı|אל|إلى|
        收件人|收件者|宛先|받는 사람|받는사람|tới|đến|kepada|ถึง|destinataire|destinatario
    """,
    "cc": """
        cc|kopie|copie à|copia|kopia|kopi|kopio|kopie (cc)|dw|másolatot kap|копия|копія|κοιν|bilgi|עותק|نسخة|
        抄送|副本|참조
    """,
    "date": """
        sent|date|gesendet|datum|envoyé|enviado|enviado el|enviada em|enviado em|data|inviato|verzonden|skickat|
        sendt|dato|lähetetty|päivämäärä|wysłano|data wysłania|odesláno|odoslané|dátum|elküldve|trimis|дата|
        отправлено|надіслано|ημερομηνία|στάλθηκε|gönderildi|gönderme tarihi|tarih|נשלח|תאריך|التاريخ|
        تاريخ الإرسال|发送时间|日期|傳送日期|寄件日期|送信日時|日時|日付|보낸 날짜|날짜|đã gửi|ngày|tanggal|
        dikirim|วันที่|fecha|wann
    """,
    "subject": """
        subject|betreff|objet|sujet|asunto|oggetto|assunto|onderwerp|ämne|emne|aihe|temat|předmět|predmet|tárgy|
        subiect|тема|θέμα|konu|נושא|הנדון|الموضوع|主题|主題|主旨|件名|題名|제목|chủ đề|perihal|subjek|เรื่อง|
        assumpte
    """,
}

LABELS: Final[Mapping[str, str]] = {word: label for label, words in _LABELS_OF.items() for word in _words(words)}
"""What header lines are called when a mailer writes them into a body, and what they are."""

FORWARD_SUBJECT: Final = re.compile(
    r"\s*(?:fwd?|wg|wtr|tr|rv|enc|i|vs|vb|fs|doorst|pd|továbbítás|yml|ilt|πρθ|переслано|пересл|fw|轉寄|转发|"
    r"轉發|転送|전달)\s*[:：]",
    re.IGNORECASE,
)
"""How a subject begins that marks a mail as passed on."""

DEVICES: Final = re.compile(
    r"[\W_]*(?:sent (?:from|via|using|with) (?!(?:the|our|a)\b)|get outlook for |sent by |from my (?:iphone|"
    r"ipad|android|mobile)|gesendet (?:von|mit|aus)|von meinem .{2,30} gesendet|"
    r"diese nachricht wurde von meinem|envoye (?:de|depuis|a partir)|telecharger outlook|enviado (?:desde|do|"
    r"de|a partir)|enviada do|obtener outlook|inviato da|scarica outlook|verzonden (?:vanaf|vanuit|met|via)|"
    r"skickat fran|skickades fran|sendt fra|lahetetty |wysłane z|wysłano z|odeslano z|odoslane z|kuldve |"
    r"trimis de pe|отправлено (?:с|из)|надіслано з|στάλθηκε από|iphone'umdan|.{0,20}(?:cihazımdan|"
    r"telefonumdan) gonderildi|נשלח מ|أرسلت من|أُرسلت من|发自我的|从我的.{1,20}发送|發自我的|從我的|"
    r".{0,20}から送信|나의 .{1,20}에서 보냄|내 .{1,20}에서 보냄|được gửi từ|dikirim dari|ส่งจาก)"
)
"""Lines that a telephone or a program adds of itself; matched on folded text."""

CLOSINGS: Final = _words(
    """
    best|best regards|kind regards|kindest regards|warm regards|warmest regards|regards|many thanks|
    thanks and regards|thanks & regards|with kind regards|with best regards|best wishes|all the best|sincerely|
    yours sincerely|sincerely yours|yours faithfully|yours truly|cheers|thanks|thank you|
    many thanks and best regards|cordially|respectfully|take care|mit freundlichen grußen|
    mit freundlichen grussen|mit freundlichem gruß|mit freundlichem gruss|freundliche gruße|freundliche grusse|
    mit besten grußen|mit besten grussen|beste gruße|beste grusse|viele gruße|viele grusse|liebe gruße|
    liebe grusse|herzliche gruße|herzliche grusse|schone gruße|schone grusse|gruße|grusse|gruß|gruss|mfg|lg|vg|
    hochachtungsvoll|cordialement|bien cordialement|tres cordialement|salutations|meilleures salutations|
    bien a vous|bien a toi|sinceres salutations|amicalement|bonne journee|saludos|saludos cordiales|un saludo|
    un cordial saludo|cordialmente|atentamente|un abrazo|muchas gracias|gracias|cordiali saluti|distinti saluti|
    un caro saluto|saluti|un saluto|a presto|grazie|atenciosamente|cumprimentos|melhores cumprimentos|
    com os melhores cumprimentos|abracos|obrigado|obrigada|met vriendelijke groet|met vriendelijke groeten|
    vriendelijke groet|vriendelijke groeten|hartelijke groet|hartelijke groeten|groet|groeten|groetjes|mvg|
    med vanliga halsningar|vanliga halsningar|basta halsningar|halsningar|mvh|med vennlig hilsen|vennlig hilsen|
    med venlig hilsen|venlig hilsen|hilsen|ystavallisin terveisin|terveisin|parhain terveisin|z powazaniem|
    z poważaniem|pozdrawiam|pozdrawiam serdecznie|serdecznie pozdrawiam|pozdrowienia|s pozdravem|s uctou|
    s pozdravom|dekuji|děkuji|udvozlettel|üdvozlettel|üdvözlettel|cu stima|cu stimă|cu respect|с уважением|
    с наилучшими пожеланиями|всего доброго|всего наилучшего|з повагою|με εκτιμηση|με εκτίμηση|saygılarımla|
    saygilarimla|iyi calısmalar|iyi çalışmalar|בברכה|תודה|مع التحية|تحياتي|مع أطيب التحيات|此致|此致敬礼|
    此致 敬礼|祝好|祝商祺|敬上|顺颂商祺|順頌商祺|よろしくお願いします|よろしくお願いいたします|
    宜しくお願い致します|以上|敬具|감사합니다|감사드립니다|tran trong|trân trọng|hormat kami|salam
    """
)
"""How letters close, without their accents and on a line of their own."""
