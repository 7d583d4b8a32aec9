"""Take the picture of a report for the README with a real browser.

Usage: python docs/make_report_picture.py

It needs Chromium and `pip install playwright`, and takes about a minute: `focus demo` crawls a
generated web, and the harvest curve and the best pages of the report on its last crawl are taken.
"""

from __future__ import annotations

import base64
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support import browser

PICTURE = Path(__file__).with_name("pictures") / "report.webp"
WIDTH, HEIGHT, QUALITY = 1000, 760, 78


def main() -> None:
    """Run the demo and take the picture."""
    with tempfile.TemporaryDirectory() as folder, browser.chromium() as chromium:
        database = Path(folder) / "focus.db"
        subprocess.run([sys.executable, "-m", "focus", "demo", "--db", str(database)], check=True)
        page = chromium.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(database.with_name("report.html").as_uri())
        top = page.get_by_role("heading", name="Harvest over the crawl").bounding_box()["y"]
        clip = {"x": 0, "y": top - 20, "width": WIDTH, "height": HEIGHT, "scale": 1}
        session = page.context.new_cdp_session(page)
        answer = session.send(
            "Page.captureScreenshot",
            {"format": "webp", "quality": QUALITY, "captureBeyondViewport": True, "clip": clip},
        )
        PICTURE.write_bytes(base64.b64decode(answer["data"]))
        print(f"{PICTURE.stat().st_size:,} {PICTURE.name}")


if __name__ == "__main__":
    main()
