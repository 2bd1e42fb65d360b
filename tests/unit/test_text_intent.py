"""Memory intent: who asks outright that something is kept in mind is heard, in twenty languages, and nobody else is."""

from __future__ import annotations

import pytest

from perdure.text import asks_to_forget_this, has_memory_intent

ASKED = {
    "en": [
        "Remember that I'm vegan.", "Please remember that my sister's name is Nora",
        "Hey, remember this: the code is blue.",
        "Don't forget, I'm allergic to peanuts!", "don’t forget that we meet on Tuesdays",
        "Note for the future: I prefer metric units", "Keep in mind that I work nights.",
        "Also keep that in mind please",
        "I moved to Lisbon. Remember that for next time.", "Could you remember that I hate cilantro?",
        "Can you please make a note of this?", "Remember my name is Bob", "From now on, remember I like short answers",
        "Make a note that I don't drink.", "Save this to your memory: I have two cats",
        "For future reference, I use Linux.",
        "I want you to remember that I was born in May", "Remember that I'm vegan, ok?", "Never forget that I love you",
        "BEAR IN MIND that I'm left-handed", "Memorize this", "- remember that I sing", "so, remember: no sugar",
        "@Momo remember that my cat is Tom", "My name is Bob, remember it.", "can u remember that I like tea",
        "Remember, my birthday is in May", "Remember to call me Bob", "I'm vegan, don't forget!",
    ],
    "de": [
        "Merk dir bitte, dass ich Vegetarier bin.", "Vergiss nicht, dass ich am Montag Geburtstag habe",
        "Bitte merk dir das: ich heiße Jörg", "Denk daran, dass ich keinen Kaffee trinke",
        "Für die Zukunft: ich mag kurze Antworten",
        "Kannst du dir merken, dass ich nachts arbeite?", "Behalte im Kopf, dass ich Linkshänder bin.",
        "Notiz für die Zukunft: keine Nüsse", "Nicht vergessen: Dienstag ist Training",
        "Merken Sie sich bitte meinen Namen",
        "Hallo, könntest du dir bitte notieren, dass ich umgezogen bin?", "Speichere, dass ich zwei Katzen habe",
    ],
    "fr": [
        "Souviens-toi que je suis végétarien.", "N'oublie pas que j'ai deux chats",
        "Retiens bien que je déteste la coriandre",
        "S'il te plaît, n'oublie pas mon anniversaire", "Garde à l'esprit que je travaille la nuit",
        "Note pour plus tard : je préfère le thé", "Peux-tu retenir que je suis gaucher ?",
        "Rappelle-toi qu'on déménage en mai",
        "Pour la prochaine fois, je bois du déca.", "Je veux que tu te souviennes de mon prénom",
        "Note bien que je suis allergique",
    ],
    "es": [
        "Recuerda que soy vegano.", "No olvides que tengo dos gatos", "Por favor, ten en cuenta que trabajo de noche",
        "Acuérdate de que vivo en Lima", "Para el futuro: prefiero el té", "¿Puedes recordar que soy zurdo?",
        "Anota que soy alérgica a las nueces", "No te olvides de mi cumpleaños", "Oye, recuerda esto: no como carne",
        "Quiero que recuerdes mi nombre", "Toma nota: los martes entreno",
    ],
    "it": [
        "Ricorda che sono vegano.", "Ricordati che ho due gatti", "Non dimenticare che lavoro di notte",
        "Tieni a mente che sono mancino",
        "Per favore, ricorda questo: niente zucchero", "Puoi ricordare che odio il coriandolo?",
        "Prendi nota: martedì mi alleno",
        "Per il futuro: preferisco il tè", "Non scordarti che vivo a Roma", "Memorizza il mio nome",
        "Sono vegano, ricordatelo",
    ],
    "pt": [
        "Lembre-se de que sou vegano.", "Não esqueças que tenho dois gatos", "Não se esqueça de que trabalho à noite",
        "Tem em conta que sou canhoto", "Por favor, tenha em mente que moro em Lisboa", "Para o futuro: prefiro chá",
        "Anota aí: terça tem treino", "Pode lembrar que odeio coentro?", "Lembra-te disto: sem açúcar",
        "Nunca esqueça isso",
        "Quero que você se lembre do meu nome",
    ],
    "nl": [
        "Onthoud dat ik veganist ben.", "Vergeet niet dat ik twee katten heb", "Denk eraan dat ik 's nachts werk",
        "Onthoud alsjeblieft mijn naam", "Voor de toekomst: ik drink thee", "Kun je onthouden dat ik linkshandig ben?",
        "Hou er rekening mee dat ik allergisch ben", "Noteer dat ik verhuisd ben",
        "Houd in gedachten dat ik geen vlees eet",
    ],
    "sv": [
        "Kom ihåg att jag är vegan.", "Glöm inte att jag har två katter", "Ha i åtanke att jag jobbar natt",
        "Snälla, kom ihåg detta",
        "För framtiden: jag dricker te", "Kan du komma ihåg att jag är vänsterhänt?", "Husk at jeg er allergisk",
        "Glem ikke at jeg bor i Oslo", "Notera att jag har flyttat",
    ],
    "pl": [
        "Pamiętaj, że jestem weganką.", "Zapamiętaj to: mam dwa koty", "Nie zapomnij, że pracuję w nocy",
        "Miej na uwadze, że jestem leworęczny",
        "Na przyszłość: wolę herbatę", "Czy możesz zapamiętać, że mieszkam w Gdańsku?", "Proszę, zapamiętaj moje imię",
        "Zanotuj sobie, że nie jem orzechów", "Nie zapominaj, że mam alergię",
    ],
    "ru": [
        "Запомни, что я веган.", "Не забудь, что у меня два кота", "Имей в виду, что я работаю ночью",
        "Пожалуйста, запомните моё имя",
        "На будущее: я пью чай", "Можешь запомнить, что я левша?", "Помни, что я живу в Казани",
        "Учти, у меня аллергия",
        "Запиши себе, что я не ем орехи", "Не забывай, что я сова",
    ],
    "uk": [
        "Запам'ятай, що я веган.", "Не забудь, що в мене два коти", "Май на увазі, що я працюю вночі",
        "Будь ласка, запам’ятайте моє ім’я",
        "На майбутнє: я п'ю чай", "Чи можеш запам'ятати, що я лівша?", "Пам'ятай, що я живу у Львові",
        "Врахуй, у мене алергія",
        "Не забувай, що я сова",
    ],
    "tr": [
        "Unutma ki ben veganım.", "Vegan olduğumu unutma.", "Lütfen bunu unutma", "Aklında olsun, gece çalışıyorum",
        "İki kedim olduğunu değil, üç kedim olduğumu kaydet", "Bunu aklında tut", "Gelecek için not: çay severim",
        "Solak olduğumu aklında tutar mısın?", "Not al: salı antrenman var",
        "Fıstığa alerjim olduğunu bil, bunu not et.", "Veganım, unutma",
    ],
    "ar": [
        "تذكر أنني نباتي.", "لا تنسَ أن عندي قطتين", "من فضلك تذكر أن اسمي سامي", "ضع في اعتبارك أنني أعمل ليلا",
        "للمستقبل: أفضل الشاي", "هل يمكنك أن تتذكر أنني أعسر؟", "احفظ هذا: لا سكر", "سجل عندك أن لدي حساسية",
        "لا تنسي عيد ميلادي",
    ],
    "hi": [
        "याद रखना कि मैं शाकाहारी हूँ।", "कृपया याद रखें कि मेरी दो बिल्लियाँ हैं", "मत भूलना कि मैं रात में काम करता हूँ",
        "ध्यान में रखना कि मैं बाएँ हाथ से लिखता हूँ",
        "भविष्य के लिए नोट: मुझे चाय पसंद है", "क्या आप याद रख सकते हैं कि मुझे मूँगफली से एलर्जी है?", "यह बात याद रखो",
        "नोट कर लो कि मैं दिल्ली में रहता हूँ",
        "भूलना मत कि मंगलवार को अभ्यास है",
    ],
    "zh": [
        "记住，我吃素。", "请记住我对花生过敏", "别忘了我有两只猫", "不要忘记我上夜班", "帮我记住：周二有训练",
        "你能记住我是左撇子吗？",
        "請記住我住在台北", "把这件事记下来", "以后请记得我不喝咖啡", "这个你要记住", "备忘：我喜欢喝茶",
    ],
    "ja": [
        "私がベジタリアンだと覚えておいて。", "覚えておいてください、猫が二匹います", "忘れないで、夜勤なんだ",
        "このことを忘れないでください", "メモしておいて：火曜は練習",
        "左利きだと覚えておいてもらえますか？", "今後のためにメモ：お茶が好き", "記憶しておいてね",
        "名前を覚えてください", "お忘れなく、来週は休みです",
    ],
    "ko": [
        "내가 채식주의자라는 걸 기억해 줘.", "잊지 마, 나 고양이 두 마리 있어", "땅콩 알레르기가 있으니 꼭 기억해줘",
        "제 이름을 기억해 주세요",
        "나중을 위해 메모: 나는 차를 좋아해", "왼손잡이라는 거 기억해 줄래?", "명심해, 나는 밤에 일해",
        "메모해 둬, 화요일은 훈련이야", "이건 잊지 말아 줘",
    ],
    "vi": [
        "Hãy nhớ rằng tôi ăn chay.", "Đừng quên là tôi có hai con mèo", "Nhớ giúp tôi rằng tôi làm ca đêm",
        "Vui lòng ghi nhớ tên tôi",
        "Ghi chú cho tương lai: tôi thích trà", "Bạn có thể nhớ rằng tôi thuận tay trái không?",
        "Lưu ý rằng tôi bị dị ứng", "Xin đừng quên điều này",
    ],
    "id": [
        "Ingat bahwa saya vegetarian.", "Jangan lupa saya punya dua kucing", "Tolong ingat ini: tanpa gula",
        "Catat bahwa saya kerja malam",
        "Untuk ke depannya, saya lebih suka teh", "Bisakah kamu mengingat bahwa saya kidal?",
        "Tolong jangan lupa ulang tahunku", "Ingatlah kalau saya alergi",
    ],
    "th": [
        "จำไว้ว่าฉันกินมังสวิรัติ", "อย่าลืมว่าฉันมีแมวสองตัว", "ช่วยจำชื่อของฉันด้วย", "โปรดจำไว้ว่าผมทำงานกลางคืน", "จดไว้ว่าฉันแพ้ถั่ว",
        "อย่าลืมนะ ฉันชอบชา",
        "ช่วยจำไว้หน่อยว่าฉันถนัดซ้าย", "จำเอาไว้ด้วย",
    ],
}  # fmt: skip

