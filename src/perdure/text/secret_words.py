"""The words that announce a secret, those that stand between one and it, and what is said of one, in many languages."""

from __future__ import annotations

from typing import Final

from perdure.text.secret_kinds import API_KEY, CODE, PASSWORD, RECOVERY_PHRASE, TOKEN

# In these lists "·" is a space within one, and "~" a space, a hyphen, an underscore or nothing.
_WORDS: Final = {
    PASSWORD: """
        password passwords passwort kennwort passphrase passcode passwd contraseña contrasena clave mot·de·passe senha
        palavra-passe parola·d'ordine wachtwoord lösenord lösenordet losenord adgangskode adgangskoden kodeord passord
        passordet salasana salasanani hasło haslo hasłem heslo geslo lozinka jelszó jelszo jelszavam parolă parola
        parolam şifre şifrem sifre sifrem şifremiz mật·khẩu mat·khau kata·sandi sandi κωδικός κωδικος пароль пароля
        паролем סיסמה סיסמא הסיסמה הסיסמא كلمة·المرور كلمة·السر كلمه·السر رمز·عبور گذرواژه पासवर्ड পাসওয়ার্ড รหัสผ่าน
        密码 密碼 口令 パスワード 暗証番号 비밀번호 패스워드
    """,
    API_KEY: """
        api~key api~keys access~key secret~key private~key license~key client~secret api~secret app~secret api-schlüssel
        zugangsschlüssel clave·api clave·de·api clé·api clé·d'api chiave·api chave·api chave·de·api klucz·api
        api~sleutel api·anahtarı ключ·api api~ключ 密钥 密鑰 api密钥 apiキー アクセスキー api~키 مفتاح·api
    """,
    TOKEN: """
        token access~token api~token auth~token bearer~token bot~token refresh~token session~token токен 令牌
        トークン 토큰
    """,
    CODE: """
        pin pin~code cvv cvv2 cvc cvc2 cvn otp tan 2fa·code geheimzahl one-time·code one-time·passcode verification·code
        door·code alarm·code gate·code entry·code lock·code türcode alarmcode haustürcode
        security·code confirmation·code login·code sign-in·code authentication·code auth·code access·code
        bestätigungscode sicherheitscode anmeldecode einmalcode código·de·verificación código·de·seguridad
        código·de·verificação código·de·segurança code·de·vérification code·de·sécurité code·de·confirmation code·secret
        codice·di·verifica codice·di·sicurezza verificatiecode kod·weryfikacyjny doğrulama·kodu код·подтверждения
        код·безопасности пин-код пинкод 验证码 驗證碼 認証コード 確認コード 인증번호 인증~코드 رمز·التحقق
    """,
    RECOVERY_PHRASE: """
        seed~phrase seed~words recovery~phrase backup~phrase wallet~phrase mnemonic wiederherstellungsphrase
    """,
}
SHORT_WORDS: Final = ("pass", "pw", "pwd", "psw")
OTHER_MEANINGS: Final = frozenset({"pass", "clave", "parola", "parolă", "sandi"})
"""Words that mean something else as often (a ticket, a key to something, a word, a name): a plain word behind them is
no password."""

FOR: Final = """
    for of to on at für fuer zum zur von vom de del du des di della para pour per do da voor van til för dla до для от
    к
"""
OWN: Final = "saya aku kamu anda của·tôi của·mình του μου שלי الخاصة·بي"
IS: Final = "is was will·be ist war lautet heißt es era est était è é luidt är var je là adalah είναι это هي هو است थी"
TO: Final = "to on er e eh oli na used·to·be"
"""Words that mean "is" in one language and something else in another: a plain word behind them is no password."""
_SAID: Final = """
    characters letters digits numbers symbols minimum maximum must length uppercase lowercase every everyone somewhere
    everywhere nobody mindestens zeichen buchstaben mínimo caracteres caractères caratteri
    wrong incorrect correct expired required invalid valid weak strong secure insecure secret safe unsafe private
    public important needed necessary optional mandatory missing lost forgotten gone reset changed saved stored
    encrypted hashed protected empty blank short long simple complex complicated easy hard difficult unique same
    different unknown hidden compromised leaked stolen hacked exposed blocked locked disabled enabled working broken
    accepted rejected denied okay fine good great terrible annoying ridiculous stupid below above here there
    attached following what which something everything nothing random known confirmed updated sensitive temporary
    yours mine ours none null true false string text redacted masked case-sensitive default unchanged outdated
    reused shared guessed already always never still also only just about being going supposed likely probably
    definitely really pretty quite very falsch richtig korrekt abgelaufen erforderlich ungültig gültig schwach stark
    sicher unsicher geheim privat wichtig nötig notwendig verloren vergessen geändert gespeichert verschlüsselt
    geschützt leer kurz lang einfach kompliziert schwer gleich unbekannt gesperrt zurückgesetzt weg neu alt nicht
    immer noch auch anders bekannt incorrecta correcta inválida válida segura insegura débil fuerte larga corta
    nueva vieja secreta necesaria obligatoria caducada olvidada perdida incorrecto correcto inválido seguro olvidado
    misma fácil difícil faux expiré requis invalide valide faible fort sûr court nouveau oublié perdu nécessaire
    obligatoire sbagliata corretta scaduta richiesta debole forte sicura lunga nuova segreta dimenticata persa
    necessaria errada correta expirada obrigatória fraca nova longa curta esquecida necessária fout verkeerd
    verlopen verplicht ongeldig zwak sterk veilig kort nieuw vergeten kwijt nodig неверный неверен неправильный
    верный правильный забыл забыла забыт утерян истёк истек сброшен изменён изменен обязателен обязательно слабый
    надёжный надежный нужен требуется новый старый введите скрыт неизвестен
"""
SAID_OF_IT: Final = frozenset(_SAID.split())
"""What is said of a password, rather than being one, by people and in forms."""


def _spelled_out(words: str) -> list[str]:
    """The words of a list, in all their spellings."""
    found: list[str] = []
    for word in words.split():
        plain = word.replace("·", " ")
        found += [plain.replace("~", parting) for parting in (" ", "-", "_", "")] if "~" in plain else [plain]
    return found


def any_of(words: str) -> str:
    """One pattern for a list of words, the longest first."""
    return "|".join(sorted(set(_spelled_out(words)), key=len, reverse=True))


_STEMS: Final = ("pass", "key", "token", "code", "secret", "phrase", "api", "código", "clave", "parol", "ifre", "sand")


def _by_stem() -> dict[str, tuple[tuple[str, str], ...]]:
    words = [
        *((word, kind) for kind, words in _WORDS.items() for word in _spelled_out(words)),
        *((word, PASSWORD) for word in SHORT_WORDS),
    ]
    found: dict[str, list[tuple[str, str]]] = {}
    for word, kind in words:
        stem = next((stem for stem in _STEMS if stem in word), word)
        found.setdefault(stem, []).append((word, kind))
    return {stem: tuple(group) for stem, group in found.items()}


ANNOUNCING: Final = _by_stem()
"""The announcing words with their kinds, by what they have in common: where that is missing, all of them are."""
