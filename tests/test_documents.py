"""Documents become pages: what they say, what they link to, and what is wrong with bad ones."""

import io
import os
import re
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from focus.admission.scope import Scope
from focus.config import AnalysisConfig, ScopeConfig
from focus.documents import ocr, pdf
from focus.documents.convert import MAX_FILES, MAX_UNPACKED_BYTES, to_html
from focus.documents.html_writer import MAX_CHARS, HtmlWriter, clean_title, to_linked_html
from focus.documents.kinds import KIND_BY_MEDIA_TYPE, DocumentError, document_kind
from focus.errors import ConfigError
from focus.html.parser import parse
from focus.html.reader import ParsedPage
from focus.http.semantics import HTML_TYPES, is_html
from focus.records import DropReason, FailureKind
from focus.score.analysis import PageScorer
from focus.topic.topic import from_words, to_builtins
from tests.support import documents
from tests.support.cases import cases
from tests.support.processes import orphans

ALL = {
    "pdf": documents.pdf(), "docx": documents.word(), "xlsx": documents.sheet(),
    "pptx": documents.slides(), "epub": documents.epub(), "odt": documents.odt(),
    "rtf": documents.rtf(), "txt": "# 足球比赛\n\n赛程见 https://a.test/match\n".encode(),
}  # fmt: skip
OFFICE = b"\xd0\xcf\x11\xe0" + "EncryptedPackage".encode("utf-16-le")
"""Beginning and one name of an encrypted file of Word, Excel or PowerPoint."""
LINKED = set(ALL) - {"xlsx"}


def read(kind: str, body: bytes) -> ParsedPage:
    return parse(to_html(kind, body))


def plain_text(page: ParsedPage) -> str:
    return " ".join(block.text for block in page.extract_blocks())


# -- what there is ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ALL)
def test_to_html_every_kind_contains_its_words(kind: str) -> None:
    assert documents.TEXT in plain_text(read(kind, ALL[kind]))


@pytest.mark.parametrize("kind", sorted(LINKED))
def test_to_html_every_kind_contains_its_links(kind: str) -> None:
    assert [link.href for link in read(kind, ALL[kind]).links] == ["https://a.test/match"]


@cases(
    "kind, title",
    ("pdf", "足球"), ("docx", "足球报告"), ("epub", "足球史"), ("odt", "足球文"),
    ("rtf", "Report"), ("xlsx", "积分"), ("txt", "足球比赛"),
)  # fmt: skip
def test_to_html_title_is_declared_or_first_line(kind: str, title: str) -> None:
    assert read(kind, ALL[kind]).title == title


def test_to_html_epub_internal_links_become_words() -> None:
    assert "前" in plain_text(read("epub", ALL["epub"]))


def test_to_html_epub_scripts_are_removed() -> None:
    assert "x()" not in to_html("epub", ALL["epub"])


def test_to_html_pdf_link_words_are_those_in_its_area() -> None:
    assert read("pdf", ALL["pdf"]).links[0].anchor == documents.TEXT


def test_to_html_pdf_has_creation_date() -> None:
    assert '"dcterms.created" content="2026-11-21T16:30:00+08:00"' in to_html("pdf", ALL["pdf"])


@cases(
    "text, moment",
    ("D:2026", datetime(2026, 1, 1, tzinfo=UTC)),
    ("D:20261121083000Z", datetime(2026, 11, 21, 8, 30, tzinfo=UTC)),
    ("D:20261121163000+08'00'", datetime(2026, 11, 21, 8, 30, tzinfo=UTC)),
    ("D:20261399", None),
    ("yesterday", None),
)
def test_parse_pdf_date_forms(text: str, moment: datetime | None) -> None:
    assert pdf.parse_pdf_date(text) == moment


def test_to_html_plain_text_headings() -> None:
    page = read("txt", "Title\n=====\n\n## 二\ntext\n".encode())
    assert page.headings == ["Title", "二"]


def test_to_linked_html_url_ends_before_punctuation() -> None:
    expected = '见 <a href="https://a.test/x">https://a.test/x</a>。'
    assert to_linked_html("见 https://a.test/x。") == expected


def test_to_html_text_is_escaped() -> None:
    assert "<script>" not in to_html("txt", b"<script>alert(1)</script>", "text/plain")


# -- recognising them -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(set(ALL) - {"txt"}))
def test_document_kind_vague_type_uses_first_bytes(kind: str) -> None:
    assert document_kind("application/octet-stream", ALL[kind]) == kind


@cases(
    "content_type, head, kind",
    ("text/plain; charset=gbk", b"hello", "txt"),
    ("text/plain", b"\0\0\0", None),
    ("text/plain", b"<!doctype html><p>", None),
    ("text/html", b"<html>%PDF-", None),
    ("application/zip", b"PK\x03\x04readme", None),
    ("application/epub+zip", b"PK\x03\x04????", "epub"),
    ("application/vnd.ms-excel", b"\xd0\xcf\x11\xe0", None),
    (next(name for name, kind in KIND_BY_MEDIA_TYPE.items() if kind == "xlsx"), OFFICE, "xlsx"),
    (None, b"", None),
)
def test_document_kind_by_content(content_type: str | None, head: bytes, kind: str | None) -> None:
    assert document_kind(content_type, head) == kind


