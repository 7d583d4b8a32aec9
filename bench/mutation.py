"""Changes the code in places drawn at random and runs the tests of its area (mutation testing).

    python -m bench.mutation [AREAS …] [--mutants 400] [--seed 1] [--python PYTHON]

Cosmic Ray, which PYTHON has installed (`make mutation`), changes one place of a copy of the last
commit at a time. Printed are the changes that no test noticed, and for each area how many one did.
AREAS are names of `TESTS`, by default all. Annotations and the signs in front of arguments are no
places: nothing evaluates the former, and a change of the latter is an error of syntax.
"""

import json
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

from bench.script import read_options, table

TESTS = {
    "frontier.py": "frontier url_cache throttling crawl",
    "scheduling": "frontier url_cache url_table throttling crawl refresh",
    "admission": "traps scope robots_gate domain_budget near_duplicates site_rules url_rules crawl",
    "engine": "crawl outages outage_endings connectivity refresh sitemaps_and_feeds depth limits "
    "body_memory ranking url_rules recent_harvest resume strategies",
    "http": "robots sitemap feed http_semantics content_encoding fetch connections robots_tag "
    "ssrf_guard sessions robots_gate",
    "storage/writer.py": "store resume",
}
"""Test files by area of the code."""


def main() -> None:
    """Draw the changes, try them and print a row for each area."""
    options = read_options(__doc__)
    rng = Random(options.seed)
    areas, rows = options.areas or list(TESTS), []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run(f"git archive HEAD | tar -xC {folder}", shell=True, check=True)
        places = [place for area in areas for place in _places(area, folder, options.python, rng)]
        chosen = dict.fromkeys(rng.sample(places, min(options.mutants, len(places))))
        for area in areas:
            jobs = json.dumps([job for place, job in chosen if place == area])
            for kind in ("mutation_specs", "work_items"):
                unused = f"DELETE FROM {kind} WHERE job_id NOT IN (SELECT value FROM json_each(?))"
                _query(folder, area, unused, jobs)
            _cosmic_ray("baseline", area, folder, options.python)  # the tests pass without a change
            _cosmic_ray("exec", area, folder, options.python)
            results = _query(folder, area, "SELECT test_outcome, diff FROM work_results")
            missed = [diff for outcome, diff in results if outcome == "SURVIVED"]
            print(*missed, sep="\n", flush=True)
            rows.append((area, len(results), len(results) - len(missed)))
    tried, noticed = (sum(row[at] for row in rows) for at in (1, 2))
    print(table(("area", "changes", "noticed"), [*rows, ("all", tried, noticed)]))
    print(f"{noticed / max(1, tried):.1%}")


def _places(area: str, folder: Path, python: str, rng: Random) -> list[tuple[str, str]]:
    """Return one change of each place of an area, as area and job."""
    files = " ".join(f"tests/test_{name}.py" for name in TESTS[area].split())
    command = f"{sys.executable} -m pytest -x -q -n 0 -m 'not slow' {files}"
    (folder / f"{Path(area).stem}.toml").write_text(
        f'[cosmic-ray]\nmodule-path = "focus/{area}"\ntimeout = 200.0\nexcluded-modules = []\n'
        f'test-command = "{command}"\ndistributor.name = "local"\n'
    )
    _cosmic_ray("init", area, folder, python)
    jobs: dict[tuple[str, str, str], list[str]] = {}
    for path, row, column, operator, job in _query(
        folder, area,
        "SELECT module_path, start_pos_row, start_pos_col, operator_name, job_id"
        " FROM mutation_specs ORDER BY 1, 2, 3, 4, occurrence",
    ):  # fmt: skip
        before = (
            (folder / path).read_text("utf-8").splitlines()[int(row) - 1][: int(column)].rstrip()
        )
        is_operator = "BinaryOperator" in operator
        if not (is_operator and ("_BitOr_" in operator or before[-1:] in ("", "(", ",", "["))):
            jobs.setdefault((path, row, column), []).append(job)
    return [(area, rng.choice(mutants)) for mutants in jobs.values()]


def _cosmic_ray(command: str, area: str, folder: Path, python: str) -> None:
    name = Path(area).stem
    session = [f"{name}.sqlite"] if command != "baseline" else []
    module = [python, "-m", "cosmic_ray.cli", command, f"{name}.toml", *session]
    subprocess.run(module, cwd=folder, check=True)


def _query(folder: Path, area: str, query: str, *values: str) -> list[tuple[str, ...]]:
    with sqlite3.connect(folder / f"{Path(area).stem}.sqlite") as connection:
        return connection.execute(query, values).fetchall()


if __name__ == "__main__":
    main()
