"""Documents become pages: what they say, what they link to, and what is wrong with bad ones."""

import io
import sys
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from focus.admission.scope import Scope
from focus.config import AnalysisConfig, ScopeConfig
from focus.documents import pdf
from focus.documents.convert import MAX_FILES, MAX_UNPACKED, to_html
from focus.documents.kinds import TYPES, DocumentError, kind_of
from focus.documents.writing import MAX_CHARS, HtmlWriter, linked
from focus.html.parser import Parsed, parse
from focus.http.semantics import HTML_TYPES, is_html
from focus.records import DropReason, FailureKind
from focus.score.analysis import PageScorer
from focus.topic.topic import from_words, to_builtins
from tests.support import documents

ALL = {
    "pdf": documents.pdf(),
    "docx": documents.word(),
    "xlsx": documents.sheet(),
    "pptx": documents.slides(),
    "epub": documents.epub(),
    "txt": "# 足球比赛\n\n赛程见 https://a.test/match\n".encode(),
}
LINKED = set(ALL) - {"xlsx"}


def read(kind: str, body: bytes) -> Parsed:
    return parse(to_html(kind, body))


def text_of(page: Parsed) -> str:
    return " ".join(block.text for block in page.blocks())


# -- what there is ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ALL)
def test_its_words_are_the_words_of_a_page(kind: str) -> None:
    assert documents.TEXT in text_of(read(kind, ALL[kind]))


@pytest.mark.parametrize("kind", sorted(LINKED))
def test_its_links_are_links(kind: str) -> None:
    assert [link.href for link in read(kind, ALL[kind]).links] == ["https://a.test/match"]


@pytest.mark.parametrize(
    ("kind", "title"),
    [
        ("pdf", "足球"),
        ("docx", "足球报告"),
        ("epub", "足球史"),
        ("xlsx", "积分"),
        ("txt", "足球比赛"),
    ],
)
def test_its_title_is_told_or_is_its_first_line(kind: str, title: str) -> None:
    assert read(kind, ALL[kind]).title == title


def test_links_within_a_book_are_words() -> None:
    assert "前" in text_of(read("epub", ALL["epub"]))


def test_scripts_of_a_book_are_left_out() -> None:
    assert "x()" not in to_html("epub", ALL["epub"])


def test_the_words_of_a_pdf_link_are_those_under_it() -> None:
    assert read("pdf", ALL["pdf"]).links[0].anchor == documents.TEXT


def test_a_pdf_says_when_it_was_made() -> None:
    assert '"dcterms.created" content="2026-11-21T16:30:00+08:00"' in to_html("pdf", ALL["pdf"])


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("D:2026", datetime(2026, 1, 1, tzinfo=UTC)),
        ("D:20261121083000Z", datetime(2026, 11, 21, 8, 30, tzinfo=UTC)),
        ("D:20261121163000+08'00'", datetime(2026, 11, 21, 8, 30, tzinfo=UTC)),
        ("D:20261399", None),
        ("yesterday", None),
    ],
)
def test_dates_of_pdf(text: str, moment: datetime | None) -> None:
    assert pdf.moment(text) == moment


def test_headings_of_plain_text() -> None:
    page = read("txt", "Title\n=====\n\n## 二\ntext\n".encode())
    assert page.headings == ["Title", "二"]


def test_addresses_end_before_punctuation() -> None:
    assert linked("见 https://a.test/x。") == '见 <a href="https://a.test/x">https://a.test/x</a>。'


def test_text_cannot_become_markup() -> None:
    assert "<script>" not in to_html("txt", b"<script>alert(1)</script>", "text/plain")


# -- recognising them -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(set(ALL) - {"txt"}))
def test_a_document_of_unknown_type_is_known_by_its_bytes(kind: str) -> None:
    assert kind_of("application/octet-stream", ALL[kind]) == kind


@pytest.mark.parametrize(
    ("content_type", "head", "kind"),
    [
        ("text/plain; charset=gbk", b"hello", "txt"),
        ("text/plain", b"\0\0\0", None),
        ("text/plain", b"<!doctype html><p>", None),
        ("text/html", b"<html>%PDF-", None),
        ("application/zip", b"PK\x03\x04readme", None),
        ("application/epub+zip", b"PK\x03\x04????", "epub"),
        (None, b"", None),
    ],
)
def test_kinds(content_type: str | None, head: bytes, kind: str | None) -> None:
    assert kind_of(content_type, head) == kind


