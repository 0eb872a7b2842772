#!/usr/bin/env bash
# The whole loop on the fake engine (a hidden latency model with a clock of its own; no real time is measured): runs,
# reports, is idempotent when resumed, refuses a second hone, and its JSON has the fields others rely on.
set -euo pipefail
export HONE_FAKE_ENGINE=1
model=$HONE_TEST_DATA/e2e/mlp.onnx
hone optimize "$model" --engine fake --out run --seed 7 --max-trials 3 --json --quiet >result.json
python3 - <<'P'
import json
d = json.load(open("result.json"))
assert d["schema"] == "hone.optimize/1", d["schema"]
for key in ("speedup", "baseline_ms", "best_ms", "accuracy", "stop", "best", "trials", "run_dir", "protocol_hash", "machine"):
    assert key in d, key
for key in ("estimate", "low", "high"):
    assert key in d["speedup"], key
assert d["trials"][0]["change"] == "baseline"
judged = [t for t in d["trials"] if t["change"] not in ("baseline", "final")]
assert judged
for t in judged:
    assert t["verdict"] in ("kept", "rolled_back", "failed", "skipped"), t
    assert t["reason"], t
P
for f in report.html final_report.md trials.tsv journal.sqlite manifest.txt protocol.json best/model.onnx best/settings.json best/how_to_load.md best/load.py; do
  [ -s "run/$f" ] || { echo "FAILED: run/$f is missing or empty"; exit 1; }
done
(cd run/best && sha256sum -c --quiet sha256sums)
hone optimize --resume run --json --quiet >again.json
python3 - <<'P'
import json
a, b = json.load(open("result.json")), json.load(open("again.json"))
assert a["speedup"] == b["speedup"] and a["trials"] == b["trials"]
P
grep -q '^command_line: hone optimize .* --seed 7 ' run/manifest.txt
# A hone that holds a folder (stopped in the middle, so that it can't end first) keeps every other one out.
hone optimize "$model" --engine fake --out held --seed 7 --max-trials 3 --quiet &
first=$!
until [ -s held/lock ] && [ -s held/journal.sqlite ]; do
  kill -0 $first || { echo "FAILED: the first hone ended before it could be stopped"; exit 1; }
  sleep 0.01
done
kill -STOP $first
for second in "--resume held" "$model --engine fake --out held"; do
  status=0
  hone optimize $second --quiet 2>second.txt || status=$?
  [ $status = 2 ] && grep -q "^hone: another hone works in this run directory (pid $first " second.txt ||
    { echo "FAILED: a second hone got status $status: $(cat second.txt)"; kill -CONT $first; exit 1; }
done
kill -CONT $first
wait $first
hone optimize --resume held --quiet
hone runs show run | grep -q 'stopped because of'
hone report run --quiet
hone optimize "$model" --engine fake --dry-run --json --quiet >plan.json
# An error rate is no score: the direction and the loss that is allowed reach the gate.
hone optimize "$model" --engine fake --dry-run --out quality --quiet --accuracy quality --quality-cmd 'echo 1' \
  --quality-lower-is-better --quality-loss 0.25 >/dev/null
python3 - <<'P'
import json, sqlite3
gate = json.loads(sqlite3.connect("quality/journal.sqlite").execute("SELECT plan FROM run").fetchone()[0])["accuracy"]
assert gate["level"] == "quality" and gate["quality_lower_is_better"] is True and gate["quality_loss"] == 0.25, gate
P
[ ! -e runs ] || { echo "FAILED: a dry run left something in runs/"; exit 1; }
