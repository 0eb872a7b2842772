#!/usr/bin/env bash
# Odd models and odd data through the whole program: what can be run is run, what can't is one line that says why.
set -uo pipefail
fails=0
models=$HONE_TEST_DATA/e2e
refuse() { # status, text, command...
  local status=$1 text=$2; shift 2
  "$@" >out.txt 2>err.txt; local got=$?
  if [ "$got" != "$status" ] || ! grep -qF -- "$text" err.txt || [ "$(grep -c '^hone: ' err.txt)" != 1 ]; then
    echo "FAILED: $* -> status $got (want $status), want '$text', got: $(cat err.txt)"; fails=1
  fi
}
pass() { # text in the output, command...
  local text=$1; shift
  "$@" >out.txt 2>err.txt; local got=$?
  if [ "$got" != 0 ] || ! grep -qF -- "$text" out.txt err.txt; then
    echo "FAILED: $* -> status $got, want '$text', got: $(cat out.txt err.txt)"; fails=1
  fi
}
bench() { echo hone bench "$models/$1.onnx" --instances 1 --time 50ms; }
# Run:
pass 'median' $(bench no_inputs)
pass 'median' $(bench no_nodes)
pass 'median' $(bench zero_size)
pass 'median' $(bench strings)
pass "dim 0 (batch) of input 'x' set to 1" $(bench dynamic_batch)
for odd in no_inputs no_nodes zero_size strings dynamic_batch; do
  pass 'PASSED' hone align "$models/$odd.onnx" "$models/$odd.onnx"
  pass 'wrote' hone rewrite "$models/$odd.onnx" -o "$odd.onnx"
done
# NaN in the reference outputs proves nothing, and is said:
echo '{"input": {"x": [[-1, 1, 2, 3]]}}' >negative.jsonl
pass "reference output 'y' has NaN or Inf in 1 of 4 elements" hone align "$models/nan.onnx" "$models/nan.onnx" --data negative.jsonl
# Refuse:
refuse 2 "input 's' is sequence(float32[2]): only tensors can be fed" $(bench sequence)
refuse 2 "input 'o' is optional(float32[2]): only tensors can be fed" $(bench optional)
refuse 3 'com.nobody' $(bench refused)
[ "$(wc -l <err.txt)" -le 4 ] || { echo "FAILED: the engine's message is not trimmed: $(cat err.txt)"; fails=1; }
echo '{"input": {"x": [[1, 2, 3]]}}' >narrow.jsonl
refuse 2 "input 'x' has 3 in dim 1, the model expects 4" hone bench "$models/relu.onnx" --data narrow.jsonl
echo '{"input": {"x": [1, 2, 3, 4]}}' >flat.jsonl
refuse 2 "input 'x' has rank 1, the model expects rank 2" hone bench "$models/relu.onnx" --data flat.jsonl
echo '{"input": {"a": [[1, 2, 3, 4]]}}' >half.jsonl
refuse 2 "data for input 'b' is missing" hone bench "$models/two_inputs.onnx" --data half.jsonl
# A run directory that can't be written, and a disk that is full (files of more than 20 kB are refused, as ENOSPC is):
export HONE_FAKE_ENGINE=1
refuse 2 '/proc/nowhere' hone optimize "$models/mlp.onnx" --engine fake --out /proc/nowhere/run
full() ( trap '' XFSZ; ulimit -f 20; exec "$@" )
refuse 2 'full' full hone optimize "$models/mlp.onnx" --engine fake --out full --quiet
exit $fails
