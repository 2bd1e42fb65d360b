"""Sources: files of conversations, read as a stream of messages. Nothing here touches the database."""

from perdure.connect.caldav import CalDav
from perdure.connect.calendar_known import CalendarOptions
from perdure.connect.calendar_sources import IcsFile, IcsUrl
from perdure.connect.detect import FORMATS, ITEM_FORMATS, detect_format
from perdure.connect.evaluation_sets import read_jsonl_questions, read_locomo_questions, read_longmemeval_questions
from perdure.connect.imap import ImapMailbox
from perdure.connect.imap_account import ImapAccount
from perdure.connect.madial import read_madial_memories, read_madial_questions
from perdure.connect.mail import read_mail
from perdure.connect.mail_files import MailFile
from perdure.connect.pages import page_text
from perdure.connect.questions import Question, QuestionSet
from perdure.connect.reader import MessageReader, Reader, read_messages
from perdure.connect.reading import Progress, ReadOptions, Rejected
from perdure.connect.xquad import read_xquad_paragraphs, read_xquad_questions, xquad_files

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
    "Reader",
    "Rejected",
    "detect_format",
    "page_text",
    "read_jsonl_questions",
    "read_locomo_questions",
    "read_longmemeval_questions",
    "read_madial_memories",
    "read_madial_questions",
    "read_mail",
    "read_messages",
    "read_xquad_paragraphs",
    "read_xquad_questions",
    "xquad_files",
]
