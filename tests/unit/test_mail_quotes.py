"""What somebody wrote themselves stays whole; what they quote and how they sign goes, in many languages."""

from __future__ import annotations

import pytest

from perdure.connect.mail_html import html_text
from perdure.connect.mail_quotes import own_words

OWN = "See you at the harbour at six.\nBring the tickets."


@pytest.mark.parametrize(
    "head",
    [
        "On Mon, Mar 3, 2025 at 10:00 AM Bo Lind <bo@example.org> wrote:",
        "On Mon, Mar 3, 2025 at 10:00 AM\nBo Lind <bo@example.org> wrote:",
        "On Mon, Mar 3, 2025 at 10:00 AM, Bo Lind\n<bo@example.org>\nwrote:",
        "Am 03.03.2025 um 10:00 schrieb Bo Lind:",
        "Bo Lind <bo@example.org> schrieb am Mo., 3. März 2025, 10:00:",
        "Le lun. 3 mars 2025 à 10:00, Bo Lind <bo@example.org> a écrit :",
        "El lun, 3 mar 2025 a las 10:00, Bo Lind (<bo@example.org>) escribió:",
        "Il giorno lun 3 mar 2025 alle ore 10:00 Bo Lind <bo@example.org> ha scritto:",
        "Em seg., 3 de mar. de 2025 às 10:00, Bo Lind <bo@example.org> escreveu:",
        "Op ma 3 mrt 2025 om 10:00 schreef Bo Lind <bo@example.org>:",
        "Den mån 3 mars 2025 kl 10:00 skrev Bo Lind <bo@example.org>:",
        "pon., 3 mar 2025 o 10:00 Bo Lind <bo@example.org> napisał(a):",
        "po 3. 3. 2025 v 10:00 odesílatel Bo Lind <bo@example.org> napsal:",
        "пн, 3 мар. 2025 г. в 10:00, Bo Lind <bo@example.org>:",
        "3 марта 2025, 10:00, Бо Линд написал:",
        "3 Mar 2025 Pzt, saat 10:00 tarihinde Bo Lind <bo@example.org> şunu yazdı:",
        "在 2025年3月3日，10:00，Bo Lind <bo@example.org> 写道：",
        "Bo Lind <bo@example.org> 於 2025年3月3日 週一 上午10:00寫道：",
        "2025年3月3日(月) 10:00 Bo Lind <bo@example.org>:",
        "2025년 3월 3일 (월) 오전 10:00, Bo Lind <bo@example.org>님이 작성:",
        "בתאריך יום ב׳, 3 במרץ 2025 ב-10:00 מאת Bo Lind <bo@example.org>:",
    ],
)
def test_a_marked_reply_is_cut_with_its_head_in_any_language(head: str) -> None:
    assert own_words(f"{OWN}\n\n{head}\n> Where shall we meet?\n>\n>> At six?") == OWN


@pytest.mark.parametrize(
    "block",
    [
        "From: Bo Lind <bo@example.org>\nSent: Monday, March 3, 2025 10:00 AM\nTo: Ada\nSubject: Boat\n\nWhere?",
        "*From:* Bo [mailto:bo@example.org]\n*Sent:* Monday, March 3\n*To:* Ada\n*Subject:* Boat\n\nWhere?",
        "________________________________\nVon: Bo Lind\nGesendet: Montag, 3. März 2025\nAn: Ada\nBetreff: Boot\n\nWo?",
        "De : Bo Lind\nEnvoyé : lundi 3 mars 2025\nÀ : Ada\nObjet : Bateau\n\nOù ?",
        "发件人: Bo Lind\n发送时间: 2025年3月3日\n收件人: Ada\n主题: 船\n\n在哪里?",
        "-----Original Message-----\nFrom: Bo\nWhere shall we meet?",
        "-----Ursprüngliche Nachricht-----\nWo treffen wir uns?",
        "On Mar 3, 2025, at 10:00, Bo Lind wrote:\nWhere shall we meet?",
    ],
)
def test_an_earlier_mail_below_is_cut_even_if_nothing_marks_its_lines(block: str) -> None:
    assert own_words(f"{OWN}\n\n{block}") == OWN


def test_answers_between_quoted_lines_are_kept() -> None:
    text = "On Mon, Mar 3, 2025, Bo wrote:\n> Where?\n\nAt the harbour.\n\n> When?\n\nAt six."
    assert own_words(text) == "At the harbour.\n\nAt six."


