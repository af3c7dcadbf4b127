"""Runs the contenders on the same problems in turns, and prints how much longer than clattn each takes. Needs Python 3 alone."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# name, batch, heads, q_len, kv_len, head_dim, causal
WORKS = [
    ("prefill, D = 64", 1, 8, 1920, 1920, 64, 0),
    ("prefill, D = 128", 1, 8, 1920, 1920, 128, 0),
    ("awkward length, D = 64", 1, 8, 1999, 1999, 64, 0),
    ("causal", 1, 8, 4096, 4096, 64, 1),
    ("short prompts", 8, 12, 128, 128, 64, 0),
]
REST = 0.02  # seconds between turns, in which the last one's threads go to sleep
TOLERANCE = 1e-4


class Contender:
    def __init__(self, program, word, sizes):
        # Threads that wait actively would take the next contender's processors.
        environment = dict(os.environ, OMP_WAIT_POLICY="passive", GOMP_SPINCOUNT="0", KMP_BLOCKTIME="0")
        command = program + [str(size) for size in sizes] + ([word] if word else [])
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                        env=environment)
        answer, _, self.name = self.process.stdout.readline().strip().partition(" ")
        self.able = answer == "ready"
        self.reason = "" if self.able else (self.name or "it ended at once")

    def ask(self, what):
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        return [float(x) for x in self.process.stdout.readline().split()]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def measure(work, programs, rounds):
    contenders = [Contender(program, word, work[1:]) for program, word in programs]
    times = [[] for _ in contenders]
    for turn in range(rounds + 1):
        for contender, seconds in zip(contenders, times):
            if contender.able:
                time.sleep(REST)
                taken = contender.ask("run")[0]
                if turn > 0:  # the first warms up
                    seconds.append(taken)
    sums = [contender.ask("check") if contender.able else None for contender in contenders]
    for contender in contenders:
        contender.end()
    rows = []
    for contender, seconds, sum_ in zip(contenders, times, sums):
        row = {"work": work[0], "name": contender.name, "able": contender.able, "reason": contender.reason}
        if contender.able:
            away = max(abs(a - b) for a, b in zip(sum_, sums[0])) / sums[0][1]
            ratios = [a / b for a, b in zip(seconds, times[0])]
            row.update(median_s=statistics.median(seconds), min_s=min(seconds), samples_s=seconds, ratio=statistics.median(ratios),
                       difference=away, agrees=away <= TOLERANCE)
        rows.append(row)
    return rows


def main():
    parser = argparse.ArgumentParser(description="Attention by clattn and by what one would take instead, in turns.")
    parser.add_argument("--build", required=True, help="where peer_clattn and peer_openblas are")
    parser.add_argument("--python", help="an interpreter with torch, onnxruntime and onnx; without it they are left out")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", help="all figures into this file")
    options = parser.parse_args()
    clattn, openblas = ([os.path.join(options.build, name)] for name in ("peer_clattn", "peer_openblas"))
    programs = [(clattn, ""), (clattn, "cpu"), (openblas, "")]
    if options.python:
        torch, onnx = ([options.python, os.path.join(HERE, name)] for name in ("torch_peer.py", "onnx_peer.py"))
        programs += [(torch, ""), (onnx, "standard"), (onnx, "own")]
    results, wrong = [], False
    for work in WORKS:
        print("%s: batch %d, %d heads, %d queries, %d keys, D = %d%s" % (work[:6] + (", causal" if work[6] else "",)))
        for row in measure(work, programs, options.rounds):
            results.append(row)
            if not row["able"]:
                print("  %-58s %s" % (row["name"] or "?", "left out: " + row["reason"]))
                continue
            note = "" if row["agrees"] else "  ANOTHER RESULT (%.1e)" % row["difference"]
            wrong = wrong or not row["agrees"]
            print("  %-58s %9.2f ms  %5.2fx%s" % (row["name"], 1e3 * row["median_s"], row["ratio"], note))
        sys.stdout.flush()
    print("\nmedians of %d turns; x: time over clattn's first line, median of the turns' ratios" % options.rounds)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"results": results}, file, indent=1)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
