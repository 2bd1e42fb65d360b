"""Keys, passwords, codes and card numbers never get past the door; what merely looks like them stays."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perdure.text import MAX_TEXT_BYTES, mask, masked_json
from perdure.text.secret_cards import passes_luhn

LETTERS = "aB3dE5gH7jK9mN2pQ4rS6tU8vW0xY1zAbCdEfGhIjKlMnOpQrStUvWxYz"
WEB_TOKEN = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQ"
# Put together here, so that nothing that scans this file takes them for keys that were left in it.
PEM = "\n".join(
    [
        "-----BEGIN " + "RSA PRIVATE KEY-----",
        *["MIIEpAIBAAKCAQEAx7Jk2Qm9Lp0sVt4YwZc8Nf3Rb6Hd1Ge5Ua7Xi2Oj9Kl4Mn"] * 12,
        "-----END " + "RSA PRIVATE KEY-----",
    ]
)

SECRETS = [
    ("sk-ant-" + "api03-" + (LETTERS * 2)[:93] + "AA", "api key"),
    ("AKIA" + "2E0A8F3B244C9986"[:16], "api key"),
    ("ghp_" + LETTERS[:36], "token"),
    ("glpat-" + "a1b2c3d4e5f6g7h8i9j0", "token"),
    ("xoxb-" + "123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx", "token"),
    ("AIza" + LETTERS[:35], "api key"),
    ("hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH", "token"),
    ("110201543:" + "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsawX", "token"),
    (WEB_TOKEN, "token"),
    (PEM, "private key"),
    ("4111 1111 1111 1111", "card number"),
    ("5555-5555-5555-4444", "card number"),
    ("3782 822463 10005", "card number"),
    ("378282246310005", "card number"),
    ("4111\u00a01111\u00a01111\u00a01111", "card number"),
    ("4111.1111.1111.1111", "card number"),
    ("sk-" + "proj-" + LETTERS, "api key"),
    ("４１１１ １１１１ １１１１ １１１１", "card number"),
]

ANNOUNCED = [
    ("my password is {}", "hunter2"),
    ("My password is {}.", "swordfish"),
    ("the password is {}, and the user is ada", "hunter2"),
    ("the wifi password for the cabin is {}", "Tr0ub4dor&3"),
    ("Password: {}\nUser: ada", "letmein"),
    ('{{"user": "ada", "password": "{}"}}', "correct horse"),
    ("DB_PASSWORD={}", "hunter2xyz"),
    ("user: ada, pw: {}", "fisch"),
    ("I changed my password to {}", "hunter2"),
    ("https://example.com/in?token={}&x=1", "abc123def456ghi"),
    ("Authorization: Bearer {}", "abcdef1234567890ABCDEF"),
    ("Password: {}", "correct_horse_battery"),
    ("Mein Passwort lautet {}", "Sommer2024"),
    ("mein Kennwort ist {}", "geheim123"),
    ("mi contraseña es {}", "perrito99"),
    ("mon mot de passe est {}", "soleil77"),
    ("la mia password è {}", "gattino12"),
    ("minha senha é {}", "abacate55"),
    ("mijn wachtwoord is {}", "fiets123"),
    ("moje hasło to {}", "zielony7"),
    ("lösenordet är {}", "katt1234"),
    ("şifrem {}", "kedi1234"),
    ("мой пароль: {}", "qwerty"),
    ("я забыл сказать, пароль {}", "qwerty123"),
    ("כן, הסיסמה: {}", "hunter2"),
    ("كلمة المرور هي {}", "hunter2"),
    ("मेरा पासवर्ड {} है", "hunter2"),
    ("รหัสผ่านคือ {}", "hunter22"),
    ("mật khẩu là {}", "meocon99"),
    ("kata sandi saya: {}", "kucing88"),
    ("我的密码是{}，请记住", "hunter2"),
    ("パスワードは{}です", "hunter2"),
    ("비밀번호는 {}야", "hunter2"),
    ("AccountName=x;AccountKey={};EndpointSuffix=core", LETTERS + "=="),
    ("PGPASSWORD={} psql", "fisch"),
    ("Cookie: sessionid={}; theme=dark", "abc123def456"),
    ("<password>{}</password>", "hunter"),
    ("ada:{}@db.example.com", "s3cretPw"),
    ("my Netflix password's {}", "hunter2"),
    ("my password used to be {}", "hunter2"),
    ("the door code is {}", "4821"),
    ("пароль: {}", "солнышко"),
    ("密码：{}，请记住", "春天花开"),
    ("my pass\u200bword is {}", "hunter2"),
    ("my api key is {}", "abcd1234efgh5678"),
    ("der API-Schlüssel lautet {}", "abcd1234efgh5678"),
    ("my PIN is {}", "4921"),
    ("Your verification code is {}", "482913"),
    ("{} is your Google verification code", "G-482913"),
    ("Ihr Bestätigungscode lautet {}", "482 913"),
    ("验证码：{}", "482913"),
    ("postgres://ada:{}@db.example.com/x", "s3cr3tPw9"),
    ("my wifi password is {}", "correct horse battery staple"),
    ("By the way my wifi password is {} and the router is upstairs", "correct horse battery staple"),
    ("my wifi password is {}, please keep it", "purple monkey dishwasher"),
    ("my password is {} so tell nobody", "purple monkey dishwasher lantern"),
    ("Password: {}", "purple monkey dishwasher"),
    ("mein WLAN-Passwort ist {}.", "korrekt Pferd Batterie Heftklammer"),
    ("Mein Passwort lautet {} und der Router steht oben", "lila Affe Spülmaschine Laterne"),
    ("mi contraseña del wifi es {}", "caballo correcto batería grapa"),
    ("le mot de passe du wifi est {}", "cheval correct batterie agrafe"),
    ("la password del wifi è {}", "cavallo corretto batteria graffetta"),
    ("a senha do wifi é {}", "cavalo correto bateria grampo"),
    ("пароль от вайфая: {}", "верная лошадь батарея скрепка"),
    ("我家的wifi密码是{}", "正确马电池订书钉"),
    ("my IBAN is {}", "DE89 3704 0044 0532 0130 00"),
    ("Bitte überweise auf {} bis Freitag", "DE89370400440532013000"),
    ("IBAN {}, Ada Lovelace", "GB29 NWBK 6016 1331 9268 19"),
    ("my SSN is {}", "078-05-1120"),
    ("SSN: {}", "078051120"),
    ("my social security number is {}, right?", "078 05 1120"),
    ("Meine Sozialversicherungsnummer ist {}", "12 010188 M 011"),
    ("Steuer-ID: {}", "86095742719"),
    ("mon numéro de sécurité sociale est {}", "1 85 05 78 006 084 36"),
    ("mi DNI es {}", "12345678Z"),
    ("il mio codice fiscale è {}", "RSSMRA85T10A562S"),
    ("meu CPF é {}", "529.982.247-25"),
    ("我的身份证号是{}", "11010519491231002X"),
    ("мой ИНН {}", "500100732259"),
    ("passport number {}", "C01X00T47"),
    (
        "my seed phrase is: {}",
        "abandon ability able about above absent absorb abstract absurd abuse access accident",
    ),
]

ORDINARY = [
    "I forgot my password again, it is so annoying",
    "My password is wrong.",
    "my password is too long",
    "my password is the name of my dog",
    "password: required",
    "The password is case-sensitive",
    "passwords must have 8 characters",
    "my password manager is 1Password",
    "Change your password in 30 days",
    "I forgot the password to Netflix.",
    "Which password on Facebook?",
    "Das Passwort von Netflix.",
    "Sandi: Thanks",
    "Monthly pass: €68-130 per month",
    "Clave: paciencia",
    "password = get_password()",
    'password=os.environ["DB"]',
    "token = self.token_1234",
    "the password is in the safe",
    "Das Passwort ist abgelaufen.",
    "Mein Passwort ist falsch",
    "mi contraseña es muy larga",
    "mon mot de passe est trop court",
    "пароль от Wi-Fi я забыл",
    "我忘记了我的密码",
    "パスワードを忘れました",
    "비밀번호를 잊어버렸어요",
    "The secret is to add salt",
    "a token of appreciation: a bottle of wine",
    "la clave es la paciencia",
    "Sandi is 25 years old",
    "We pass: 3 of 4 tests",
    "the Gotthard pass is 2106 m high",
    "my pin is broken, I pinned 1234 to the board",
    "PIN code 110001, Delhi",
    "the door code is on the fridge",
    "Boarding pass: Gate12",
    "my phone number is 4915112345678",
    "my password's wrong",
    "密码：请输入您的密码",
    "Пароль: неверный",
    "mailto:ada99@example.com",
    "order 302-8841234-1234567",
    "invoice 4000123412341234",
    "123e4567-e89b-12d3-a456-426614174000",
    "commit 9904a09fa7d34a1c0a6d6e7a2d3f0a5b4c3d2e1f",
    "sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "+49 170 1234567",
    "(555) 123-4567",
    "DE88 3704 0044 0532 0130 00",
    "the password is wrong every single time",
    "My password is probably a total mess",
    "the password is known to everyone in accounting",
    "my password is stored somewhere in grandmother's drawer",
    "Das Passwort ist irgendwo im Safe meiner Oma",
    "mi contraseña es la misma de siempre",
    "mon mot de passe est le même que le tien",
    "la password è quella di sempre",
    "a senha é a mesma de sempre",
    "密码是我的生日",
    "我的密码是错误的",
    "part 123-45-67890",
    "order 123-45-6789",
    "my passport expires in 2031",
    "I work in social security since 1998",
    "Die Steuernummer kenne ich nicht",
    "la carta d'identità scade nel 2030",
    "Winnie has 12 cats",
    "ISBN 978-3-16-148410-0",
    "1Z999AA10123456784",
    "at 1764547200000 ms",
    "imei 490154203237518",
    "https://example.com/a/b?id=abcdef0123456789&ref=xyz",
    "It costs 4111.11 or 1,111,111,111,111",
    "Ada ist 34, wohnt in der Hauptstr. 5, 10827 Berlin",
    "明天下午三点在3号会议室开会，记得带电脑",
]

# Beginnings that send a search looking for an end which never comes.
HOSTILE = [
    "-----BEGIN RSA PRIVATE " + "KEY-----",
    "-----BEGIN A A A ",
    "password is ",
    "password for a b c d e ",
    'password: "',
    "api key ",
    "sk-a",
    "Cookie: a=",
    "<password>",
    "ada:abcd@a.",
    "пароль: ",
    "PIN ",
    "verification code ",
    "seed phrase is abc abc abc abc abc abc abc abc abc abc ",
    "eyJ",
    "eyJ.",
    "sk-",
    "AIza",
    "://a:",
    "4111 ",
    "4111111111111111 ",
    "1",
    "密码是",
    "[secret: ",
    "\u0300",
]


@pytest.mark.parametrize(("secret", "kind"), SECRETS, ids=[kind for _, kind in SECRETS])
def test_a_secret_of_a_known_form_is_masked_wherever_it_stands(secret: str, kind: str) -> None:
    for text in (secret, f"look: {secret}", f"{secret}, that was it", f"前面是{' '}{secret} 后面"):
        masked = mask(text)
        assert secret not in masked.text
        assert masked.kinds == (kind,)
        assert masked.text == text.replace(secret, f"[secret: {kind}]")


@pytest.mark.parametrize(("sentence", "secret"), ANNOUNCED)
def test_what_stands_beside_a_word_for_a_secret_is_masked_in_many_languages(sentence: str, secret: str) -> None:
    masked = mask(sentence.format(secret))
    assert secret not in masked.text
    assert len(masked.kinds) == 1
    assert masked.text.startswith(sentence.partition("{}")[0].replace("{{", "{"))


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_talk_and_other_numbers_stay_as_they_are(text: str) -> None:
    assert mask(text).text == text


def test_a_private_key_whose_end_was_cut_off_is_masked() -> None:
    assert mask("Here: " + PEM[:400] + "\nthat was it").text == "Here: [secret: private key]\nthat was it"


def test_all_secrets_of_a_text_are_masked_and_the_rest_stays_in_place() -> None:
    masked = mask("card 4111 1111 1111 1111, password: hunter2\n— Ada 🦀, Lisbon")
    assert masked.text == "card [secret: card number], password: [secret: password]\n— Ada 🦀, Lisbon"
    assert masked.kinds == ("card number", "password")


def test_letters_that_grow_in_lower_case_do_not_shift_what_is_masked() -> None:
    assert mask("İİİİ, my password is hunter2 İ").text == "İİİİ, my password is [secret: password] İ"


def test_every_text_inside_json_is_masked_and_its_shape_stays() -> None:
    given = {"a": ["my password is hunter2", 3, None], "b": {"note": "fine", "ok": True}}
    assert masked_json(given) == {
        "a": ["my password is [secret: password]", 3, None],
        "b": {"note": "fine", "ok": True},
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("password", "a"),
        ("PASSWD", "required"),
        ("clientSecret", "plain"),
        ("api_key", "plain"),
        ("X-API-Key", 12345),
        ("apiKey2", 1.5),
        ("access_token", "plain"),
        ("pin", 4921),
        ("cardPIN", 12),
        ("cvv", 123),
        ("Authorization", "Basic plain"),
        ("Passwort", "plain"),
        ("mot_de_passe", "plain"),
        ("пароль", "рыба"),
        ("密码", "春天"),
    ],
)
def test_what_stands_under_a_name_that_announces_a_secret_is_masked_whatever_it_looks_like(
    name: str, value: object
) -> None:
    masked = masked_json([{"a": {name: value}, "b": {name: {"x": [value, None, True, ""]}}}])
    assert isinstance(masked, list)
    (hidden,) = {masked[0]["a"][name], masked[0]["b"][name]["x"][0]}
    assert hidden.startswith("[secret: ")
    assert masked[0]["b"][name]["x"][1:] == [None, True, ""]
    assert masked_json(masked) == masked


def test_other_fields_stay_as_they_are() -> None:
    given = {"has_password": True, "token_count": 512, "pass": "Gotthard", "pins": 3, "keyboard": "x", "tokens": 7}
    given |= {"at": 1764547200000, "order_id": 4111111111111111, "phone": "+49 170 1234567"}
    assert masked_json(given) == given


def test_card_numbers_that_are_numbers_and_secrets_that_are_names_are_masked() -> None:
    keys = ["ghp_" + LETTERS[:36], "ghp_" + LETTERS[1:37]]
    assert masked_json({"n": 4111111111111111, "m": [378282246310005], keys[0]: 1, keys[1]: 2}) == {
        "n": "[secret: card number]",
        "m": ["[secret: card number]"],
        "[secret: token]": 1,
        "[secret: token] 2": 2,
    }


@given(st.integers(min_value=0, max_value=10**14), st.integers(min_value=0, max_value=9))
def test_of_ten_last_digits_luhn_accepts_one(number: int, digit: int) -> None:
    accepted = [last for last in range(10) if passes_luhn(f"{number}{last}")]
    assert len(accepted) == 1
    assert passes_luhn(f"{number}{digit}") is (digit in accepted)


PIECES = [secret for secret, _ in SECRETS] + [one.format(secret) for one, secret in ANNOUNCED] + ORDINARY


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=20)), max_size=6).map(" ".join))
@example("password: [secret: password]")
@example("[secret: x] is your code")
@example("Steuer-ID: 86095742719 sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
@example('{"password": "[secret: password]", "passcode": "correct horse", "pw": "abcd1234"}')
def test_masking_twice_is_masking_once(text: str) -> None:
    once = mask(text).text
    assert mask(once).text == once


@pytest.mark.parametrize("begin", HOSTILE)
def test_the_longest_hostile_text_is_gone_through_without_starting_over(begin: str) -> None:
    # Quadratic search would take minutes for one of these.
    text = (begin * (MAX_TEXT_BYTES // len(begin.encode()) + 1)).encode()[:MAX_TEXT_BYTES].decode(errors="ignore")
    assert isinstance(mask(text).text, str)


def test_a_secret_far_inside_a_long_text_is_found() -> None:
    filler = "We went to the market and bought apples and bread. " * 4000
    assert mask(f"{filler}ghp_{LETTERS[:36]} {filler}").kinds == ("token",)
