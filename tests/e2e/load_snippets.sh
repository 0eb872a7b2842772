#!/usr/bin/env bash
# best/load.cpp compiles and gives the outputs that hone itself gets, for both engines; load.py too where Python has
# their packages (and the story says when it has not). Built against the engines that hone was built with.
set -euo pipefail
export HONE_FAKE_ENGINE=1
data=$HONE_TEST_DATA/e2e/mlp_samples
python=${HONE_PYTHON:-python3}

raw() { # NPZ OUT: the bytes of its first array, without the .npy header
  python3 - "$@" <<'P'
import sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
data = archive.read(archive.namelist()[0])
open(sys.argv[2], "wb").write(data[10 + int.from_bytes(data[8:10], "little"):])
P
}
same() { # EXPECTED GOT: float32 within the tolerance of the numeric gate
  python3 - "$@" <<'P'
import struct, sys
a, b = (open(name, "rb").read() for name in sys.argv[1:])
assert len(a) == len(b) > 0, (len(a), len(b))
for x, y in zip(struct.iter_unpack("<f", a), struct.iter_unpack("<f", b)):
    assert abs(x[0] - y[0]) <= 1e-3 * max(1.0, abs(x[0])), (x, y)
P
}
python_too() { # RUN PACKAGE
  if ! "$python" -c "import $2, numpy" 2>/dev/null; then
    echo "load.py was not run: $python has no $2 with numpy"
    return
  fi
  "$python" "$1/best/load.py" "$data/sample_0000.npz" "$1/python.npz"
  raw "$1/python.npz" "$1/python.bin"
  same "$1/expected.bin" "$1/python.bin"
}

raw "$data/sample_0000.npz" input.bin
for engine in onnxruntime openvino; do
  hone optimize "$HONE_TEST_DATA/e2e/mlp.onnx" --data "$data" --engine $engine --only clean-graph --out $engine --budget 20s --quiet
  raw $engine/reference/sample_0000.npz $engine/expected.bin
done
g++ -std=c++17 onnxruntime/best/load.cpp -I "$HONE_ORT_INCLUDE" -L "$HONE_ORT_LIB" -lonnxruntime -Wl,-rpath,"$HONE_ORT_LIB" -o onnxruntime/load
openvino_library=$(basename "$(ls "$HONE_OPENVINO_LIB"/libopenvino.so.* | head -1)")  # its package has no plain .so
g++ -std=c++17 openvino/best/load.cpp -I "$HONE_OPENVINO_INCLUDE" -L "$HONE_OPENVINO_LIB" -l:"$openvino_library" -Wl,-rpath,"$HONE_OPENVINO_LIB" -o openvino/load
for engine in onnxruntime openvino; do
  (cd $engine && ./load best ../input.bin && same expected.bin output_0.bin)
  python_too $engine $engine
done