NOT_ASKED = {
    "en": [
        "Do you remember that I'm vegan?", "I don't remember.", "I bought a notebook", "Remember when we went to Rome?",
        "I forgot my keys", "Remember that time we got lost in Prague", "I remember that day well",
        "What do you remember about me?",
        'She told me "remember that it\'s over" and left', "My mom always says, don't forget to eat",
        "He asked me to remember that",
        "I can't forget that song", "Don't remember that I told you", "Don't remember this: I'm looking for a job",
        "Remember me?",
        "I never forget a face", "Did I forget something?", "The note is for the teacher",
        "save this file to my desktop",
        "The memory of my phone is full", "> remember that I'm vegan\nlol", "Do you keep in mind what I say?",
        "Unforgettable, that's what you are",
        "You forgot", "Remember the Titans is a film", "keep it up", "Why don't you remember that?",
        "The unremembered that",
        "I remember this: nothing", "Remember that one?",
    ],
    "de": [
        "Erinnerst du dich, dass ich vegan bin?", "Ich erinnere mich nicht", "Ich habe es vergessen",
        "Weißt du noch, was ich gesagt habe?",
        "Merk dir das nicht!", "Mein Notizbuch ist voll", "Ich kann mir das nicht merken",
        "Ich vergesse nicht so schnell",
        "Meine Mutter sagt, vergiss nicht zu essen", "Sie sagte: „Merk dir das!“", "Merkst du dir, was ich sage?",
        "Daran denke ich oft",
    ],
    "fr": [
        "Tu te souviens que je suis végétarien ?", "Je ne m'en souviens pas", "J'ai oublié mes clés",
        "Souviens-toi quand on était à Rome ?",
        "Mon carnet de notes est plein", "Ne retiens pas ça.", "Il m'a dit : « n'oublie pas que tu pars »",
        "Je n'oublie pas", "Ma note est bonne",
        "Ma mère dit toujours, n'oublie pas de manger",
    ],
    "es": [
        "¿Recuerdas que soy vegano?", "No me acuerdo", "Se me olvidó", "¿Te acuerdas de Roma?",
        "Mi cuaderno está lleno", "No recuerdes esto.",
        "No olvido nada", "Me dijo «recuerda que te quiero»", "Mi madre dice, no olvides comer",
        "Yo recuerdo que llovía",
    ],
    "it": [
        "Ti ricordi che sono vegano?", "Non mi ricordo", "Ho dimenticato le chiavi", "Ricordi quando eravamo a Roma?",
        "Il mio taccuino è pieno",
        "Non ricordare questo.", "Mi ha detto «ricorda che ti amo»", "Non dimentico mai",
        "Mia madre dice, non dimenticare di mangiare",
    ],
    "pt": [
        "Lembras-te de que sou vegano?", "Não me lembro", "Esqueci as chaves", "Você lembra do meu nome?",
        "O meu caderno está cheio",
        "Não guarde isso.", "Eu não esqueço", "Ele disse, não esqueças de comer", "Ela escreveu “lembra que te amo”",
    ],
    "nl": [
        "Weet je nog dat ik veganist ben?", "Ik weet het niet meer", "Ik ben het vergeten", "Herinner je je Rome?",
        "Mijn notitieboek is vol",
        "Onthoud dit niet.", "Ik vergeet niet snel iets", "Mijn moeder zegt, vergeet niet te eten",
        "Ik kan het niet onthouden",
    ],
    "sv": [
        "Kommer du ihåg att jag är vegan?", "Jag kommer inte ihåg", "Jag glömde nycklarna", "Minns du Rom?",
        "Min anteckningsbok är full",
        "Kom inte ihåg detta", "Jag glömmer inte", "Mamma sa, glöm inte att äta",
    ],
    "pl": [
        "Czy pamiętasz, że jestem weganką?", "Nie pamiętam", "Zapomniałem kluczy", "Pamiętasz Rzym?",
        "Mój notatnik jest pełny",
        "Nie zapamiętuj tego", "Nie zapominam twarzy", "Mama mówi, nie zapomnij zjeść", "Zapamiętałem to",
    ],
    "ru": [
        "Ты помнишь, что я веган?", "Я не помню", "Я забыл ключи", "Помнишь Рим?", "Мой блокнот закончился",
        "Не запоминай это",
        "Мама говорит, не забудь поесть", "Он сказал: «запомни, что я ушёл»", "Я запомнил это", "Никогда не забуду",
    ],
    "uk": [
        "Ти пам'ятаєш, що я веган?", "Я не пам'ятаю", "Я забув ключі", "Пам'ятаєш Рим?", "Мій блокнот закінчився",
        "Не запам'ятовуй це",
        "Мама каже, не забудь поїсти", "Я запам'ятав це",
    ],
    "tr": [
        "Vegan olduğumu hatırlıyor musun?", "Hatırlamıyorum", "Anahtarımı unuttum", "Not defterim doldu",
        "Bunu kaydetme",
        "Seni unutmam", "Unutmadım", "Roma'yı hatırlıyor musun?", "Bunu unutmadım",
    ],
    "ar": [
        "هل تتذكر أنني نباتي؟", "لا أتذكر", "نسيت مفاتيحي", "تذكرت ذلك أمس", "دفتر ملاحظاتي ممتلئ", "لا تحفظ هذا",
        "قال لي، لا تنس الطعام",
        "عندي تذكرة سفر", "هل نسيت؟",
    ],
    "hi": [
        "क्या तुम्हें याद है कि मैं शाकाहारी हूँ?", "मुझे याद नहीं", "मैं चाबी भूल गया", "उसकी याद आती है", "मेरी नोटबुक भर गई",
        "इसे याद मत रखना",
        "नाम याद रखना मुश्किल है", "माँ ने कहा, खाना मत भूलना",
    ],
    "zh": [
        "你还记得我吃素吗？", "我不记得了", "我忘了带钥匙", "记得我们去罗马那次吗？", "我的笔记本满了",
        "不要记住这个", "我记住了", "他说：“记住我爱你”",
        "记住密码的功能在哪里", "你记住了吗？",
    ],
    "ja": [
        "私のこと覚えてる？", "覚えていません", "鍵を忘れました", "ローマに行った時のこと覚えてる？",
        "ノートがいっぱいです", "これは覚えないで",
        "彼は「覚えておいて」と言った", "覚えておいてよかった", "母に忘れないでと言われた", "覚えてくれてありがとう",
        "忘れないでいるよ",
    ],
    "ko": [
        "내가 채식주의자인 거 기억해?", "기억이 안 나", "열쇠를 잊어버렸어", "로마 갔던 거 기억나?",
        "메모장이 꽉 찼어", "이 대화는 기억하지 마",
        "기억해 줘서 고마워", "엄마가 잊지 말라고 했어", "기억하지 못해",
    ],
    "vi": [
        "Bạn có nhớ tôi ăn chay không?", "Tôi không nhớ", "Tôi quên chìa khóa rồi", "Bạn còn nhớ Rome không?",
        "Sổ tay của tôi đầy rồi",
        "Đừng nhớ điều này", "Tôi nhớ rằng hôm đó trời mưa", "Tôi nhớ nhà",
    ],
    "id": [
        "Apakah kamu ingat bahwa saya vegetarian?", "Saya tidak ingat", "Saya lupa kunci",
        "Ingat waktu kita ke Roma?", "Buku catatan saya penuh",
        "Jangan ingat ini", "Saya ingat bahwa hari itu hujan", "Kamu lupa ya", "Ibu bilang, jangan lupa makan",
    ],
    "th": [
        "คุณจำได้ไหมว่าฉันกินมังสวิรัติ", "ฉันจำไม่ได้", "ฉันลืมกุญแจ", "จำฉันได้ไหม", "สมุดบันทึกของฉันเต็มแล้ว", "อย่าจำเรื่องนี้",
        "ฉันจำไว้แล้ว", "ลืมไปแล้ว",
    ],
    "anything": ["", "hi", "???", "🎉", "{}", "1234", "\x00", "remember", "that"],
    "en, too": [
        "Can you remember what I said?", "I want to remember that day", "Please remember me to your wife",
        "She said please remember that",
        "How do I keep all of this in mind?", "As my boss wrote, keep in mind that costs rise",
        "Remember, remember the fifth of November",
        "The app has a 'remember this device' option", "Remember to buy milk", "For the future of mankind!",
    ],
}  # fmt: skip


