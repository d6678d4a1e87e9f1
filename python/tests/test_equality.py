"""What Python returns is what the command line prints, byte for byte."""

import gzip
import json
import os
import re
import subprocess
import sys

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


def test_the_module_is_the_program(program):
    words = ["map", "alexnet", "--accelerator", "eyeriss-256", "--method", "random", *MAP_WORDS, "--json"]
    module = [sys.executable, "-P", "-m", "tessera", *words]
    assert subprocess.run(module, capture_output=True, text=True).stdout == program(*words)


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


GRAPH = """format: tessera-network-1
name: small
layers:
- {name: a, type: conv, N: 1, K: 4, C: 2, Y: 8, X: 4, R: 3, S: 1, pad: [1, 0, 1, 0]}
- {name: b, type: conv, N: 1, K: 2, C: 4, Y: 8, X: 4, R: 1, S: 1}
graph:
  inputs:
  - {name: input, shape: [1, 2, 8, 4]}
  nodes:
  - {name: a, in: input}
  - {name: b, in: a}
  outputs: [b]
"""
EDGE = """format: tessera-accelerator-1
name: edge
hierarchy:
  arithmetic: {mesh_x: {choose: [2, 4], as: columns}, mac_pj: 1, area_um2: 500}
  levels:
  - {name: RF, entries: 16, mesh_x: {as: columns}, read_pj: 0.2, fill_pj: 0.2, update_pj: 0.2, area_um2: 90}
  - {name: GLB, entries: {from: 64, to: 256, times: 2}, read_pj: 3, fill_pj: 3, update_pj: 3, area_um2: 4000}
  - {name: DRAM, read_pj: 60, fill_pj: 60, update_pj: 60, read_words_per_cycle: 2, write_words_per_cycle: 2}
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A small network with its graph and a template of machines, in the current folder."""
    (tmp_path / "net.yaml").write_text(GRAPH)
    (tmp_path / "edge.yaml").write_text(EDGE)
    (tmp_path / "only.yaml").write_text("format: tessera-constraints-1\nallowed: {K_GLB: [1, 2]}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


# What a function is called with, and the same for the program: word for word.
SAME = {
    "policy": (
        lambda: tessera.map("alexnet", "simple3", layer=2, method="team", policy="loopnest", samples=8),
        "map alexnet --accelerator simple3 --layer 2 --method team --policy loopnest --samples 8",
    ),
    "dataflow": (
        lambda: tessera.map("alexnet", "simple3", layer=2, method="ga", dataflow="nvdla", samples=20),
        "map alexnet --accelerator simple3 --layer 2 --method ga --dataflow nvdla --samples 20",
    ),
    "inter_layer": (
        lambda: tessera.map(
            tessera.load_network("net.yaml"), "simple3", method="exact", objective="energy",
            bypass=False, inter_layer="slices", proof_rounds=2,
        ),
        "map net.yaml --accelerator simple3 --method exact --objective energy --no-bypass --inter-layer slices "
        "--proof-rounds 2",
    ),
    "limit": (
        lambda: tessera.map("alexnet", "simple3", layer=2, method="random", samples=9, limit={"cycles": 10**12}),
        "map alexnet --accelerator simple3 --layer 2 --method random --samples 9 --limit cycles=1000000000000",
    ),
    "constraints": (
        lambda: tessera.map("net.yaml", "simple3", method="random", samples=9, constraints=["only.yaml"]),
        "map net.yaml --accelerator simple3 --method random --samples 9 --constraints only.yaml",
    ),
    "explore": (
        lambda: tessera.explore("net.yaml", "edge.yaml", objective="latency", limit={"area_mm2": 2}, layer=1),
        "explore net.yaml --machine edge.yaml --objective latency --limit area_mm2=2 --layer 1",
    ),
    "explore, a front": (
        lambda: tessera.explore(["net.yaml"], "edge.yaml", pareto=["latency", "area"], method="random", samples=4),
        "explore net.yaml --machine edge.yaml --pareto latency,area --method random --samples 4",
    ),
    "sweep": (
        lambda: tessera.sweep("net.yaml", "simple3", layer=1, vary={"levels.GLB.entries": ["16K", 65536]}, bypass=False),
        "sweep net.yaml --accelerator simple3 --layer 1 --vary levels.GLB.entries=16K,65536 --no-bypass",
    ),
    "component": (
        lambda: tessera.component("sram", bytes=4096, width_bits=16, node_nm=22),
        "component sram --bytes 4096 --width-bits 16 --node-nm 22",
    ),
}  # fmt: skip


SECONDS = re.compile(r'(?<=seconds": )[0-9.e+-]+$', re.MULTILINE)


@pytest.mark.parametrize("case", SAME)
def test_newer_flags_and_commands(case, files, program):
    call, words = SAME[case]
    # `explore` and `sweep` say how long they took, which nothing can repeat.
    made, printed = (SECONDS.sub("", text) for text in (call().to_json(), program(*words.split(), "--json")))
    assert made == printed


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
    assert "<table>" in html
    # Drawings and the loop nest, on the page within.
    assert result.page.count("<svg") == 2
    for part in ("How the search went", "Roofline", "for K in"):
        assert part in result.page and part in html
