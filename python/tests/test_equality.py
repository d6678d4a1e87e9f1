"""What Python returns is what the command line prints, byte for byte."""

import gzip
import json
import os

import numpy as np
import pytest

import tessera

MAP = {"layer": 3, "samples": 60, "seed": 7}
MAP_WORDS = ["--layer", "3", "--samples", "60", "--seed", "7"]


def test_map(program):
    result = tessera.map("alexnet", "eyeriss-256", method="ga", objective="edp", **MAP)
    words = ["map", "alexnet", "--accelerator", "eyeriss-256", "--method", "ga"]
    printed = program(*words, "--objective", "edp", *MAP_WORDS, "--json")
    assert result.to_json() == printed
    assert result.to_dict() == json.loads(printed)
    assert result.status in ("OPTIMAL", "BOUNDED", "HEURISTIC")
    assert result.layers[0]["samples"] == 60


def test_prove(program):
    result = tessera.prove("alexnet", "simple3", layer=5, objective="energy", proof_rounds=2)
    words = ["map", "alexnet", "--accelerator", "simple3", "--layer", "5", "--method", "exact"]
    assert result.to_json() == program(
        *words, "--objective", "energy", "--proof-rounds", "2", "--json"
    )


def test_objects_are_what_names_are(program_json):
    network, machine = tessera.load_network("alexnet"), tessera.load_accelerator("eyeriss-256")
    by_name = tessera.map("alexnet", "eyeriss-256", method="random", **MAP)
    assert tessera.map(network, machine, method="random", **MAP) == by_name
    same = machine.replace(source=machine.source)  # no preset any more: it travels as a file
    assert tessera.map(network, same, method="random", **MAP) == by_name


def test_cooptimize(program):
    result = tessera.cooptimize("alexnet", layer=3, measurements=8, seed=3)
    words = ["cooptimize", "alexnet", "--layer", "3", "--measurements", "8", "--seed", "3"]
    assert result.to_json() == program(*words, "--json")
    # Processor seconds differ from run to run, so they are there on demand only.
    timed = json.loads(program(*words, "--times", "--json"))
    assert timed.pop("times")["search_seconds"] >= 0
    assert timed == result.to_dict()


def test_bound(program):
    result = tessera.bound("alexnet", "eyeriss-256", layer=2)
    words = ["bound", "alexnet", "--accelerator", "eyeriss-256", "--layer", "2"]
    assert result.to_json() == program(*words, "--json")


GOLDEN = [
    ("maestro/train.jsonl.gz", {"model": "maestro"}),
    ("timeloop/train.jsonl.gz", {"model": "loopnest", "semantics": "timeloop3"}),
]


@pytest.mark.parametrize(("file", "settings"), GOLDEN, ids=["maestro", "timeloop"])
def test_every_golden_row(golden, program, file, settings, tmp_path):
    path = golden / file
    if not os.environ.get("TESSERA_THOROUGH"):  # the first rows; `make test-full` takes all
        with gzip.open(path, "rt") as rows:
            path = tmp_path / "rows.jsonl"
            path.write_text("".join(row for row, _ in zip(rows, range(400))))
    words = [word for key, value in settings.items() for word in ("--" + key, value)]
    printed = program("evaluate", "--batch", str(path), *words)
    assert tessera.evaluate_batch(path, **settings).to_json() == printed
    with gzip.open(golden / file, "rt") as rows:
        some = [json.loads(row) for row, _ in zip(rows, range(20))]
    answers = tessera.evaluate_batch(some, **settings)
    assert answers.to_json().splitlines() == printed.splitlines()[: len(some)]


def test_batches_of_mappings_cost_what_single_ones_cost():
    space = tessera.Space("alexnet", "eyeriss-256", layer=3, objective="edp")
    points = np.array([space.sample(seed) for seed in range(40)])
    found = space.evaluate(points)
    costs = tessera.evaluate_batch(space.mappings(points))
    feasible = found["feasible"]
    assert feasible.any()
    assert np.array_equal(costs["feasible"], feasible)
    assert np.array_equal(found["value"][feasible], costs["edp"][feasible])
    one = int(np.flatnonzero(feasible)[0])
    mapping = space.decode(points[one])
    single = tessera.evaluate("alexnet", "eyeriss-256", mapping, layer=3)
    assert single.cycles == costs["cycles"][one]
    assert list(points[one]) == space.encode(mapping) or space.decode(space.encode(mapping)) == mapping


def test_pandas_and_pages():
    pandas = pytest.importorskip("pandas")
    result = tessera.map("alexnet", "eyeriss-256", method="random", **MAP)
    table = result.to_pandas()
    assert isinstance(table, pandas.DataFrame) and len(table) == len(result.layers) == 1
    assert table.cycles[0] == result.layers[0]["cycles"]
    html = result._repr_html_()
    assert "svg" in html and "<table>" in html