@pytest.mark.parametrize("kind", ALL)
def test_is_html_documents_only_if_accepted(kind: str) -> None:
    said = "text/plain" if kind == "txt" else "application/octet-stream"
    assert is_html(said, ALL[kind], (*HTML_TYPES, *KIND_BY_MEDIA_TYPE))
    assert not is_html(said, ALL[kind])


@cases(
    "url, expected",
    ("https://a.test/x.pdf", True),
    ("https://a.test/x.MD", True),
    ("https://a.test/x.zip", False),
)
def test_scope_document_urls_only_if_enabled(url: str, expected: bool) -> None:
    reason = Scope(ScopeConfig(documents=True)).reason_against(url, "a.test")
    assert reason is (None if expected else DropReason.NOT_HTML)
    assert Scope(ScopeConfig()).reason_against("https://a.test/x.pdf", "a.test") is not None


# -- in a crawl -------------------------------------------------------------------------------


def analyst() -> PageScorer:
    topic = to_builtins(from_words("足球"))
    return PageScorer(AnalysisConfig(topic=topic, documents=True, url_patterns=True))


@pytest.mark.parametrize("kind", sorted(set(ALL) - {"txt"}))
def test_score_document_is_scored_like_a_page(kind: str) -> None:
    page = analyst().score(f"https://b.test/a.{kind}", ALL[kind], None)
    assert page.is_relevant and page.body_zstd


def test_score_html_page_with_documents_enabled_is_a_page() -> None:
    html = "<title>足球</title><p>足球".encode()
    assert analyst().score("https://b.test/", html, "text/html").title == "足球"


# -- bad ones ---------------------------------------------------------------------------------


def bomb() -> bytes:
    return documents.packed([("word/document.xml", b"0" * (MAX_UNPACKED_BYTES + 1))])


def crowded_zip() -> bytes:
    return documents.packed((f"word/{number}", b"") for number in range(MAX_FILES + 1))


LOCKED_PDF = documents.pdf(
    encrypt=b"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <" + b"00" * 32 + b"> /U <"
    + b"11" * 32 + b"> >> /ID [<00><00>]"
)  # fmt: skip


@cases(
    "kind, body, why",
    ("pdf", b"%PDF-1.4 and nothing else", "PDF: it is damaged"),
    ("pdf", LOCKED_PDF, "PDF: it asks for a password"),
    ("docx", b"PK\x03\x04 no zip", "docx: it is damaged"),
    ("xlsx", OFFICE, "xlsx: it asks for a password"),
    ("odt", documents.packed([("META-INF/manifest.xml", "<m:encryption-data/>")]), "odt: it asks"),
    ("docx", bomb, "docx: it unpacks to more than 64 MB"),
    ("docx", crowded_zip, "docx: it unpacks to more than 64 MB"),
    ("docx", documents.packed([("word/document.xml", "<a/>")]), "docx: it is damaged"),
    ("xlsx", documents.packed([("xl/workbook.xml", "no xml")]), "xlsx: it is damaged"),
    ("epub", documents.packed([("mimetype", "x")]), "EPUB: it has no table of contents"),
    ("epub", documents.epub(package='<!DOCTYPE x [<!ENTITY a "b">]><x/>'), "EPUB: OPS/book"),
)
def test_to_html_names_the_fault(kind: str, body: bytes | Callable[[], bytes], why: str) -> None:
    data = body if isinstance(body, bytes) else body()
    with pytest.raises(DocumentError, match=f"^{why}"):
        to_html(kind, data)


def test_score_unreadable_document_is_a_failure() -> None:
    page = analyst().score("https://b.test/a.pdf", LOCKED_PDF, "application/pdf")
    assert (page.failure, page.detail) == (FailureKind.UNREADABLE, "PDF: it asks for a password")


@pytest.mark.parametrize("body", [documents.pdf(kids="2 0 R"), documents.pdf(" ")])
def test_to_html_pdf_without_text_names_the_fault(body: bytes) -> None:
    with pytest.raises(DocumentError, match="PDF: it has no text, like a scan"):
        to_html("pdf", body)


def test_to_html_long_pdf_is_bounded() -> None:
    page = to_html("pdf", documents.pdf(pages=pdf.MAX_PAGES + 20))
    assert page.count(f">{documents.TEXT}</a>") == pdf.MAX_PAGES


_READ_IN_WORKER = """
import os, resource, sys
from focus.documents.convert import to_html
resource.setrlimit(resource.RLIMIT_AS, (1536 << 20, 1536 << 20))
if not (child := os.fork()):
    os._exit(bool(to_html("pdf", sys.stdin.buffer.read())))
print(os.wait4(child, 0)[2].ru_maxrss >> 10)
"""


