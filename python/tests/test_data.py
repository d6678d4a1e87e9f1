"""Networks, accelerators and mappings as objects: built, changed, written, read back, pickled."""

import os
import pickle

import pytest

import tessera
from tessera import _commands, _surface


def test_networks(tmp_path, golden):
    network = tessera.load_network("alexnet")
    assert len(network) == len(network.layers) and network.macs > 0
    assert pickle.loads(pickle.dumps(network)).layers == network.layers
    for format in tessera.Network.formats():
        assert network.to(format)
    (path,) = network.write(tmp_path, "yaml")
    assert tessera.load_network(path) == network
    onnx = tessera.Network.from_onnx(golden / "onnx" / "resnet18.classic.onnx")
    assert onnx.macs > 10**9
    first = network.layers[0]
    wider = tessera.replace_layer(first.layer, k=first.layer.k * 2)
    changed = network.replace(name="wider", layers=[tessera.NetworkLayer(first.name, wider)])
    assert (changed.name, changed.layers[0].layer.k) == ("wider", 2 * first.layer.k)
    assert network.layers[0] == first


def test_accelerators(tmp_path):
    machine = tessera.load_accelerator("eyeriss-256")
    larger = machine.replace(levels={"GLB": {"entries": 131072}})
    assert larger.level("GLB").entries == 131072 and machine.level("GLB").entries == 65536
    assert larger != machine and larger.replace(levels={"GLB": {"entries": 65536}}).levels == machine.levels
    larger.write(tmp_path / "larger.yaml")
    assert tessera.load_accelerator(tmp_path / "larger.yaml").hierarchy == larger.hierarchy
    assert pickle.loads(pickle.dumps(larger)).hierarchy == larger.hierarchy
    array = tessera.load_accelerator("maestro-256").replace(num_pes=512)
    assert array.pe_array.num_pes == 512
    with pytest.raises(tessera.UnknownNameError, match="GLB"):
        machine.replace(levels={"Buf": {}})


EVERYTHING = """format: tessera-accelerator-1
name: everything
source: a test
hierarchy:
  links: true
  arithmetic: {mesh_x: 4, mesh_y: 2, word_bits: 8, mac_pj: 0.5, area_um2: 300, leakage_mw: 0.25, vector_op_pj: 2, vector_lanes: 4}
  levels:
  - {name: RF, technology: SRAM, entries: 64, word_bits: 8, block_words: 2, mesh_x: 4, mesh_y: 2, read_words_per_cycle: 4,
     write_words_per_cycle: 2, multiple_buffering: 2, read_pj: 1, fill_pj: 2, update_pj: 3, address_pj: 0.5, area_um2: 50,
     leakage_mw: 0.125, network: {hop_pj: 1, router_pj: 2, ingress_pj: 3, fill_latency_cycles: 4, drain_latency_cycles: 5}}
  - {name: DRAM, technology: DRAM, shared_words_per_cycle: 4, read_pj: 100, fill_pj: 100, update_pj: 100, reduces_in_place: false}
constraints:
  fixed: {C_RF: 1}
"""


def test_replacing_nothing_changes_nothing(tmp_path):
    (tmp_path / "everything.yaml").write_text(EVERYTHING)
    machine = tessera.load_accelerator(tmp_path / "everything.yaml")
    assert machine.level("RF").leakage_mw == 0.125 and machine.hierarchy.arithmetic.area_um2 == 300
    for same in [{}, {"levels": {"RF": {}, "DRAM": {}}}, {"arithmetic": {}}, {"hierarchy": {}},
                 {"levels": {"RF": {"network": {}}}}]:  # fmt: skip
        assert machine.replace(**same) == machine, same
    assert pickle.loads(pickle.dumps(machine)) == machine
    larger = machine.replace(levels={"RF": {"entries": "128B"}})
    assert larger.level("RF").entries == 128 and larger.level("RF").area_um2 == 50
    result = tessera.map("alexnet", larger, layer=2, method="random", samples=20)
    assert "constraints of the machine" in result["space"]
    with pytest.raises(tessera.BadValueError, match="not a size"):
        machine.replace(levels={"RF": {"entries": "12 parsecs"}})


def test_tables_go_with_a_machine(tmp_path):
    machine = tessera.load_accelerator("simple3")
    paths = machine.write(tmp_path / "arch.v1.yaml", "timeloop")
    assert len(paths) == 2 and all(os.path.exists(path) for path in paths)
    other = tessera.load_accelerator(paths[0]).with_energies(paths[1])
    assert [level.read_pj for level in other.levels] == [level.read_pj for level in machine.levels]


def test_mappings():
    result = tessera.map("alexnet", "eyeriss-256", layer=3, method="random", samples=20)
    mapping = tessera.mapping_from_dict(result.layers[0]["mapping"], "alexnet", "eyeriss-256", 3)
    names = [name for name, _ in mapping.files("m")]
    assert "m.map.yaml" in names and "m.txt" in names
    assert mapping.to_dict() == result.layers[0]["mapping"]
    assert mapping.replace(levels=mapping.to_dict()["levels"]) == mapping
    with pytest.raises(tessera.UnknownNameError, match="no 'nope'"):
        mapping.replace(nope=1)
    with pytest.raises(tessera.Error):
        mapping.replace(levels=[])
    again = tessera.evaluate("alexnet", "eyeriss-256", mapping, layer=3)
    assert again.cycles == result.layers[0]["cycles"]


def test_signatures_follow_the_flags():
    import inspect

    for name, command, _, fixed in _surface.FUNCTIONS:
        flags = {flag.name for flag in _commands.COMMANDS[command].flags} - set(fixed)
        signature = inspect.signature(getattr(tessera, name)).parameters
        assert flags | {"seed", "threads", "out", "progress"} == set(signature), name
    names = inspect.signature(tessera.map).parameters
    assert list(names)[:2] == ["network", "accelerator"]
    assert {"objective", "method", "samples", "seed", "time_limit", "progress", "out"} <= set(names)
    assert {"policy", "inter_layer", "dataflow", "constraints"} <= set(names)
    assert "method" not in inspect.signature(tessera.prove).parameters
    assert "samples" in tessera.map.__doc__
