#!/usr/bin/env bash
# Bad usage and bad input: exit status 2, exactly one line on standard error that names the trouble, nothing written.
set -uo pipefail
fails=0
expect() { # status, text, command...
  local status=$1 text=$2; shift 2
  "$@" >out.txt 2>err.txt; local got=$?
  local lines; lines=$(grep -c '^hone: ' err.txt)
  if [ "$got" != "$status" ] || ! grep -qF -- "$text" err.txt || [ "$lines" != 1 ]; then
    echo "FAILED: $* -> status $got (want $status), want '$text', got: $(cat err.txt)"; fails=1
  fi
}
model=$HONE_TEST_DATA/e2e/relu.onnx
: >empty.onnx
head -c 40 "$model" >cut.onnx
echo "this is no model" >text.onnx
expect 2 'did you mean --budget?' hone optimize "$model" --budgte 5m
expect 2 'did you mean optimize?' hone optimise "$model"
expect 2 'not a duration' hone optimize "$model" --budget soon
expect 2 'missing.onnx' hone optimize missing.onnx
expect 2 'empty.onnx' hone bench empty.onnx
expect 2 'cut.onnx' hone bench cut.onnx
expect 2 'text.onnx' hone optimize text.onnx
expect 2 'name:1x3x224x224' hone bench "$model" --shape x
expect 2 'unknown change in --only' hone optimize "$model" --only nonsense-change
expect 2 'did you mean' hone bench "$model" --set intra_op_thread=1
expect 2 'missing_data' hone bench "$model" --data missing_data
expect 2 'an original is never overwritten' hone rewrite "$model" -o "$model"
expect 2 'no rewrite is called' hone rewrite "$model" -o o.onnx --pass nonsense
expect 2 "takes no other: --dry-run" hone optimize --resume some_run --dry-run
expect 2 '--budget requires --vs' hone bench "$model" -q --budget 5m
expect 2 '--vs excludes --time' hone bench "$model" --vs "$model" --time 1s
expect 2 '--engine' hone align "$model" "$model" --engine openvino
expect 2 '--quiet' hone bench "$model" --quiet --verbose
expect 2 '/proc/nowhere/log' hone rewrite --list --log-file /proc/nowhere/log
mkdir locked; echo 'not a run' >locked/journal.sqlite
expect 2 'locked' hone report locked
[ ! -e runs ] || { echo "FAILED: something was written to runs/"; fails=1; }
exit $fails
