"""A machine of your own: levels from the MACs outwards, checked, mapped, written as files."""
import tempfile

import tessera
from tessera import Accelerator, Arithmetic, Hierarchy, MemoryLevel

machine = Accelerator(
    "mine",
    source="a sketch",
    hierarchy=Hierarchy(
        arithmetic=Arithmetic(mesh_x=16, mesh_y=8, mac_pj=0.5),
        levels=[
            MemoryLevel("Reg", technology="register", entries=64, mesh_x=16, mesh_y=8, read_pj=0.1, fill_pj=0.1,
                        update_pj=0.1),
            MemoryLevel("Buf", technology="SRAM", entries=65536, read_words_per_cycle=16, write_words_per_cycle=16,
                        read_pj=5.0, fill_pj=5.0, update_pj=5.0),
            MemoryLevel("DRAM", technology="DRAM", read_words_per_cycle=4, write_words_per_cycle=4, read_pj=200.0,
                        fill_pj=200.0, update_pj=200.0),
        ],
    ),
)
layer = tessera.Layer(k=64, c=32, y=28, x=28, r=3, s=3, pad=(1, 1, 1, 1))
network = tessera.Network("one", [tessera.NetworkLayer("conv", layer)])

print(tessera.bound(network, machine).to_pandas())
result = tessera.map(network, machine, objective="edp", method="ga", samples=500)
print(result.status, result.total["cycles"], "cycles,", result.total["energy_pj"] / 1e6, "uJ")

with tempfile.TemporaryDirectory() as folder:
    machine.write(f"{folder}/mine.yaml")
    assert tessera.load_accelerator(f"{folder}/mine.yaml") == machine

try:
    machine.replace(levels={"Buf": {"entries": -1}})
except tessera.Error as error:
    print("refused:", error)
