#!/usr/bin/env bash
# bench, rewrite, align and profile on ONNX Runtime, with a small real model; times are printed, none is asserted.
set -euo pipefail
model=$HONE_TEST_DATA/e2e/mlp.onnx
hone bench "$model" --instances 1 --time 100ms --json --quiet >bench.json
hone rewrite "$model" -o out.onnx --json --quiet >rewrite.json
hone align "$model" out.onnx --json --quiet >align.json
hone align "$model" out.onnx --layerwise --quiet | grep -q PASSED
hone profile "$model" --iterations 5 --json --quiet >profile.json
hone rewrite --list --json >rules.json
hone rewrite "$model" -o named.onnx --pass fuse-skip-layernorm --json --quiet >named.json
# What was rewritten once has nothing left to fire, so nothing is checked; and the log says what was done.
hone rewrite out.onnx -o again.onnx --json --quiet >again.json
grep -q '"checker": "not run: nothing fired"' again.json
hone rewrite "$model" -o logged.onnx --log-file log.txt --quiet
grep -Eq '^20[0-9-]+T[0-9:.]+Z hone rewrite ' log.txt && grep -q 'fired at' log.txt && grep -q 'Z exit status 0$' log.txt
hone align "$model" out.onnx --layerwise --other-set graph_optimization=disabled --other-set intra_op_threads=1 --verbose >aligned.txt 2>verbose.txt
grep -q PASSED aligned.txt
[ "$(grep -c '"intra_op_threads":"1"' verbose.txt)" -ge 2 ] || { echo "FAILED: --layerwise ignores --other-set"; cat verbose.txt; exit 1; }
HONE_FAKE_ENGINE=1 hone doctor --model "$model" --engine fake --json --quiet >doctor.json  # a clock of its own: no waiting
python3 - <<'P'
import json
b, r, a, p, l = (json.load(open(f + ".json")) for f in ("bench", "rewrite", "align", "profile", "rules"))
d = json.load(open("doctor.json"))
assert 1 < d["model"]["smallest_speedup"] < 1.2 and d["model"]["aa"]["pairs"]
assert b["schema"] == "hone.bench/1" and b["execute_ms"]["median"] > 0 and b["peak_memory_bytes"] > 0
assert r["checker"] == ("passed" if any(rule["fired"] for rule in r["rules"]) else "not run: nothing fired")
assert r["nodes_after"] <= r["nodes_before"]
assert a["passed"] is True and a["outputs"]
assert p["latency_ms"] > 0 and p["operators"]
assert len(l["rules"]) > 10
# Rewrites that are slower as a rule are applied only when they are named.
by_name = {rule["id"] for rule in l["rules"] if rule["only_when_named"]}
assert "fuse-skip-layernorm" in by_name and not by_name & {rule["id"] for rule in r["rules"]}
assert [rule["id"] for rule in json.load(open("named.json"))["rules"]] == ["fuse-skip-layernorm"]
P
