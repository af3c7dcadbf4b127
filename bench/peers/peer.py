"""The common part of the contenders in Python: see peer.h."""
import sys
import time

import numpy


def numbers(shape, stream):
    index = numpy.arange(numpy.prod(shape), dtype=numpy.uint32)
    with numpy.errstate(over="ignore"):
        x = index * numpy.uint32(2654435761) + numpy.uint32(stream * 40503)
        x ^= x >> numpy.uint32(16)
        x *= numpy.uint32(0x45D9F3B)
        x ^= x >> numpy.uint32(16)
    return ((x >> numpy.uint32(8)).astype(numpy.float32) * numpy.float32(2.0**-24) - numpy.float32(0.5)).reshape(shape)


def serve(prepare):
    """prepare(q, k, v, causal, word) returns a name, and a function that computes the result as a numpy array [batch, heads, rows, dim]."""
    batch, heads, q_len, kv_len, dim, causal = map(int, sys.argv[1:7])
    word = sys.argv[7] if len(sys.argv) > 7 else ""
    q = numbers((batch, heads, q_len, dim), 1)
    k = numbers((batch, heads, kv_len, dim), 2)
    v = numbers((batch, heads, kv_len, dim), 3)
    try:
        name, run = prepare(q, k, v, causal != 0, word)
        out = run()
    except Exception as problem:
        print("unable", " ".join(str(problem).split())[:300], flush=True)
        sys.exit(1)
    print("ready", name, flush=True)
    for line in sys.stdin:
        if line == "run\n":
            start = time.perf_counter()
            out = run()
            print("%.9e" % (time.perf_counter() - start), flush=True)
        elif line == "check\n":
            flat = out.astype(numpy.float64).ravel()
            weights = numbers(flat.shape, 9).astype(numpy.float64)
            print("%.9e %.9e" % (flat @ weights, numpy.abs(flat).sum()), flush=True)
        else:
            sys.exit(2)
