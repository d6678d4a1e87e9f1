"""Networks, accelerators and mappings as objects: built, changed, written, read back, pickled."""

import pickle

import pytest

import tessera
from tessera import _commands, _surface


def test_networks(tmp_path, golden):
    network = tessera.load_network("alexnet")
    assert len(network) == len(network.layers) and network.macs > 0
    assert pickle.loads(pickle.dumps(network)).layers == network.layers
    for format in tessera.Network.formats():
        try:
            files = network.to(format)
        except tessera.UnsupportedError:
            continue
        assert files
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
