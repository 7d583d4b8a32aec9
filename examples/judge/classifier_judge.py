"""A judge that asks a small classifier of your own; use it with `focus crawl … --judge classifier`.

The classifier is any program that reads one JSON object (topic, url, title, text) from standard
input and prints a number from 0 to 1. `CLASSIFIER` names it: CLASSIFIER="python classify.py".
"""

import asyncio
import os
import shlex

import msgspec

from focus import FocusError


class ClassifierJudge:
    """Runs the program for each question; focus asks four at a time and waits at most a minute."""

    name = "classifier 1"  # with another name all questions are asked again

    def __init__(self, endpoint):
        """Read the command line; `endpoint` is that of --llm, which this judge does not use."""
        self._command = shlex.split(os.environ.get("CLASSIFIER", ""))
        if not self._command:
            raise FocusError("--judge classifier: set CLASSIFIER to the command of the classifier")

    async def judge(self, question):
        """Return what the program prints; an exception leaves the page its relevance."""
        pipe = asyncio.subprocess.PIPE
        program = await asyncio.create_subprocess_exec(*self._command, stdin=pipe, stdout=pipe)
        try:
            output, _ = await program.communicate(msgspec.json.encode(question))
        finally:
            if program.returncode is None:
                program.kill()
        return float(output)
