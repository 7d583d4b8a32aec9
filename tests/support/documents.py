"""Makes small documents of every kind, by the libraries that read them or by hand (PDF)."""

import io
import zipfile
from collections.abc import Iterable

import docx
import openpyxl
import pptx

TEXT = "足球比赛"

_CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OPS/book.opf"/></rootfiles></container>'
)
_PACKAGE = (
    '<package xmlns="http://www.idpf.org/2007/opf"><metadata '
    'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>足球史</dc:title>'
    "<dc:creator>李雷</dc:creator><dc:date>2026-11-20</dc:date></metadata><manifest>"
    '<item id="b" href="two.xhtml"/><item id="a" href="one%20x.xhtml"/></manifest>'
    '<spine><itemref idref="a"/><itemref idref="b"/></spine></package>'
)


def packed(files: Iterable[tuple[str, str | bytes]]) -> bytes:
    """A zip of these files, in this order."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            kind = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            archive.writestr(name, content, kind)
    return buffer.getvalue()


def epub(*, package: str = _PACKAGE) -> bytes:
    """A book of two chapters, the second of which links to the first and to the web."""
    return packed(
        [
            ("mimetype", "application/epub+zip"),
            ("META-INF/container.xml", _CONTAINER),
            ("OPS/book.opf", package),
            ("OPS/one x.xhtml", f"<html><body><h1>{TEXT}</h1><script>x()</script></body></html>"),
            (
                "OPS/two.xhtml",
                '<body><p>见<a href="one%20x.xhtml">前</a>，'
                '<a href="https://a.test/match">战报</a></p></body>',
            ),
        ]
    )


_OD = "urn:oasis:names:tc:opendocument:xmlns:"


def odt() -> bytes:
    """A text of LibreOffice: title, heading, paragraph with a link."""
    content = (
        f'<office:document-content xmlns:office="{_OD}office:1.0" xmlns:text="{_OD}text:1.0"'
        ' xmlns:xlink="http://www.w3.org/1999/xlink"><office:body><office:text>'
        f'<text:h text:outline-level="1">{TEXT}</text:h><text:p>见<text:a xlink:href='
        '"https://a.test/match">战报</text:a></text:p></office:text></office:body>'
        "</office:document-content>"
    )
    meta = '<m xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>足球文</dc:title></m>'
    kind = "application/vnd.oasis.opendocument.text"
    return packed([("mimetype", kind), ("content.xml", content), ("meta.xml", meta)])


def rtf() -> bytes:
    """A document in code page 936 with a Unicode character."""
    text = "".join(f"\\'{byte:02x}" for byte in TEXT.encode("gbk"))
    return (
        rf"{{\rtf1\ansi\ansicpg936{{\fonttbl{{\f0 Arial;}}}}{{\info{{\title Report}}}}"
        rf"\pard {text}\par see https://a.test/match \u36275?\par}}"
    ).encode("ascii")


def word() -> bytes:
    """A Word file: title, heading, paragraph with a bare address, table."""
    document = docx.Document()
    document.core_properties.title = "足球报告"
    document.core_properties.author = "李雷"
    document.add_heading(TEXT, 1)
    document.add_paragraph("赛程见 https://a.test/match。")
    cells = document.add_table(1, 2).rows[0].cells
    cells[0].text, cells[1].text = "皇马", "3"
    return _saved(document)


def sheet() -> bytes:
    """An Excel file of one sheet with one row."""
    book = openpyxl.Workbook()
    book.active.title = "积分"
    book.active.append([TEXT, 3, None])
    return _saved(book)


def slides() -> bytes:
    """A presentation of one slide, with a linked word."""
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[1])
    slide.shapes.title.text = TEXT
    paragraph = slide.placeholders[1].text_frame.paragraphs[0]
    run = paragraph.add_run()
    run.text, run.hyperlink.address = "战报", "https://a.test/match"
    return _saved(show)


def pdf(
    text: str = TEXT,
    *,
    pages: int = 1,
    encrypt: bytes = b"",
    kids: str = "",
    packed_drawing: bytes = b"",
) -> bytes:
    """A PDF with this text and a link over it on every page; `kids` names others than it has.

    packed_drawing  compressed content of every page instead of the text
    """
    shown = text.encode("utf-16-be").hex().encode()
    content = packed_drawing or b"BT /F1 24 Tf 72 700 Td <" + shown + b"> Tj ET"
    coding = b"/Filter /FlateDecode" if packed_drawing else b""
    first = 8
    kids = kids or " ".join(f"{first + n} 0 R" for n in range(pages))
    page = (
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 3 0 R "
        b"/Resources << /Font << /F1 4 0 R >> >> /Annots [7 0 R] >>"
    )
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>".encode(),
        b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), coding, content),
        b"<< /Type /Font /Subtype /Type0 /BaseFont /STSong-Light /Encoding /UniGB-UCS2-H "
        b"/DescendantFonts [5 0 R] >>",
        b"<< /Type /Font /Subtype /CIDFontType0 /BaseFont /STSong-Light /CIDSystemInfo "
        b"<< /Registry (Adobe) /Ordering (GB1) /Supplement 2 >> /FontDescriptor 6 0 R >>",
        b"<< /Type /FontDescriptor /FontName /STSong-Light /Flags 4 /FontBBox [0 0 1000 1000] "
        b"/ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >>",
        b"<< /Type /Annot /Subtype /Link /Rect [70 690 200 730] "
        b"/A << /S /URI /URI (https://a.test/match) >> >>",
        *[page] * pages,
        b"<< /Title <FEFF8DB37403> /CreationDate (D:20261121163000+08'00') >>",
    ]
    return _numbered(objects, encrypt)


def _numbered(objects: list[bytes], encrypt: bytes) -> bytes:
    """The objects as a PDF file, with its table of where each begins."""
    out, starts = b"%PDF-1.4\n", []
    for number, item in enumerate(objects, 1):
        starts.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, item)
    table = b"".join(b"%010d 00000 n \n" % start for start in starts)
    trailer = b"<< /Size %d /Root 1 0 R /Info %d 0 R %s >>" % (
        len(objects) + 1,
        len(objects),
        encrypt,
    )
    return b"%sxref\n0 %d\n0000000000 65535 f \n%strailer %s\nstartxref\n%d\n%%%%EOF" % (
        out,
        len(objects) + 1,
        table,
        trailer,
        len(out),
    )


def _saved(document: object) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)  # type: ignore[attr-defined]
    return buffer.getvalue()
