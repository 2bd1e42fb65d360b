"""Turns of the two kinds that the relevance gate tells apart, in nine languages: those that no memory helps with, and
those that ask for what somebody may have said before.

They are compared with, never shown. Each language says the same things, so that a turn's language makes no difference.
What was measured with them, on other turns, is in docs/evaluation.md.
"""

from __future__ import annotations

from typing import Final

_IDLE: Final = """
    Hi, how are you?
    OK, thanks a lot!
    See you tomorrow.
    Haha, sounds good.
    I'm tired.
    Write that again in other words.
    Wake me in five minutes.
    Sing me a song about winter.
    How far away is the moon?
    Who invented the telephone?
    And that one?
    That makes sense.
    Turn off the lamp.

    Hallo, wie geht es dir?
    Alles klar, danke!
    Bis morgen.
    Haha, klingt gut.
    Ich bin müde.
    Schreib das bitte anders.
    Weck mich in fünf Minuten.
    Sing mir ein Lied über den Winter.
    Wie weit ist der Mond entfernt?
    Wer hat das Telefon erfunden?
    Und die andere?
    Das leuchtet ein.
    Schalte die Lampe aus.

    Hola, ¿qué tal?
    Vale, muchas gracias.
    Hasta mañana.
    Jaja, me parece bien.
    Estoy cansado.
    Escríbelo de otra manera.
    Despiértame en cinco minutos.
    Cántame una canción sobre el invierno.
    ¿A qué distancia está la Luna?
    ¿Quién inventó el teléfono?
    ¿Y el otro?
    Tiene lógica.
    Apaga la lámpara.

    Salut, ça va ?
    D'accord, merci beaucoup.
    À demain !
    Haha, ça me va.
    Je suis fatigué.
    Écris-le autrement.
    Réveille-moi dans cinq minutes.
    Chante-moi une chanson sur l'hiver.
    À quelle distance est la Lune ?
    Qui a inventé le téléphone ?
    Et l'autre ?
    C'est logique.
    Éteins la lampe.

    你好，最近怎么样？
    好的，谢谢！
    明天见。
    哈哈，听起来不错。
    我累了。
    换一种说法写。
    五分钟后叫醒我。
    唱一首关于冬天的歌。
    月球离地球有多远？
    电话是谁发明的？
    那个呢？
    有道理。
    把灯关掉。

    Привет, как дела?
    Хорошо, спасибо!
    До завтра.
    Ха-ха, звучит неплохо.
    Я устал.
    Напиши это по-другому.
    Разбуди меня через пять минут.
    Спой песню о зиме.
    Как далеко до Луны?
    Кто изобрёл телефон?
    А тот?
    Логично.
    Выключи лампу.

    สวัสดี สบายดีไหม
    โอเค ขอบคุณมาก
    พรุ่งนี้เจอกัน
    ฮ่าๆ ฟังดูดีนะ
    ฉันเหนื่อย
    เขียนใหม่อีกแบบหน่อย
    ปลุกฉันในอีกห้านาที
    ร้องเพลงเกี่ยวกับฤดูหนาว
    ดวงจันทร์อยู่ไกลแค่ไหน
    ใครประดิษฐ์โทรศัพท์
    แล้วอันนั้นล่ะ
    สมเหตุสมผลดี
    ปิดไฟหน่อย

    こんにちは、元気ですか？
    わかりました、ありがとう。
    また明日。
    はは、いいですね。
    疲れた。
    別の言い方で書いて。
    五分後に起こして。
    冬の歌を歌って。
    月までの距離は？
    電話を発明したのは誰？
    あれは？
    なるほど。
    電気を消して。

    مرحبا، كيف حالك؟
    حسنا، شكرا جزيلا.
    إلى الغد.
    هاها، يبدو جيدا.
    أنا متعب.
    اكتبها بطريقة أخرى.
    أيقظني بعد خمس دقائق.
    غنّ لي أغنية عن الشتاء.
    كم يبعد القمر عن الأرض؟
    من اخترع الهاتف؟
    وذلك؟
    هذا منطقي.
    أطفئ المصباح.

    xkjw qpdf zzrt
    wuggle fnorp blib
"""

_ASKING: Final = """
    What is my sister called?
    When is my appointment?
    Where did we put the tent?
    How much do we pay for electricity?
    I'm making breakfast for my uncle.
    I have to buy a present for my friend.
    What does he like?
    Who is my doctor?
    I can't find my wallet.

    Wie heißt meine Schwester?
    Wann ist mein Termin?
    Wo haben wir das Zelt hingelegt?
    Wie viel zahlen wir für Strom?
    Ich mache Frühstück für meinen Onkel.
    Ich muss ein Geschenk für meinen Freund kaufen.
    Was mag er?
    Wer ist mein Arzt?
    Ich finde meinen Geldbeutel nicht.

    ¿Cómo se llama mi hermana?
    ¿Cuándo es mi cita?
    ¿Dónde pusimos la tienda de campaña?
    ¿Cuánto pagamos de luz?
    Estoy preparando el desayuno para mi tío.
    Tengo que comprar un regalo para mi amigo.
    ¿Qué le gusta?
    ¿Quién es mi médico?
    No encuentro mi cartera.

    Comment s'appelle ma sœur ?
    Quand est mon rendez-vous ?
    Où avons-nous mis la tente ?
    Combien payons-nous d'électricité ?
    Je prépare le petit-déjeuner pour mon oncle.
    Je dois acheter un cadeau pour mon ami.
    Qu'est-ce qu'il aime ?
    Qui est mon médecin ?
    Je ne trouve pas mon portefeuille.

    我姐姐叫什么名字？
    我的预约是什么时候？
    我们把帐篷放哪儿了？
    我们每月付多少电费？
    我在给叔叔做早饭。
    我要给朋友买礼物。
    他喜欢什么？
    我的医生是谁？
    我找不到钱包了。

    Как зовут мою сестру?
    Когда у меня приём?
    Куда мы положили палатку?
    Сколько мы платим за свет?
    Я готовлю завтрак для дяди.
    Мне надо купить подарок другу.
    Что он любит?
    Кто мой врач?
    Не могу найти кошелёк.

    พี่สาวฉันชื่ออะไร
    นัดของฉันเมื่อไหร่
    เราเก็บเต็นท์ไว้ที่ไหน
    เราจ่ายค่าไฟเท่าไหร่
    ฉันกำลังทำอาหารเช้าให้ลุง
    ฉันต้องซื้อของขวัญให้เพื่อน
    เขาชอบอะไร
    หมอของฉันคือใคร
    ฉันหากระเป๋าเงินไม่เจอ

    私の姉の名前は？
    私の予約はいつ？
    テントはどこに置いた？
    電気代はいくら払っている？
    叔父に朝ご飯を作っています。
    友達にプレゼントを買わないと。
    彼は何が好き？
    私の医者は誰？
    財布が見つからない。

    ما اسم أختي؟
    متى موعدي؟
    أين وضعنا الخيمة؟
    كم ندفع للكهرباء؟
    أحضّر الفطور لعمي.
    يجب أن أشتري هدية لصديقي.
    ماذا يحب؟
    من طبيبي؟
    لا أجد محفظتي.
"""


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())


IDLE: Final = _lines(_IDLE)
"""Greetings, thanks, small talk, commands, questions about the world, follow-ups to nothing, gibberish."""

ASKING: Final = _lines(_ASKING)
"""Questions about one's own life, and what is said before help with it is wanted."""
