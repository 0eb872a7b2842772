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
python3 - <<'P'
import json
b, r, a, p, l = (json.load(open(f + ".json")) for f in ("bench", "rewrite", "align", "profile", "rules"))
assert b["schema"] == "hone.bench/1" and b["execute_ms"]["median"] > 0 and b["peak_memory_bytes"] > 0
assert r["checker"] == "passed" and r["nodes_after"] <= r["nodes_before"]
assert a["passed"] is True and a["outputs"]
assert p["latency_ms"] > 0 and p["operators"]
assert len(l["rules"]) > 10
# Rewrites that are slower as a rule are applied only when they are named.
by_name = {rule["id"] for rule in l["rules"] if rule["only_when_named"]}
assert "fuse-skip-layernorm" in by_name and not by_name & {rule["id"] for rule in r["rules"]}
assert [rule["id"] for rule in json.load(open("named.json"))["rules"]] == ["fuse-skip-layernorm"]
P