def test_to_html_in_worker_memory_is_bounded() -> None:
    body = documents.pdf(packed_drawing=zlib.compress(b"0 0 m 5 5 l S " * 6_000_000))
    command = [sys.executable, "-c", _READ_IN_WORKER]
    peak_mib = int(subprocess.run(command, input=body, capture_output=True, check=True).stdout)
    assert len(body) < 500_000 and 400 < peak_mib < 700


# -- scans ------------------------------------------------------------------------------------

SCAN = documents.pdf(" ")
Programs = Callable[..., None]


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """Function that puts shell scripts on PATH, by name and text, and no other programs."""

    def install(**scripts: str) -> None:
        for name, script in scripts.items():
            (tmp_path / name).write_text(f"#!/bin/sh\n{script}")
            (tmp_path / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
        monkeypatch.setattr("shutil.which", lambda name: scripts.get(name))

    return install


def test_to_html_scan_is_read_with_ocr(programs: Programs) -> None:
    programs(pdftoppm="printf '足 球 比 赛 2 0'", tesseract='cat; printf " $4"')
    page = parse(to_html("pdf", SCAN, None, "chi_sim"))
    assert plain_text(page) == "足球比赛 2 0 chi_sim"


@cases(
    "scripts, message",
    ({"pdftoppm": "exec tail -f /dev/null", "tesseract": ":"}, "--ocr takes over 0.005 s"),
    ({"pdftoppm": "echo x", "tesseract": "kill -9 $$"}, "--ocr takes over 0.005 s"),
    ({"pdftoppm": ":"}, "--ocr needs tesseract"),
)
def test_to_html_scan_that_cannot_be_read_says_why(
    programs: Programs, monkeypatch: pytest.MonkeyPatch, scripts: dict[str, str], message: str
) -> None:
    monkeypatch.setattr(ocr, "OCR_CPU_S", 0.005)
    programs(**scripts)
    with pytest.raises(DocumentError, match=message):
        to_html("pdf", SCAN, None, "eng")


@pytest.mark.skipif(sys.platform != "linux", reason="needs prctl")
def test_ocr_program_ends_with_its_worker(programs: Programs, tmp_path: Path) -> None:
    os.mkfifo(note := tmp_path / "note")
    programs(pdftoppm=f"echo $$ > {note}; exec tail -f /dev/null", tesseract=":")
    reading = "import sys; to_html('pdf', sys.stdin.buffer.read(), None, 'eng')"
    command = [sys.executable, "-c", f"from focus.documents.convert import to_html; {reading}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as worker:
        assert worker.stdin is not None
        worker.stdin.write(SCAN)
        worker.stdin.close()
        pid = int(note.read_text())
        worker.kill()
    assert not orphans([pid])


@cases("languages, message", ("eng+chi_sim", "language chi_sim;"), ("eng", "needs pdftoppm:"))
def test_check_ocr_names_what_is_missing(programs: Programs, languages: str, message: str) -> None:
    tools = {} if languages == "eng" else {"pdftoppm": ":"}
    programs(tesseract="echo List:; echo eng", **tools)
    with pytest.raises(ConfigError, match=message):
        ocr.check_ocr(languages, documents=True)


def test_html_writer_long_text_is_bounded() -> None:
    page = HtmlWriter()
    lines = 0
    while not page.is_full:
        page.add_paragraph("x" * 1000)
        lines += 1
    assert lines == MAX_CHARS // 1000


def test_to_html_without_extra_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    with pytest.raises(DocumentError, match=r"pip install 'focus-crawler\[documents\]'"):
        to_html("pdf", ALL["pdf"])


def test_to_html_encrypted_zip_raises() -> None:
    body = bytearray(documents.word())
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        at = archive.infolist()[0]
    directory = body.rfind(b"PK\x01\x02", 0, body.find(b"PK\x01\x02") + 4)
    body[directory + 8] |= 1
    assert at.flag_bits & 1 == 0
    with pytest.raises(DocumentError, match=r"^docx: it asks for a password"):
        to_html("docx", bytes(body))


NO_TITLES = """untitled; Sans titre-1; Microsoft Word - Document1; 文档 1; scan0001; IMG_2034.jpg
PowerPoint Presentation; 20261121_1200.pdf; (anonymous)"""


@cases(
    "title, expected",
    *((title, "") for title in re.split("; |\n", NO_TITLES)),
    ("Microsoft Word - 2026 Report.docx", "2026 Report"),
    ("Microsoft PowerPoint - 足球.ppt", "足球"),
    ("C:\\Users\\li\\report.doc", "report"),
    ("Word - a history", "Word - a history"),
    ("Print media in 2026", "Print media in 2026"),
)
def test_clean_title_names_no_program(title: str, expected: str) -> None:
    assert clean_title(title) == expected
