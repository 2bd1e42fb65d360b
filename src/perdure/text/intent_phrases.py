"""Phrases by which people ask an assistant to keep something in mind, for `intent`, in folded form.

They are laid out to be read: white space parts one phrase from the next, "~" stands for a space, and a line that ends
in "&" goes on in the next one. A language has words that may lead to what is asked for ("please", "from now on"), what
is asked for as an order, and what is asked for as a question ("could you remember that ..."). Languages with the verb
at the end, or without spaces, have no such order; their phrases stand wherever they stand.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Asking(NamedTuple):
    """How a language asks: words in front, orders, questions."""

    first: str
    orders: str
    questions: str


_NO_FACT_EN: Final = (
    r"(?!~(?:time|day|night|one|guy|man|woman|girl|boy|kid|movie|film|song|show|game|place|trip|summer|winter|spring"
    r"|autumn|year|week|scene|episode|book|story|joke|party|thing|feeling|moment)\b)"
)

IN_ORDER: Final = {
    "en": Asking(
        """please pls hey hi hello ok(?:ay)? so now and also but just always well yes yeah oh by~the~way btw from~now~on
        next~time in~(?:the~)?future one~(?:more|last)~thing""",
        rf"""
        remember(?:~please|~always)?,?~that{_NO_FACT_EN} remember(?:~please)?~(?:this|these|the~following)
        remember~it(?=$|~(?:for|next|in)\b) remember~for~(?:later|next~time|future|the~future) remember:
        remember,?~i(?:'(?:m|ve|d))?
        remember,~(?:my|we|our) remember~to~(?:call|address)~me remember~to~(?:always|never)
        remember~(?:my|our)(?:~[^\s]{{1,20}}){{1,3}}~(?:is|are|has|isn't|aren't)
        remember~(?:how|what|which|where)~i~(?:like|prefer|want|work|live|take|drink|eat)
        (?:keep|bear)~(?:(?:this|that|these|it)~)?in~mind
        make~(?:a~)?(?:mental~)?notes?~(?:that|of~(?:this|that|it|my|the~fact))
        make~(?:a~)?(?:mental~)?note: take~note~(?:that|of~(?:this|that|my|the~fact)) take~note:
        note~that~i(?:'(?:m|ve|d))?
        (?:a~)?note~(?:for|to)~(?:the~future|later|next~time|your~future~self)
        for~(?:future~reference|the~future)(?=[,:])
        (?:do~not|don't|dont|never)~forget save~(?:this|that|it)~(?:to|in)~(?:your~|the~)?(?:long-term~)?memory
        (?:store|put|keep)~(?:this|that|it)~in~(?:your~|the~)?(?:long-term~)?(?:memory|notes)
        (?:add|commit|write)~(?:this|that|it)~to~(?:your~|the~)?(?:long-term~)?memory
        memori[sz]e~(?:that|this|my|the~following) write~(?:this|that|it)~down jot~(?:this|that|it)~down
        (?:make~sure|be~sure)~(?:you~|to~|that~you~)?(?:always~)?remember
        (?:yo)?u~(?:should|must|need~to|have~to)~remember~that
        i(?:~(?:want|need)|'d~like|~would~like)~you~to~(?:always~)?(?:remember|keep~in~mind|note|memori[sz]e)
        """,
        """
        (?:can|could|would|will)~(?:yo)?u~(?:please~|also~|always~)?(?:remember|note|memori[sz]e)~(?:that|this|my|our|i|i'm|it~for)
        (?:can|could|would|will)~(?:yo)?u~(?:please~)?(?:keep|bear)~(?:(?:this|that|it)~)?in~mind
        (?:can|could|would|will)~(?:yo)?u~(?:please~)?make~a~note
        (?:can|could|would|will)~(?:yo)?u~(?:please~)?not~forget
        (?:can|could|would|will)~(?:yo)?u~(?:please~)?(?:save|store|put|add)~(?:this|that|it)~(?:to|in)~(?:your~)?memory
        """,
    ),
    "de": Asking(
        """bitte also ok(?:ay)? und aber hey hallo ach ja ubrigens immer jetzt nur auch ab~jetzt ab~sofort in~zukunft
        kunftig""",
        r"""
        merke?~dir(?!~(?:(?:das|dies|es|bitte|davon|mal)~){0,3}(?:nichts?|nie)\b)
        merken~sie~sich(?!~(?:(?:das|dies|es|bitte)~){0,3}nichts?\b)
        (?:vergiss|vergessen~sie)~(?:(?:bitte|das|es|aber|ja|bloss)~){0,3}(?:nicht|nie) (?:bitte~)?nicht~vergessen
        (?:denke?|denken~sie)~(?:(?:bitte|immer|auch)~){0,2}d(?:a)?ran(?!~nicht)
        behalte?~(?:(?:bitte|das|dies|es|immer)~){0,3}im~(?:kopf|hinterkopf|gedachtnis|auge)
        speichere?~(?:(?:dir|bitte|das|dies)~){0,3}(?:ab,~)?(?:dass|im~gedachtnis|in~(?:deinem|dein)~gedachtnis)
        speichere?,~dass notiere?~(?:(?:dir|bitte)~){0,2}(?:dass|folgendes) notiere?(?:~(?:dir|bitte)){0,2}(?:,~dass|:)
        schreibe?~(?:dir~)?(?:bitte~)?(?:das|dies|es)~auf erinnere?~dich(?:~(?:bitte|immer)){0,2}(?:~daran)?,~dass
        halte?~(?:bitte~)?fest,~dass fur~(?:die~zukunft|spater|das~nachste~mal|kunftige~gesprache)(?=[:,])
        notiz~fur~(?:die~zukunft|spater|das~nachste~mal) nimm~(?:das~|bitte~)?(?:in~dein~gedachtnis~auf|zur~kenntnis)
        ich~(?:mochte|will|wunsche),?~dass~du~(?:dir~)?(?:(?:das|folgendes)~)?(?:merkst|notierst|nicht~vergisst)
        """,
        r"""
        (?:kannst|konntest|wurdest|magst)~du~(?:(?:dir|bitte|das|dies|folgendes|auch|noch)~){0,4}&
        (?:merken|notieren|im~kopf~behalten|im~hinterkopf~behalten)
        (?:konnen|konnten|wurden)~sie~(?:(?:sich|bitte|das|dies|folgendes)~){0,4}(?:merken|notieren)
        """,
    ),
    "fr": Asking(
        """s'il~te~plait s'il~vous~plait stp svp et mais ok bon alors hey salut bonjour au~fait toujours desormais
        maintenant a~l'avenir donc""",
        """
        (?:souviens-toi|souvenez-vous|rappelle-toi|rappelez-vous)~(?:bien~|toujours~)?(?:que|qu'|de~ceci|de~cela|de~ca|ceci)
        n'oublie(?:z)?~(?:surtout~)?(?:pas|jamais) ne~(?:l'oublie(?:z)?~pas|pas~oublier)
        (?:retiens|retenez|memorise|memorisez)~(?:bien~)?(?:que|qu'|ceci|cela|ca|mon|ma|mes)
        (?:retiens|memorise)(?:~bien)?~?:
        notez?~(?:bien~)?(?:que|qu'|ceci|cela|ca) note~?: prene?[sz]~(?:bien~)?note
        gardez?~(?:(?:ca|cela|ceci|bien|toujours)~){0,2}(?:a~l'esprit|en~tete|en~memoire)
        enregistrez?~(?:que|qu'|(?:ca|cela|ceci)~(?:en~memoire|dans~ta~memoire))
        mets~(?:ca|cela|ceci)~dans~(?:un~coin~de~)?ta~(?:tete|memoire)
        pour~(?:la~prochaine~fois|plus~tard|l'avenir|le~futur)(?=~?[:,])
        note~pour~(?:plus~tard|l'avenir|le~futur|la~suite)
        a~(?:noter|retenir)(?=~?:|~que|~qu')
        je~(?:veux|voudrais|aimerais|souhaite)~que~tu~(?:te~souviennes|te~rappelles|retiennes|memorises|n'oublies~pas|notes)
        """,
        """
        (?:peux-tu|pourrais-tu|tu~peux|tu~pourrais|pouvez-vous|pourriez-vous|veux-tu)~(?:(?:bien|stp)~)?&
        (?:te~souvenir|vous~souvenir|te~rappeler|retenir|memoriser|noter|garder~en~(?:tete|memoire))~&
        (?:que|qu'|de~ca|de~ceci|ca|cela|ceci|mon|ma)
        """,
    ),
    "es": Asking(
        """por~favor oye y pero ok vale hola bueno ah siempre ahora tambien a~partir~de~ahora entonces""",
        """
        (?:recuerda|recuerde)~(?:bien~|siempre~)?(?:que|esto|lo~siguiente) recuerda:
        acuerdate~(?:bien~|siempre~)?(?:de~)?(?:que|esto)
        (?:no|nunca)~(?:(?:te|se|lo|te~lo|se~te)~)?(?:olvides|olvide|olvideis)
        ten(?:ga)?~(?:(?:esto|siempre|muy)~){0,2}(?:en~cuenta|en~mente|presente) tenlo~(?:en~cuenta|presente)
        toma~nota anota(?:te)?~(?:que|esto) (?:anota|apunta): apunta(?:te)?~(?:que|esto) memoriza~(?:que|esto|mi)
        guarda~(?:esto~)?en~(?:tu~|la~)?memoria guarda~que para~(?:el~futuro|la~proxima(?:~vez)?|mas~adelante)(?=[:,])
        nota~para~(?:el~futuro|mas~adelante|la~proxima)
        quiero~que~(?:recuerdes|te~acuerdes|memorices|anotes|tengas~en~cuenta|no~olvides)
        """,
        """
        (?:puedes|podrias|puede|podria|quieres)~(?:por~favor~)?(?:recordar|acordarte~de|memorizar|anotar|tener~en~cuenta)~&
        (?:que|esto|mi|lo~siguiente)
        (?:puedes|podrias)~(?:por~favor~)?guardar~(?:esto~)?en~(?:tu~)?memoria
        """,
    ),
    "it": Asking(
        """per~favore ti~prego ehi ok e ma ciao allora sempre ah da~ora~in~poi d'ora~in~poi""",
        """
        ricorda(?:ti)?~(?:bene~|sempre~)?(?:che|questo|di~questo|quanto~segue) ricorda(?:ti)?: ricorda(?:te)?lo
        non~(?:dimenticare|dimenticarti|dimenticartelo|dimentichi|scordare|scordarti|scordartelo)
        tieni~(?:(?:bene|sempre|questo)~){0,2}(?:a~mente|in~mente|presente|conto~che) tienilo~(?:a~mente|presente)
        tenga~(?:a~mente|presente) prendi~nota (?:annota|segna)(?:ti)?~(?:che|questo) (?:annota|segna)(?:ti)?:
        memorizza~(?:che|questo|il~mio|la~mia) salva~(?:questo~)?(?:in|nella~tua)~memoria
        per~(?:il~futuro|la~prossima~volta)(?=[:,]) nota~per~(?:il~futuro|dopo|la~prossima~volta)
        voglio~che~(?:tu~)?(?:ricordi|ti~ricordi|memorizzi|tenga~a~mente|non~dimentichi)
        """,
        """
        (?:puoi|potresti|puo|potrebbe|vuoi)~(?:per~favore~)?&
        (?:ricordare|ricordarti|memorizzare|annotare|tenere~a~mente|tenere~presente)~(?:che|questo|di~questo|il~mio|la~mia)
        """,
    ),
    "pt": Asking(
        """por~favor ei oi ok e mas olha bom sempre entao a~partir~de~agora""",
        """
        lembr[ea](?:-te|-se)?~(?:bem~|sempre~)?(?:(?:de~)?que|disto|disso|do~seguinte) lembre(?:-se)?:
        (?:te~lembra|se~lembre)~(?:de~)?que (?:nao|nunca)~(?:te~|se~)?(?:esquecas?|esqueca-se|esquecas-te|esquece)
        te[mn](?:ha)?~(?:(?:isso|isto|sempre)~){0,2}em~(?:mente|conta) lev[ae]~em~conta tom[ae]~nota
        anot[ae]~(?:ai~)?(?:que|isto|isso) anot[ae](?:~ai)?: memoriz[ae]~(?:que|isto|isso|(?:o~)?meu|(?:a~)?minha)
        guard[ae]~(?:isto~|isso~)?na~(?:tua~|sua~)?memoria guard[ae]~que
        para~(?:o~futuro|a~proxima(?:~vez)?|mais~tarde)(?=[:,]) nota~para~(?:o~futuro|mais~tarde|depois)
        quero~que~(?:voce~|tu~)?(?:se~lembre|te~lembres|memorizes?|anotes?|nao~(?:se~|te~)?esquecas?|guardes?~que)
        """,
        """
        (?:podes|pode|poderias?|voce~(?:pode|poderia))~(?:por~favor~)?(?:se~|te~)?&
        (?:lembrar(?:-te|-se)?|memorizar|anotar|ter~em~(?:mente|conta))~(?:(?:de~)?que|isto|isso|disto|disso|(?:o~)?meu|(?:a~)?minha)
        """,
    ),
    "nl": Asking(
        """alsjeblieft aub svp en maar hey hoi ok altijd nou vanaf~nu trouwens""",
        """
        onthoud~(?:(?:alsjeblieft|aub|goed|altijd|even)~){0,2}(?:dat|dit|het~volgende|mijn)(?!~niet) onthoud(?:~goed)?:
        vergeet~(?:(?:alsjeblieft|aub|dat|dit|het|vooral)~){0,2}(?:niet|nooit) niet~vergeten
        denk~er~?(?:(?:goed|altijd)~)?aan
        houd?~(?:(?:er|dit|dat|het|alsjeblieft|altijd)~){0,2}(?:rekening~mee|in~gedachten|in~je~achterhoofd)
        noteer~(?:dat|dit|het~volgende)(?!~niet) noteer: schrijf~(?:dit|dat)~(?:even~)?op
        (?:sla~(?:dit|dat|het)~op|bewaar~(?:dit|dat|het))~in~je~geheugen
        voor~(?:de~toekomst|later|de~volgende~keer)(?=[:,])
        notitie~voor~(?:de~toekomst|later) ik~wil~dat~je~(?:(?:dit|dat)~)?(?:onthoudt|niet~vergeet)
        """,
        """
        (?:kun~je|kan~je|kunt~u|wil~je|zou~je)~(?:(?:alsjeblieft|aub|willen|dit|dat|het~volgende)~){0,3}&
        (?:onthouden|noteren|in~gedachten~houden)
        """,
    ),
    "sv": Asking(
        """snalla och men hej ok alltid forresten fran~och~med~nu vaer~sa~snill vaer~sod~og hei""",
        """
        kom~ihag~(?:alltid~)?(?:att|detta|det~har) kom~ihag: glom~(?:inte|aldrig) ha~(?:(?:det|detta)~)?i~atanke
        minns~(?:att|detta) tank~pa~att (?:notera|anteckna)~(?:att|detta) (?:notera|anteckna):
        (?:lagg~(?:detta|det|det~har)~pa~minnet|spara~(?:detta|det~har)~i~(?:ditt~)?minne) for~framtiden(?=[:,])
        till~nasta~gang(?=[:,]) husk~(?:alltid~)?(?:pa~)?(?:at|dette|det~her) husk: glem~(?:ikke|aldrig|aldri)
        noter~(?:at|dette) for~fremtiden(?=[:,]) jag~vill~att~du~(?:kommer~ihag|minns|inte~glommer)
        """,
        """
        (?:kan|kunde|skulle|vil)~du~(?:(?:kunna|snalla|venligst)~){0,2}&
        (?:komma~ihag|huske|lagga~pa~minnet|notera|notere)~(?:att|detta|det~har|at|dette|min|mitt|mit)
        """,
    ),
    "pl": Asking(
        """prosze no ok a i ale hej czesc zawsze od~teraz""",
        """
        pamietaj(?:cie)?(?:,?~(?:prosze|zawsze|tez|o~tym)){0,2},?~(?:ze|zeby|aby|o~tym) pamietaj: zapamietaj(?:cie)?
        nie~(?:zapomnij|zapominaj)(?:cie)? miej~(?:to~)?(?:na~uwadze|w~pamieci) wez~pod~uwage
        (?:zanotuj|zapisz)(?:~(?:sobie|prosze)){0,2},?~(?:ze|to~w~pamieci) (?:zanotuj|zapisz)(?:~sobie)?:
        zanotuj~(?:sobie~)?to
        na~przyszlosc(?=[:,]) notatka~na~przyszlosc chce,?~zebys~(?:to~)?(?:zapamietal|pamietal)a?
        """,
        """
        (?:czy~)?(?:mozesz|moglbys|moglabys)~(?:(?:prosze|to|sobie)~){0,3}(?:zapamietac|pamietac,?~ze|zanotowac)
        """,
    ),
    "ru": Asking(
        """пожалуйста и но а ну ок эй привет слушай всегда впредь кстати с~этого~момента""",
        """
        запомни(?:те)? помни(?:те)?(?:,?~(?:пожалуйста|всегда)){0,2},?~что помни(?:те)?~об~этом помни:
        не~(?:забудь|забывай)(?:те)? имей(?:те)?~(?:это~)?в~виду учти(?:те)? (?:запиши|сохрани)(?:те)?(?:~себе)?,?~что
        (?:запиши|запишите): держи(?:те)?~(?:это~)?в~(?:уме|голове|памяти) сохрани(?:те)?~(?:это~)?в~памяти
        возьми(?:те)?~(?:это~)?на~заметку прими(?:те)?~(?:это~)?к~сведению на~будущее(?=~?[:,—–-]) заметка~на~будущее
        (?:я~)?хочу,?~чтобы~(?:ты|вы)~(?:это~)?запомнил(?:а|и)?
        """,
        """
        (?:ты~|вы~)?(?:не~)?(?:можешь|можете|мог~бы|могла~бы|могли~бы)~(?:(?:ты|вы|пожалуйста|это|себе)~){0,3}&
        (?:запомнить|иметь~в~виду|учесть|взять~на~заметку)
        """,
    ),
    "uk": Asking(
        """будь~ласка прошу і й та але ну ок гей привіт слухай завжди відтепер до~речі""",
        """
        запам'?ятай(?:те)? пам'?ятай(?:те)?(?:,?~(?:будь~ласка|завжди)){0,2},?~що пам'?ятай(?:те)?~про~це
        не~(?:забудь|забувай)(?:те)? май(?:те)?~(?:це~)?на~увазі врахуй(?:те)? (?:запиши|занотуй)(?:те)?(?:~собі)?,?~що
        (?:запиши|занотуй): тримай(?:те)?~(?:це~)?в~(?:голові|пам'?яті) збережи~(?:це~)?в~пам'?яті
        візьми(?:те)?~(?:це~)?(?:на~замітку|до~уваги) на~майбутнє(?=~?[:,—–-]) нотатка~на~майбутнє
        (?:я~)?хочу,?~щоб~(?:ти|ви)~(?:це~)?запам'?ята(?:в|ла|ли)
        """,
        """
        (?:чи~)?(?:не~)?(?:можеш|можете|міг~би|могла~б|могли~б)~(?:(?:ти|ви|будь~ласка|це|собі)~){0,3}&
        (?:запам'?ятати|занотувати|мати~на~увазі|врахувати)
        """,
    ),
    "tr": Asking(
        """lutfen hey ok ve ama tamam bundan~sonra merhaba sakin her~zaman""",
        r"""
        (?:unutma|hatirla)(?:yin|yiniz)?~ki sakin~unutma(?:yin)? unutma(?:yin|yiniz)?(?=$|,)
        aklinda~(?:olsun|bulunsun|tut)(?:~ki)? (?:not~al|not~et):
        (?:gelecek|ilerisi|sonrasi)~icin~not (?:gelecek|bir~dahaki~sefer|ilerisi)~icin(?=[:,])
        (?:[^.!?,;:\n]{0,100}~)?(?:bunu|sunu|bunlari|sunlari|[^\s,.!?]{2,30}(?:[gd]imi|[gd]umu))~(?:(?:lutfen|sakin|da|hep)~){0,2}&
        (?:unutma(?:yin|yiniz)?|aklinda~tut(?:un)?|hatirla(?:yin)?|kaydet(?:in)?|not~al(?:in)?|not~et(?:in)?|hafizana~(?:al|kaydet))&
        (?=\s*(?:$|[.!,;:]))
        """,
        r"""
        (?:[^.!?,;:\n]{0,100}~)?(?:bunu|sunu|bunlari|sunlari|[^\s,.!?]{2,30}(?:[gd]imi|[gd]umu))~(?:lutfen~)?&
        (?:aklinda~tutar|aklinda~tutabilir|not~eder|not~edebilir|not~alir|kaydeder|unutmaz|hatirlayabilir)~misin(?:iz)?
        """,
    ),
    "ar": Asking(
        """من~فضلك رجاء ارجوك لو~سمحت طيب مرحبا دائما اسمع""",
        """
        و?تذكر(?:ي|وا)?~(?:دائما~|جيدا~)?(?:ان|اني|انني|اننا|بان|باني|هذا|هذه|ذلك) تذكر(?:ي)?: و?لا~تنس(?:ي|وا)?
        ضع(?:ي)?~(?:هذا~)?في~(?:اعتبارك|بالك|ذهنك|الاعتبار|الحسبان) خلي~(?:في~)?بالك ليكن~في~علمك
        احفظ(?:ي)?~(?:ان|اني|انني|هذا|هذه|عندك|في~ذاكرتك) (?:سجل|دون)(?:ي)?~(?:عندك~)?(?:ان|اني|انني|هذا|هذه)
        (?:سجل|دون)(?:~عندك)?: خذ~(?:بعين~الاعتبار|في~الاعتبار|علما) للمستقبل(?=[:،,]) ملاحظه~للمستقبل
        اريدك~ان~(?:تتذكر|تحفظ)ي?
        """,
        """
        (?:هل~)?(?:يمكنك|تستطيع|بامكانك|ممكن)~(?:من~فضلك~)?(?:ان~)?(?:تتذكر|تحفظ|تسجل|تدون|تذكر|حفظ)ي?~&
        (?:ان|اني|انني|هذا|هذه|ذلك|اسمي)
        """,
    ),
    "vi": Asking(
        """xin vui~long lam~on nay va nhung ok tu~nay luon~luon hay ban""",
        """
        (?:ghi~)?nho~(?:(?:giup|ho|cho)~(?:toi|minh)~)?(?:rang|la|dieu~nay|ky~rang|ki~rang|nhe|nha)
        (?:hay|vui~long|xin|lam~on)~(?:luon~)?ghi~nho
        ghi~nho: (?:dung|khong~duoc)~(?:co~|bao~gio~)?quen luu~y~(?:rang|la) luu~(?:dieu~nay~|lai~)?vao~bo~nho
        ghi~(?:lai|chu)~(?:rang|dieu~nay) ghi~chu(?:~cho~(?:tuong~lai|sau~nay|lan~sau))?:
        cho~(?:tuong~lai|lan~sau|sau~nay)(?=[:,])
        (?:toi|minh)~muon~ban~(?:ghi~)?nho
        """,
        """
        (?:ban~)?co~the~(?:vui~long~)?(?:ghi~)?nho~(?:(?:giup|ho|cho)~(?:toi|minh)~)?(?:rang|la|dieu~nay|ten)
        """,
    ),
    "id": Asking(
        """tolong mohon dan tapi hei halo oke ok selalu mulai~sekarang""",
        """
        ingat(?:lah|kan)?(?:~(?:ya|selalu|baik-baik)){0,2},?~(?:bahwa|kalau|ini|hal~ini) ingat:
        ingat-ingat~(?:bahwa|kalau|ini)
        jangan~(?:sampai~|pernah~)?lupa(?:kan)? catat(?:lah)?~(?:bahwa|kalau|ini|ya) catat: camkan
        simpan~(?:(?:ini|hal~ini)~)?(?:di~(?:dalam~)?(?:memori|ingatan)|bahwa)
        untuk~(?:masa~depan|ke~depannya|lain~kali)(?=[:,])
        catatan~untuk~(?:masa~depan|nanti|lain~kali) (?:saya|aku)~(?:ingin|mau)~kamu~(?:meng)?ingat
        """,
        """
        (?:bisakah|bisa|dapatkah|maukah)~(?:kamu|anda)~(?:tolong~)?(?:mengingat|ingat|mencatat|catat)~(?:bahwa|kalau|ini|nama)
        """,
    ),
}
"""Languages that put the phrase where a clause begins."""

_ZH_FIRST: Final = (
    "(?:请|請|麻烦|麻煩|帮我|幫我|给我|給我|你|您|要|得|一定|务必|務必|千万|千萬|以后|以後|从现在起|那就|那|好的?"
    "|顺便|都|也|先|永远|永遠)"
)
_ZH_NO_FACT: Final = r"(?!密码|密碼|我(?:吧|了|$)|了|的是|过|過)"
_JA_NOT: Final = r"(?!と|って|くれて|くださって|もら[いっ]|いただ[いき]|よかった|良かった|い(?:る|た|ます|ない)|は|も)"
_KO_NOT: Final = r"(?!라고|라는|라며|서|야|도|란)"
_HI_NOT: Final = r"(?!~(?:मुश्किल|कठिन|आसान|ज़रूरी|जरूरी|होगा|पड़|चाहता|चाहती|था))"

ANYWHERE: Final = {
    "hi": Asking(
        "",
        rf"""
        याद~(?:रखना|रखो|रखें|रखिए|रखिये|रखिएगा|रखियेगा|रखिएं){_HI_NOT} याद~रख~(?:लो|लेना|लें|लीजिए)
        ध्यान~(?:में~)?(?:रखना|रखो|रखें|रखिए|रखिएगा)~कि ध्यान~में~(?:रखना|रखो|रखें|रखिए|रखिएगा){_HI_NOT}
        (?:मत|न|ना)~(?:भूलना|भूलो|भूलें|भूलिए|भूलिएगा) (?:भूलना|भूलो|भूलिए|भूलिएगा)~(?:मत|नहीं)
        नोट~(?:कर~(?:लो|लें|लेना|लीजिए)|करो|करें|कीजिए) (?:भविष्य|आगे|अगली~बार)~के~लिए(?=~(?:नोट|याद)|[:,])
        (?:याददाश्त|मेमोरी)~में~(?:सेव|सहेज|रख|दर्ज)~?(?:कर~)?(?:लो|लें|लेना|लीजिए|करो|करें|ना)
        """,
        """
        क्या~(?:आप|तुम)~(?:(?:कृपया|इसे|यह|ये)~){0,2}(?:याद~रख|नोट~कर|ध्यान~में~रख)~(?:सकते|सकती)
        क्या~(?:आप|तुम)~(?:(?:कृपया|इसे|यह)~){0,2}याद~(?:रखेंगे|रखोगे|रखेंगी|रखोगी)
        """,
    ),
    "zh": Asking(
        "",
        rf"""
        (?:^|[.!;,、\n。(])\s*{_ZH_FIRST}{{0,5}}(?:记住|記住|牢记|牢記|记着|記著|记一下|記一下|记下来?|記下來?){_ZH_NO_FACT}
        (?:^|[.!;,、\n。(])\s*{_ZH_FIRST}{{0,5}}(?:别|別|不要|勿|不能|别再|別再)(?:忘了|忘记|忘記|忘)
        (?:^|[.!;,、\n。(])\s*{_ZH_FIRST}{{1,5}}(?:记得|記得)(?!吗|嗎|不|了)
        (?:^|[.!;,、\n。(])\s*(?:记得|記得)(?:我(?:是|的|不|喜|爱|愛|对|對|叫|住|在|有|只|吃|喝|会|會|每)|[:])
        (?:^|[.!;,、\n。(])\s*{_ZH_FIRST}{{0,5}}(?:把|将|將)[^。!?,\n]{{1,40}}&
        (?:记住|記住|记下来?|記下來?|存入记忆|存到记忆里|记在心里)(?!了)
        (?:这个|這個|这点|這點|这件事|這件事)(?:请|請|你|您|要|一定|得){{1,3}}(?:记住|記住|记着)
        (?:^|[.!;,、\n。(])\s*{_ZH_FIRST}{{0,5}}(?:做个|作个|留个|加个)(?:备注|備註|记录|笔记):
        (?:^|[.!;,、\n。(])\s*(?:备忘|備忘|为了以后|為了以後|供以后参考|供日后参考)[:,]
        """,
        rf"""
        (?:能不能|可不可以|可以|能|能否|可否){_ZH_FIRST}{{0,4}}(?:记住|記住|记一下|記一下|记下|記下){_ZH_NO_FACT}
        """,
    ),
    "ja": Asking(
        "",
        rf"""
        (?:覚えて|憶えて|おぼえて|記憶して|メモして|記録して|心に留めて|頭に入れて)(?:おいて|置いて|ください|下さい|ね(?!え)|くれ(?!て|る|た|ま)|ほしい|欲しい){_JA_NOT}
        (?:覚えといて|おぼえといて|メモっといて|覚えていて(?:ください|下さい|ね|ほしい)|念頭に置いて(?:おいて|ください|下さい|ね)){_JA_NOT}
        忘れないで(?:ください|下さい|ね|くれ(?!て|る|た)|おいて|ほしい)?{_JA_NOT} 忘れるな(?:よ)?{_JA_NOT} お忘れなく
        (?:今後|将来|次回)のために(?:メモ|覚え|記憶|、|,)
        """,
        """
        (?:覚えて|憶えて|記憶して|メモして|記録して)(?:おいて)?(?:もらえ(?:る|ます|ません)|くれ(?:る|ます|ません|ない)|いただけ(?:ます|ません|る))
        """,
    ),
    "ko": Asking(
        "",
        rf"""
        (?:기억해|메모해|외워|적어)~?(?:줘|둬|놔|두세요|주세요|주십시오|두십시오|둬요|줘요|놓아){_KO_NOT}
        기억하(?:세요|십시오|도록~?해|렴|거라){_KO_NOT} 잊지~?(?:마|말아|말고|마세요|마십시오|말~?것|말아요){_KO_NOT}
        잊으면~?안~?(?:돼|됩니다|되)
        명심(?:해|하세요|하십시오|해줘|해~줘|해라)(?!서|야) 염두에~?(?:둬|두세요|두십시오|둬줘){_KO_NOT}
        (?:메모리|기억)에~?(?:저장|기록)해~?(?:줘|둬|주세요|두세요){_KO_NOT}
        (?:나중|앞으로|다음)을?~?위해서?~?(?:기억|메모)
        """,
        """
        (?:기억해|메모해|적어|외워)~?(?:줄래|줄~?수~?있|주실래|주시겠|주실~?수|둘~?수~?있|줄~?거지)
        """,
    ),
    "th": Asking(
        "",
        """
        (?<!ไม่)(?<!ฉัน)(?<!ผม)(?<!เคย)(?:จด)?จำ(?:ไว้|เอาไว้)(?:ด้วย|นะ|ว่า|ให้ดี|เลย|เสมอว่า)
        (?:ช่วย|โปรด|กรุณา)(?:จด)?จำ(?!ได้|ไม่)
        (?<!ไม่)อย่าลืม (?:ช่วย|โปรด|กรุณา)?(?:จด|บันทึก)(?:ไว้|เอาไว้)(?:ด้วย)?ว่า บันทึกช่วยจำ:
        """,
        """
        (?:ช่วย|สามารถ)(?:จด)?จำ[^?]{0,80}(?:ได้ไหม|ได้มั้ย|หน่อยได้)
        """,
    ),
}
"""Languages whose phrases stand anywhere in a sentence."""

SAID: Final = r"""
    (?<!\bi~)(?:said|says|saying|told~(?:me|us|him|her|them)|tells~(?:me|us)|wrote|writes|texted|quoted?)
    sagte sagt schrieb meinte (?:a|ont|avait|m'a)~dit disait dit~toujours ecrit dijo dice decia escribio disse diz falou
    escreveu ha~detto diceva zei zegt schreef sa sade skrev sagde powiedzial(?:a)? mowi(?:l|la)? napisal(?:a)?
    сказал(?:а|и)? говорит говорил(?:а)? написал(?:а)? сказав каже казав казала написав dedi diyor yazdi قال قالت
    يقول تقول कहा बोला बोली कहता कहती bilang berkata
"""
"""Who speaks of what somebody else said, before a comma: what follows is that person's request."""
