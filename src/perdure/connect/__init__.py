"""Sources: files of conversations, read as a stream of messages. Nothing here touches the database."""

from perdure.connect.caldav import CalDav
from perdure.connect.calendar_known import CalendarOptions
from perdure.connect.calendar_sources import IcsFile, IcsUrl
from perdure.connect.detect import FORMATS, ITEM_FORMATS, detect_format
from perdure.connect.evaluation_sets import (
    Question,
    QuestionSet,
    read_jsonl_questions,
    read_locomo_questions,
    read_longmemeval_questions,
)
from perdure.connect.imap import ImapMailbox
from perdure.connect.imap_account import ImapAccount
from perdure.connect.mail import read_mail
from perdure.connect.mail_files import MailFile
from perdure.connect.reader import MessageReader, read_messages
from perdure.connect.reading import Progress, ReadOptions, Rejected

__all__ = [
    "FORMATS",
    "ITEM_FORMATS",
    "CalDav",
    "CalendarOptions",
    "IcsFile",
    "IcsUrl",
    "ImapAccount",
    "ImapMailbox",
    "MailFile",
    "MessageReader",
    "Progress",
    "Question",
    "QuestionSet",
    "ReadOptions",
    "Rejected",
    "detect_format",
    "read_jsonl_questions",
    "read_locomo_questions",
    "read_longmemeval_questions",
    "read_mail",
    "read_messages",
]
