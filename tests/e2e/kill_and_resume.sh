#!/usr/bin/env bash
# kill -9 at 20 random moments of real runs, each gone on with --resume: what a run finds, keeps and publishes is that of
# an undisturbed one, and no trial is lost or done twice. On the fake engine, whose measurements depend on no time.
set -euo pipefail
export HONE_FAKE_ENGINE=1
cat >kill.py <<'P'
import hashlib, json, os, random, signal, subprocess, sys, time

model = os.environ["HONE_TEST_DATA"] + "/model/exported/bert.ts14.dyn.onnx"  # something is kept, rolled back, removed again
kills_wanted, seed = int(os.environ.get("HONE_KILLS", "20")), int(os.environ.get("HONE_KILL_SEED", "1"))

def start(folder, resume):
    what = ["--resume", folder] if resume else [model, "--engine", "fake", "--out", folder, "--seed", "7", "--samples", "2"]
    out = open("out.json", "w"), open("err.txt", "w")
    return subprocess.Popen(["hone", "optimize", *what, "--json", "--quiet"], stdout=out[0], stderr=out[1])

def essence(folder):
    d = json.load(open("out.json"))
    trials = [{k: v for k, v in t.items() if k != "seconds"} for t in d["trials"]]
    assert [t["number"] for t in trials] == list(range(len(trials))), "a trial is lost or there twice"
    files = {n: hashlib.sha256(open(f"{folder}/best/{n}", "rb").read()).hexdigest()
             for n in ("model.onnx", "settings.json")}
    return json.dumps({"trials": trials, "best": d["best"], "stop": d["stop"], "speedup": d["speedup"],
                       "checks_failed": d["checks_failed"], "files": files,
                       "patches": sorted(os.listdir(folder + "/step3_patches"))}, sort_keys=True, indent=1)

begin = time.monotonic()
if start("undisturbed", False).wait() != 0:
    sys.exit("FAILED: " + open("err.txt").read())
whole_s = time.monotonic() - begin
wanted = essence("undisturbed")
count = len(json.loads(wanted)["trials"])
assert count > 4, count

rand = random.Random(seed)
kills = runs = 0
while kills < kills_wanted:
    runs += 1
    folder, in_this_run, resume = f"killed{runs}", 0, False
    while True:
        process = start(folder, resume)
        try:  # several kills a run: each session gets a random share of an undisturbed run's time
            process.wait(timeout=rand.uniform(0, whole_s / 5) if kills < kills_wanted else None)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
            in_this_run += 1
            resume = True
            continue
        if process.returncode == 0:
            break
        # Killed before its first transaction there is nothing to resume, and hone says to start again.
        if not resume or not any(w in open("err.txt").read() for w in ("nothing to resume", "no journal")):
            sys.exit(f"FAILED after {in_this_run} kills: " + open("err.txt").read())
        resume = False
    found = essence(folder)
    if found != wanted:
        open("wanted.json", "w").write(wanted), open("found.json", "w").write(found)
        subprocess.run(["diff", "wanted.json", "found.json"])
        sys.exit(f"FAILED: run {runs} differs after {in_this_run} kills (seed {seed})")
print(f"{kills} kills in {runs} runs of {count} trials ({whole_s:.1f} s undisturbed): all results are the same")
P
python3 kill.py
