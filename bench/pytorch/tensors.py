"""Reads Tessera's checkpoints and traces (safetensors) with NumPy alone."""
import json

import numpy as np

TYPES = {"F32": np.float32, "F64": np.float64, "I64": np.int64, "U64": np.uint64,
         "U32": np.uint32, "U8": np.uint8}


def read(path):
    """All arrays of a file by name."""
    with open(path, "rb") as file:
        data = file.read()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length])
    arrays = {}
    header.pop("__metadata__", None)
    for name, facts in header.items():
        begin, end = (8 + length + offset for offset in facts["data_offsets"])
        arrays[name] = np.frombuffer(data[begin:end], TYPES[facts["dtype"]]).reshape(facts["shape"])
    return arrays
