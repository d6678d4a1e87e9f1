"""Numbers in files and results do not depend on the language of the program around them."""

import hashlib
import os
import pathlib
import subprocess
import sys

import pytest

# A locale whose numbers have a decimal comma, as those of most of Europe do.
COMMA = 'LC_NUMERIC\ndecimal_point ","\nthousands_sep ""\ngrouping -1\nEND LC_NUMERIC\n'

SCRIPT = """
import locale, sys, tessera
if len(sys.argv) > 1:
    locale.setlocale(locale.LC_NUMERIC, sys.argv[1])
    assert locale.localeconv()["decimal_point"] == ","
print(tessera.map("alexnet", "simple3", objective="edp", method="ga", samples=50, target_gap=0.25, out="map").total)
print(tessera.verify("map").to_dict() if hasattr(tessera.verify("map"), "to_dict") else tessera.verify("map"))
tessera.cooptimize("resnet18", layer="11", budget_macs=64, generator="reference", measurements=70,
                   method="autotvm", out="cooptimize")
tessera.resume("cooptimize")
tessera.train(env="cooperative_navigation", episodes=4, report_every=2, out="train",
              set=["batch=8", "warmup=10", "capacity=64", "hidden=8", "gamma=0.5"])
tessera.resume("train")
"""


def hashes(folder: pathlib.Path) -> dict[str, str]:
    """What has to be equal: everything but clock times."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in found
        if path.name not in ("times.json", "lock") and not path.name.startswith("events.")
    }


def test_a_decimal_comma_changes_nothing(tmp_path):
    (tmp_path / "comma.src").write_text(COMMA)
    locales = tmp_path / "locales"
    locales.mkdir()
    subprocess.run(
        ["localedef", "--force", "--quiet", "-i", tmp_path / "comma.src", locales / "comma"], check=False
    )
    if not (locales / "comma").is_dir():
        pytest.skip("localedef cannot make a locale here")
    environment = {**os.environ, "LOCPATH": str(locales)}
    printed = {}
    for words in ([], ["comma"]):
        folder = tmp_path / f"run{len(words)}"
        folder.mkdir()
        done = subprocess.run(
            [sys.executable, "-P", "-c", SCRIPT, *words],
            cwd=folder, env=environment, capture_output=True, text=True, check=False,
        )
        assert done.returncode == 0, done.stderr
        printed[folder.name] = done.stdout
    assert printed["run0"] == printed["run1"]
    assert hashes(tmp_path / "run0") == hashes(tmp_path / "run1")
