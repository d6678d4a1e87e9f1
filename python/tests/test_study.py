"""Studies from Python: the store while and after a study runs, and units as a cluster computes them."""

import importlib
import pathlib
import sys

import pytest

import tessera.study
from tessera.distributed import StudyError, _driver, _units

NETWORK = """format: tessera-network-1
name: two
layers:
  - {name: a, type: conv, K: 8, C: 4, Y: 6, X: 6, R: 3, S: 3}
  - {name: b, type: fc, N: 1, K: 16, C: 8}
"""
STUDY = """format: tessera-study-1
networks: [net.yaml]
layers: each
accelerators: [eyeriss-256]
methods: [random]
seeds: [1, 2]
budget: {samples: 40}
needs: {cores: 1, memory_mib: 64}
"""
OWN = {"lock", "times.json", "run.json"}


@pytest.fixture
def study(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "net.yaml").write_text(NETWORK)
    (tmp_path / "study.yaml").write_text(STUDY)
    return tmp_path


def files(folder: pathlib.Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*")) if path.is_file() and path.name not in OWN}


class Lost(Exception):
    """What Ray raises when a worker or a node is gone."""


class Reference:
    """A result that is still to come."""

    def __init__(self, arguments):
        self.arguments = arguments


class Task:
    def remote(self, *arguments):
        return Reference(arguments)


class Engine:
    """A cluster of one thread with the few words of Ray that the driver uses; loses every third unit once."""

    class exceptions:
        RayError = Lost

    def __init__(self) -> None:
        self.calls, self.function = 0, None

    def remote(self, max_retries: int):
        def task(function):
            self.function = function
            return self

        return task

    def options(self, **needs):
        assert needs["num_cpus"] == 1 and needs["memory"] == 64 << 20
        return Task()

    def put(self, value):
        return value

    def cluster_resources(self):
        return {"CPU": 1.0}

    def nodes(self):
        return [{"Alive": True, "Resources": {"CPU": 1.0, "memory": 1 << 30}}]

    def wait(self, references, num_returns, timeout):
        return references[:1], references[1:]

    def get(self, reference):
        self.calls += 1
        if self.calls % 3 == 1:
            raise Lost("the node is gone. More about it")
        return self.function(*reference.arguments)

    def cancel(self, reference, force):
        pass


def test_units_elsewhere_give_the_bytes_of_one_process(study, program):
    program("study", str(study / "study.yaml"), "--out", str(study / "whole"))
    plan = _units.make_plan(str(study / "study.yaml"), str(study / "away"))
    assert [unit.number for unit in plan.open_units()] == [1, 2, 3, 4]
    remarks: list[str] = []
    summary = _driver._Driver(Engine(), plan, 5, False, remarks.append).run()
    assert (summary.computed, summary.retried, summary.complete) == (4, 2, True)
    assert remarks[0] == "unit 1 is tried again: the node is gone"
    assert files(study / "away") == files(study / "whole")


def test_what_is_lost_for_good_is_given_up_and_goes_on_later(study, program):
    plan = _units.make_plan(str(study / "study.yaml"), str(study / "away"))
    summary = _driver._Driver(Engine(), plan, 0, False, lambda text: None).run()
    assert not summary.complete and summary.computed + len(summary.given_up) == 4
    again = _units.make_plan(str(study / "study.yaml"), str(study / "away"))
    assert len(again.open_units()) == len(summary.given_up)


def test_the_store_answers(study, program):
    program("study", str(study / "study.yaml"), "--out", str(study / "out"))
    rows = tessera.study.query(study / "out", "SELECT layer, count(*) AS n FROM units GROUP BY layer ORDER BY 1")
    assert rows == [{"layer": "a", "n": 2}, {"layer": "b", "n": 2}]
    pandas = pytest.importorskip("pandas")
    frame = tessera.study.to_pandas(study / "out")
    assert isinstance(frame, pandas.DataFrame) and list(frame["state"]) == ["done"] * 4


@pytest.mark.parametrize("through", ["pyarrow", "duckdb"])
def test_parquet(study, program, through, monkeypatch):
    pytest.importorskip("pandas")
    library = pytest.importorskip(through)  # make test-full installs both
    program("study", str(study / "study.yaml"), "--out", str(study / "out"))
    if through == "duckdb":
        monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    tessera.study.to_parquet(study / "out", study / "units.parquet", "SELECT unit, layer, cycles FROM units")
    if through == "duckdb":
        units = library.sql(f"SELECT unit FROM '{study / 'units.parquet'}' ORDER BY unit").fetchall()
        assert units == [(1,), (2,), (3,), (4,)]
    else:
        table = importlib.import_module("pyarrow.parquet").read_table(study / "units.parquet")
        assert table.column_names == ["unit", "layer", "cycles"] and table.num_rows == 4


def test_bad_studies_are_errors_with_their_place(study):
    (study / "bad.yaml").write_text(STUDY.replace("random", "rnadom"))
    with pytest.raises(StudyError, match=r"bad.yaml:5:11: .*'rnadom'"):
        _units.make_plan(str(study / "bad.yaml"), str(study / "out"))
    with pytest.raises(FileNotFoundError):
        tessera.study.query(study)
