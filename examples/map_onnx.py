"""Maps an ONNX file onto an accelerator and plots what each layer costs beside its lower bound.

  examples/map_onnx.py [MODEL.onnx] [PICTURE.svg]
"""
import pathlib
import sys

import tessera

here = pathlib.Path(__file__).resolve().parent
model = sys.argv[1] if len(sys.argv) > 1 else here.parent / "tests/golden/onnx/resnet18.classic.onnx"
network = tessera.Network.from_onnx(model)
print(network)

result = tessera.map(network, "eyeriss-256", method="random", samples=50)
print(result.status, f"{result.total['cycles']:,} cycles, gap {result.total['gap']:.1%}")
for layer in result.layers[:3]:
    print(f"  {layer['name']}: {layer['cycles']:,} cycles, at least {layer['bound']:,.0f}")

try:
    import matplotlib.pyplot as plt
except ImportError:
    print("no matplotlib: no picture")
else:
    names = [layer["name"] for layer in result.layers]
    plt.bar(names, [layer["value"] for layer in result.layers], label="found")
    plt.bar(names, [layer["bound"] for layer in result.layers], label="lower bound")
    plt.xticks(rotation=90)
    plt.ylabel("cycles")
    plt.legend()
    plt.tight_layout()
    plt.savefig(sys.argv[2] if len(sys.argv) > 2 else "layers.svg")
