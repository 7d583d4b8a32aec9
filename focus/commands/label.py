"""`focus label`: asks for labels of stored pages, and learns from them."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from focus.commands.options.option import CRAWL, DB, Command, option, print_lines
from focus.commands.progress_bar import show_progress
from focus.errors import ConfigError
from focus.text.formatting import format_count, printable

if TYPE_CHECKING:
    from focus.learn.label_session import LabelSessionResult
    from focus.learn.labelling import LabelQuestion
    from focus.learn.reranking import RerankCounts

_ANSWERS = {"y": "y", "n": "n", "s": "s", " ": "s", "q": "q", "\x1b": "q", "\x04": "q"}
_PROMPT = "on topic? [y]es [n]o [s]kip [q]uit "


@click.command(cls=Command)
@CRAWL
@option("--topic", kind="file", required=True, help="The topic file (.toml).")
@option("--limit", kind="count", default=50, help="Ask about at most N pages.")
@option("--rank-only", is_flag=True, help="Ask nothing; judge and rank again by the stored labels.")
@DB
def label(db: Path, crawl: str, topic: Path, limit: int, rank_only: bool) -> None:
    """Label doubtful pages, so that the model learns from them.

    It shows the stored pages of which the relevance model is least sure. Press y, n, s (skip) or q
    (quit); from a pipe, it reads one letter per line. The labels are stored, and the model learns
    from them: bayes its classifier, evidence its parameters, cosine, euclid and adaptive their
    vector. Then all stored pages are judged again and all waiting URLs get new priorities, which
    the next `focus crawl` uses. No crawl may use the database meanwhile.

    \b
    Example:
        focus label --topic football.toml
    """
    import asyncio

    from focus.learn.label_session import LabelSessionOptions, run_label_session
    from focus.learn.model_file import model_path, write_model_name
    from focus.storage.reader import DatabaseReader
    from focus.topic.topic_file import read_topic_file

    subject = read_topic_file(topic)
    with DatabaseReader(db.expanduser()) as reader:
        number = reader.crawl_id(crawl)
    model = Path(subject.model) if subject.model else model_path(topic)
    asker = PageAsker()
    lesson = LabelSessionOptions(db.expanduser(), number, subject, model, limit, rank_only)
    with show_progress("Judging again") as progress:
        taught = asyncio.run(
            run_label_session(
                lesson,
                ask=lambda question: asker.ask(question_lines(question)),
                on_model_written=lambda path: write_model_name(topic, path),
                report_progress=progress,
            )
        )
    print_lines(lesson_lines(taught, model))


class PageAsker:
    """Shows lines and reads an answer: a key on a terminal, a line if standard input is a pipe."""

    def __init__(self) -> None:
        self._line_count = 0

    def ask(self, lines: Iterable[str]) -> str:
        """Show lines, and return y, n, s or q. Raises ConfigError for an invalid line."""
        print_lines(lines, err=True)
        return self._read_answer_key() if sys.stdin.isatty() else self._read_answer_line()

    def _read_answer_key(self) -> str:
        click.echo(_PROMPT, err=True, nl=False)
        while (answer := _ANSWERS.get(click.getchar().lower())) is None:
            pass
        click.echo(answer, err=True)
        return answer

    def _read_answer_line(self) -> str:
        line = sys.stdin.readline()
        self._line_count += 1
        if not line:
            return "q"
        word = line.strip().lower()
        answer = _ANSWERS.get(word[:1] or " ")
        if answer is None or len(word) > len("quit"):
            raise ConfigError(
                "standard input, line {n}: {line!r} is not y, n, s or q; the answers before it are "
                "stored",
                n=self._line_count,
                line=printable(line.strip(), 40),
            )
        return answer


def question_lines(question: LabelQuestion) -> list[str]:
    """Return a page as it is shown with the question."""
    words = "; ".join(
        f"{part}: {', '.join(words_of_part[:8])}"
        for part, words_of_part in question.words.items()
        if words_of_part
    )
    return [
        "",
        printable(question.title or "(no title)", 96),
        f"  {printable(question.url, 94)}",
        f"  relevance {question.relevance:.2f}" + (f"; {printable(words, 78)}" if words else ""),
        f"  {question.snippet}",
    ]


def lesson_lines(taught: LabelSessionResult, model: Path) -> list[str]:
    """Return the result of a labelling session."""
    answers, (on, off), ranked = taught.answers, taught.labels, taught.reranked
    text = f"{answers.on} on topic, {answers.off} off, {answers.skipped} skipped"
    lines = [
        f"{text} ({answers.ended}); {format_count(on + off, 'label')} in all: {on} on, {off} off"
    ]
    if not answers.ended:
        lines = [f"{format_count(on + off, 'label')}: {on} on, {off} off"]
    if ranked is None:
        return [*lines, "Nothing new is known, so nothing has moved"]
    if on + off:
        lines.append(f"The model `{taught.relevance}` has learned from them: {model}")
    return [*lines, *reranking_lines(ranked)]


def reranking_lines(ranked: RerankCounts) -> list[str]:
    """Return the changes that judging again made in a crawl."""
    kept_text = f", {ranked.unscored:,} kept theirs (no text stored)" if ranked.unscored else ""
    return [
        f"{format_count(ranked.pages, 'page')} judged again{kept_text}: "
        f"{ranked.turned_on:,} became relevant, {ranked.turned_off:,} no longer are",
        f"{ranked.moved:,} of {format_count(ranked.waiting, 'waiting URL')} have another priority; "
        "the next `focus crawl` goes on with that",
    ]