@pytest.mark.parametrize(
    "words",
    [
        "I think you're right.\nOn 3 May at 10:00 we leave, as Ann wrote: no dogs",
        "From: the sea\nto the hills we walked.",
        "Two things:\n- bread\n- milk\nTake the 9:15 train.",
        "Sent from my desk, this is easier than by telephone.",
        "Best\nof all was the soup, and we had it for three days in a row because nobody wanted anything else at all.",
        "The limit is > 100 euros.",
        "Ann wrote: come at six",
        "Thanks",
        "👍",
    ],
)
def test_words_that_only_look_like_a_quotation_or_signature_are_kept(words: str) -> None:
    assert own_words(words) == words


@pytest.mark.parametrize(
    "signature",
    [
        "--\nLena Brandt\nExample Ltd, 12 Dock Road",
        "Best regards\nLena Brandt\n+44 20 5550 1234",
        "Kind regards,\n\nLena",
        "Mit freundlichen Grüßen\nLena Brandt",
        "Viele Grüße,\nLena",
        "Cordialement,\nLena Brandt",
        "Saludos\nLena",
        "С уважением,\nЛена",
        "此致\n敬礼\n李娜",
        "よろしくお願いいたします。\n田中",
        "감사합니다.\n김민수",
        "Sent from my iPhone",
        "Von meinem iPad gesendet",
        "Envoyé de mon iPhone",
        "Get Outlook for Android",
        "发自我的iPhone",
        "iPhoneから送信",
        "_______________________________________________\nboats mailing list\nhttps://example.org/boats",
    ],
)
def test_a_signature_is_cut_in_any_language(signature: str) -> None:
    assert own_words(f"{OWN}\n\n{signature}") == OWN


def test_a_postscript_behind_a_signature_is_kept() -> None:
    assert own_words(f"{OWN}\n\nBest regards\nLena\n\nP.S. The gate code is new.") == (
        f"{OWN}\n\nP.S. The gate code is new."
    )


@pytest.mark.parametrize(
    "marker",
    [
        "---------- Forwarded message ---------",
        "-------- Weitergeleitete Nachricht --------",
        "Begin forwarded message:",
        "---------- 转发的邮件 ----------",
    ],
)
def test_what_is_passed_on_is_kept_because_it_is_new_to_its_reader(marker: str) -> None:
    passed_on = f"{marker}\nFrom: Bo Lind\nDate: 3 March\nSubject: Boat\nTo: Ada\n\nIt leaves at six."
    assert own_words(f"FYI\n\n{passed_on}") == f"FYI\n\n{passed_on}"


def test_a_subject_that_says_passed_on_keeps_a_mail_below_without_a_marker() -> None:
    below = "From: Bo\nSent: Monday\nTo: Ada\nSubject: Boat\n\nIt leaves at six."
    assert own_words(f"FYI\n\n{below}", forwarded=True) == f"FYI\n\n{below}"
    assert own_words(f"FYI\n\n{below}") == "FYI"


def test_gmail_outlook_and_mozilla_quotations_in_html_are_cut() -> None:
    gmail = (
        '<div>See you.</div><div class="gmail_quote"><div class="gmail_attr">On Mon, 3 Mar 2025, Bo wrote:<br></div>'
        "<blockquote>Where?</blockquote></div>"
    )
    mozilla = '<p>See you.</p><div class="moz-cite-prefix">On 3/3/2025 Bo wrote:</div><blockquote>Where?</blockquote>'
    outlook = (
        "<p>See you.</p><div><p><b>From:</b> Bo<br><b>Sent:</b> Monday<br><b>To:</b> Ada<br><b>Subject:</b> Boat</p>"
        "</div><p>Where?</p>"
    )
    for source in (gmail, mozilla, outlook):
        assert own_words(html_text(source)) == "See you."


def test_a_mail_passed_on_in_html_is_kept_although_gmail_marks_it_as_quoted() -> None:
    source = (
        '<div>FYI</div><div class="gmail_quote">---------- Forwarded message ---------<br>From: Bo<br>Subject: Boat'
        "<br><br>It leaves at six.</div>"
    )
    assert own_words(html_text(source)).endswith("It leaves at six.")