@pytest.mark.parametrize("kind", ALL)
def test_documents_are_taken_only_where_they_are_wanted(kind: str) -> None:
    said = "text/plain" if kind == "txt" else "application/octet-stream"
    assert is_html(said, ALL[kind], (*HTML_TYPES, *TYPES))
    assert not is_html(said, ALL[kind])


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("https://a.test/x.pdf", True),
        ("https://a.test/x.MD", True),
        ("https://a.test/x.zip", False),
    ],
)
def test_their_addresses_are_asked_for_only_where_they_are_wanted(url: str, wanted: bool) -> None:
    reason = Scope(ScopeConfig(documents=True)).reason_against(url, "a.test")
    assert reason is (None if wanted else DropReason.NOT_HTML)


def test_without_documents_no_pdf_is_asked_for() -> None:
    reason = Scope(ScopeConfig()).reason_against("https://a.test/x.pdf", "a.test")
    assert reason is DropReason.NOT_HTML


# -- in a crawl -------------------------------------------------------------------------------


def analyst() -> PageScorer:
    topic = to_builtins(from_words("足球"))
    return PageScorer(AnalysisConfig(topic=topic, documents=True, url_patterns=True))


@pytest.mark.parametrize("kind", sorted(set(ALL) - {"txt"}))
def test_a_document_is_judged_like_a_page(kind: str) -> None:
    page = analyst().score(f"https://b.test/a.{kind}", ALL[kind], None)
    assert page.is_relevant and page.body_zstd


def test_pages_are_pages_all_the_same() -> None:
    html = "<title>足球</title><p>足球".encode()
    assert analyst().score("https://b.test/", html, "text/html").title == "足球"


# -- bad ones ---------------------------------------------------------------------------------


def bomb() -> bytes:
    return documents.packed([("word/document.xml", b"0" * (MAX_UNPACKED + 1))])


def many() -> bytes:
    return documents.packed((f"word/{number}", b"") for number in range(MAX_FILES + 1))


LOCKED_PDF = documents.pdf(
    encrypt=b"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <" + b"00" * 32 + b"> /U <"
    + b"11" * 32 + b"> >> /ID [<00><00>]"
)  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "body", "why"),
    [
        ("pdf", b"%PDF-1.4 and nothing else", "PDF: it is damaged"),
        ("pdf", LOCKED_PDF, "PDF: it asks for a password"),
        ("docx", b"PK\x03\x04 no zip", "docx: it is damaged"),
        ("docx", bomb, "docx: it unpacks to more than 64 MB"),
        ("docx", many, "docx: it unpacks to more than 64 MB"),
        ("docx", documents.packed([("word/document.xml", "<a/>")]), "docx: it is damaged"),
        ("xlsx", documents.packed([("xl/workbook.xml", "no xml")]), "xlsx: it is damaged"),
        ("epub", documents.packed([("mimetype", "x")]), "EPUB: it has no table of contents"),
        ("epub", documents.epub(package='<!DOCTYPE x [<!ENTITY a "b">]><x/>'), "EPUB: OPS/book"),
    ],
)
def test_what_is_wrong_with_it_is_told(
    kind: str, body: bytes | Callable[[], bytes], why: str
) -> None:
    data = body if isinstance(body, bytes) else body()
    with pytest.raises(DocumentError, match=f"^{why}"):
        to_html(kind, data)


def test_a_document_that_cannot_be_read_is_a_failure_of_its_own() -> None:
    page = analyst().score("https://b.test/a.pdf", LOCKED_PDF, "application/pdf")
    assert (page.failure, page.detail) == (FailureKind.UNREADABLE, "PDF: it asks for a password")


def test_a_pdf_whose_pages_are_its_own_table_of_pages_ends() -> None:
    assert documents.TEXT not in to_html("pdf", documents.pdf(kids="2 0 R"))


def test_a_long_pdf_is_read_to_a_bound() -> None:
    page = to_html("pdf", documents.pdf(pages=pdf.MAX_PAGES + 20))
    assert page.count(f">{documents.TEXT}</a>") == pdf.MAX_PAGES


def test_a_long_text_is_read_to_a_bound() -> None:
    page = HtmlWriter()
    lines = 0
    while not page.full:
        page.paragraph("x" * 1000)
        lines += 1
    assert lines == MAX_CHARS // 1000


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    with pytest.raises(DocumentError, match=r"pip install 'focus-crawler\[documents\]'"):
        to_html("pdf", ALL["pdf"])


def test_a_locked_zip_is_told() -> None:
    body = bytearray(documents.word())
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        at = archive.infolist()[0]
    directory = body.rfind(b"PK\x01\x02", 0, body.find(b"PK\x01\x02") + 4)
    body[directory + 8] |= 1
    assert at.flag_bits & 1 == 0
    with pytest.raises(DocumentError, match=r"^docx: it asks for a password"):
        to_html("docx", bytes(body))
