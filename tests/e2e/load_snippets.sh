#!/usr/bin/env bash
# best/load.cpp compiles and gives the outputs that hone itself gets. The C++ snippet is built against the ONNX Runtime
# that hone was built with.
set -euo pipefail
export HONE_FAKE_ENGINE=1
model=$HONE_TEST_DATA/e2e/mlp.onnx
hone optimize "$model" --data "$HONE_TEST_DATA/e2e/mlp_samples" --engine onnxruntime --only clean-graph --out run --budget 20s --quiet
g++ -std=c++17 run/best/load.cpp -I "$HONE_ORT_INCLUDE" -L "$HONE_ORT_LIB" -lonnxruntime -Wl,-rpath,"$HONE_ORT_LIB" -o load
python3 - <<'P'
import zipfile
raw = zipfile.ZipFile("run/reference/sample_0000.npz")
name = [n for n in raw.namelist()][0]
data = raw.read(name)
open("expected.bin", "wb").write(data[10 + int.from_bytes(data[8:10], "little"):])
import os
inp = zipfile.ZipFile(os.environ["HONE_TEST_DATA"] + "/e2e/mlp_samples/sample_0000.npz")
data = inp.read(inp.namelist()[0])
open("input.bin", "wb").write(data[10 + int.from_bytes(data[8:10], "little"):])
P
./load run/best input.bin
python3 - <<'P'
import struct
a, b = open("expected.bin", "rb").read(), open("output_0.bin", "rb").read()
assert len(a) == len(b) > 0, (len(a), len(b))
for x, y in zip(struct.iter_unpack("<f", a), struct.iter_unpack("<f", b)):
    assert abs(x[0] - y[0]) <= 1e-3 * max(1.0, abs(x[0])), (x, y)
P