def flat(cases: dict[str, list[str]]) -> list[str]:
    return [text for texts in cases.values() for text in texts]


@pytest.mark.parametrize("text", flat(ASKED))
def test_who_asks_that_something_is_kept_in_mind_is_heard(text: str) -> None:
    assert has_memory_intent(text)


@pytest.mark.parametrize("text", flat(NOT_ASKED))
def test_what_only_sounds_like_it_is_no_intent(text: str) -> None:
    assert not has_memory_intent(text)


def test_every_language_is_tried_with_at_least_eight_of_each() -> None:
    assert len(ASKED) == 20
    assert all(len(ASKED[language]) >= 8 and len(NOT_ASKED[language]) >= 8 for language in ASKED)


def test_who_asks_that_it_is_not_remembered_is_heard_first() -> None:
    text = "Remember that I'm vegan. But please don't remember this: I ate fish."
    assert asks_to_forget_this(text)
    assert not has_memory_intent(text)


def test_the_ends_of_a_long_message_are_looked_at_and_not_its_middle() -> None:
    novel = "It was a dark night and nobody spoke. " * 200
    assert has_memory_intent(f"{novel}Remember that I liked this one.")
    assert has_memory_intent(f"Remember that I liked this one: {novel}")
    assert not has_memory_intent(f"{novel}Remember that I liked this one. {novel}")
