#!/usr/bin/env python3
"""Makes the cases of this folder: inputs chosen here, expected results by `clattn run --path reference` (float64).

    make.py path/to/clattn [name...]

Every case is there because a wrong kernel passed the others: its description says what it holds. Needs Python alone.
"""
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
STAGES = "lse,weights,scores_raw,scores_softcapped,scores_masked"
NAN, INF = math.nan, math.inf
EXACT = {"rtol": "0", "atol": "0"}


class Tensor:
    def __init__(self, dtype, shape, values):
        self.dtype, self.shape = dtype, list(shape)
        self.data = b"".join(encode(dtype, value) for value in values)
        assert len(values) == math.prod(shape)

    def patch(self, element, data):
        """Replaces one element by these bytes."""
        start = element * len(data)
        self.data = self.data[:start] + data + self.data[start + len(data):]
        return self


def encode(dtype, value):
    if dtype == "BF16":  # only values that bf16 holds, or that may be cut
        return struct.pack("<f", value)[2:]
    return struct.pack({"F32": "<f", "F16": "<e", "I64": "<q", "BOOL": "<B"}[dtype], value)


def normal(rng, shape, dtype="F32"):
    return Tensor(dtype, shape, [rng.gauss(0, 1) for _ in range(math.prod(shape))])


def longs(*values):
    return Tensor("I64", [len(values)], values)


def floats(*values):
    return Tensor("F32", [len(values)], values)


def qkv(rng, batch, heads, groups, rows, keys, dim, dim_v, dtype="F32"):
    return {
        "q": normal(rng, [batch, heads, rows, dim], dtype),
        "k": normal(rng, [batch, groups, keys, dim], dtype),
        "v": normal(rng, [batch, groups, keys, dim_v], dtype),
    }


def mask_key_broadcast(rng):
    """A mask whose last dimension is 1: the same bias for every key of a row, -inf for some rows."""
    tensors = qkv(rng, 2, 2, 2, 21, 35, 16, 16)
    values = [-INF if n % 7 == 3 else rng.gauss(0, 2) for n in range(2 * 21)]
    tensors["mask"] = Tensor("F32", [2, 1, 21, 1], values)
    return tensors, {}, "out,lse"


def mask_short(rng):
    """A mask that ends before the keys do excludes the rest, without any kv_len."""
    tensors = qkv(rng, 2, 3, 3, 20, 50, 16, 16)
    tensors["mask"] = normal(rng, [2, 3, 20, 33])
    return tensors, {}, "out,lse"


def mask_bf16(rng):
    """A bf16 mask with a row for every batch element and head, some of it -inf."""
    tensors = qkv(rng, 2, 3, 3, 20, 40, 16, 16)
    values = [-INF if rng.random() < 0.2 else rng.gauss(0, 2) for _ in range(2 * 3 * 20 * 40)]
    tensors["mask"] = Tensor("BF16", [2, 3, 20, 40], values)
    return tensors, {}, "out,lse"


def window_narrow(rng):
    """A window of two keys: its edge falls on every place of a tile, the last one of the tile before among them."""
    return qkv(rng, 1, 1, 1, 130, 130, 16, 16), {"window_left": "1", "window_right": "0"}, "out,lse"


def window_left_open(rng):
    """A window open to the right, that begins inside of blocks of keys and ends in none."""
    return qkv(rng, 1, 2, 1, 50, 290, 16, 16), {"window_left": "3"}, "out,lse"


def packed_stages(rng):
    """Four packed sequences, one empty, of which none but the last ends where the tensors do; every stage asked for."""
    rows, keys = [0, 9, 9, 30, 41], [0, 13, 20, 25, 53]
    tensors = {
        "q": normal(rng, [rows[-1], 2, 16]),
        "k": normal(rng, [keys[-1], 1, 16]),
        "v": normal(rng, [keys[-1], 1, 24]),
        "cu_seqlens_q": longs(*rows),
        "cu_seqlens_kv": longs(*keys),
    }
    return tensors, {"softcap": "6.0"}, "out," + STAGES


def many_keys(rng):
    """More keys than two of the pieces that sums are made of."""
    return qkv(rng, 1, 1, 1, 5, 530, 8, 8), {}, "out,lse"


def deep(rng):
    """Rows of q, k and v, and keys, of more numbers than any kernel takes in one go."""
    return qkv(rng, 1, 2, 1, 11, 300, 270, 33), {}, "out,lse"


def deep_bf16(rng):
    """The same for numbers that are widened on the way, in a count that no vector divides."""
    return qkv(rng, 1, 2, 1, 11, 40, 523, 33, "BF16"), {"rtol": "0.016", "atol": "0.008"}, "out,lse"


def alibi_both_sides(rng):
    """ALiBi without a causal mask: keys after the query are as far as keys before it."""
    tensors = qkv(rng, 2, 3, 3, 30, 40, 16, 16)
    tensors["alibi_slopes"] = floats(0.5, 0.25, 0.125)
    tensors["query_offset"] = longs(7, -5)
    return tensors, {}, "out,lse"


def sinks_edges(rng):
    """Sinks far above and below the scores, rows that attend nothing, and a sink of +inf, which takes all weight."""
    tensors = qkv(rng, 2, 4, 4, 20, 30, 16, 16)
    tensors["sinks"] = floats(200.0, -200.0, 0.5, INF)
    tensors["query_offset"] = longs(-6, 3)
    return tensors, {"causal": "1"}, "out,lse,weights"


def nan_bits(rng):
    """An attended NaN whose bits are all ones; an attended infinity in v; neither where excluded."""
    tensors = qkv(rng, 1, 2, 2, 40, 40, 16, 16)
    tensors["k"].patch(5 * 16 + 3, b"\xff\xff\xff\xff")
    tensors["k"].patch(40 * 16 + 25 * 16 + 3, b"\xff\xff\xff\xff")
    tensors["v"].patch(40 * 16 + 7 * 16 + 2, struct.pack("<f", INF))
    return tensors, {"causal": "1"}, "out,lse,weights"


def nan_groups(rng):
    """An attended NaN and an infinity in v of the second of two groups of heads: its own heads have them, the others do not."""
    tensors = qkv(rng, 2, 4, 2, 20, 20, 16, 16)
    tensors["v"].patch((1 * 20 + 6) * 16 + 3, struct.pack("<f", NAN))
    tensors["v"].patch((3 * 20 + 11) * 16 + 9, struct.pack("<f", INF))
    return tensors, {"causal": "1"}, "out,lse"


def garbage_in_one_column(rng):
    """NaN and infinities of excluded keys between attended ones, in one column each, the other columns being numbers."""
    tensors = qkv(rng, 2, 4, 2, 20, 40, 16, 70)
    tensors["mask"] = Tensor("BOOL", [2, 1, 1, 40], [n not in (33, 40 + 17) for n in range(80)])
    for group, key, column, value in ((0, 33, 3, INF), (1, 33, 30, NAN), (2, 17, 13, -INF), (3, 17, 45, NAN)):
        tensors["v"].patch((group * 40 + key) * 70 + column, struct.pack("<f", value))
    return tensors, {}, "out,lse"


def nan_underflow(rng):
    """A weight that underflows to 0 times an attended NaN is NaN; the same key excluded is nothing."""
    tensors = qkv(rng, 1, 1, 1, 20, 20, 16, 40)
    tensors["q"] = Tensor("F32", [1, 1, 20, 16], [3.0] * (20 * 16))
    values = [-40.0 if n // 16 == 9 else rng.gauss(0, 1) for n in range(20 * 16)]
    tensors["k"] = Tensor("F32", [1, 1, 20, 16], values)
    tensors["v"].patch(9 * 40 + 20, struct.pack("<f", NAN))
    return tensors, {"causal": "1", "rtol": "1e-4"}, "out,lse,weights"


def philox(seed, offset, block):
    c = [block & 0xFFFFFFFF, block >> 32, offset & 0xFFFFFFFF, offset >> 32]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ key[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ key[1], a & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def dropout_counters(rng):
    """A seed and an offset of 64 bits; a probability that one weight's number equals (kept); NaN stays where dropped."""
    seed, offset, rows, keys = 0x123456789ABCDEF1, 0xFEDCBA9876543, 30, 40
    tensors = qkv(rng, 2, 2, 2, rows, keys, 16, 16)
    tensors["q"].patch(0, struct.pack("<f", NAN))  # row 0 of each batch element's first head attends one key
    tensors["q"].patch(2 * rows * 16, struct.pack("<f", NAN))
    numbers = [philox(seed, offset, n >> 2)[n & 3] >> 8 for n in range(rows * keys)]
    attended = [numbers[i * keys + j] for i in range(1, rows) for j in range(i + 1)]
    probability = min(attended, key=lambda number: abs(number / 2**24 - 0.5)) / 2**24
    assert numbers[0] / 2**24 < probability  # dropped
    settings = {"causal": "1", "dropout": repr(probability), "dropout_seed": str(seed), "dropout_offset": str(offset)}
    return tensors, settings, "out,lse,weights"


def means(rng, dtype, bits, exponents):
    """Two keys of equal weight: out is the mean of two numbers, which float32 holds exactly, rounded once."""
    zero = Tensor(dtype, [1, 1, 1, 8], [0.0] * 8)
    first, second = [], []
    for n in range(64):
        step = 2.0 ** (exponents[n % len(exponents)] - bits)  # between neighbours
        low = (2**bits + rng.randrange(2**bits - 8)) * step * rng.choice((1, -1))
        first.append(low)
        second.append(low + math.copysign((1, 1, 3, 2)[n % 4] * step, low))  # n % 4 < 3: a tie
    # Not ties: a small number, that pushes the mean of three quarters above a representable number or below.
    for n in range(0, 64, 8):
        second[n] = math.copysign(2.0 ** (exponents[n // 8 % len(exponents)] - bits - 3), first[n] * (-1) ** (n // 8))
    tensors = {
        "q": zero,
        "k": Tensor(dtype, [1, 1, 2, 8], [0.0] * 16),
        "v": Tensor(dtype, [1, 1, 2, 64], first + second),
    }
    return tensors, dict(EXACT), "out"


def rounding_bf16(rng):
    """Results are rounded to the nearest bf16, ties to even."""
    return means(rng, "BF16", 7, (0, 3, -5, 60, -60))


def rounding_f16(rng):
    """Results are rounded to the nearest f16, ties to even, small ones too."""
    return means(rng, "F16", 10, (0, 3, -5, 14, -12))


CASES = [
    mask_key_broadcast, mask_short, mask_bf16, window_narrow, window_left_open, packed_stages, many_keys, deep, deep_bf16,
    alibi_both_sides, sinks_edges, nan_bits, nan_groups, garbage_in_one_column, nan_underflow, dropout_counters, rounding_bf16,
    rounding_f16,
]


def write(path, tensors, metadata):
    header, offset = {"__metadata__": metadata}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()))


def read(path):
    with open(path, "rb") as file:
        content = file.read()
    length = struct.unpack("<Q", content[:8])[0]
    header, data = json.loads(content[8:8 + length]), content[8 + length:]
    header.pop("__metadata__", None)
    return {name: (t["dtype"], t["shape"], data[slice(*t["data_offsets"])]) for name, t in header.items()}


def make(tool, case):
    name, seed = case.__name__, sum(case.__name__.encode())
    tensors, settings, outputs = case(random.Random(seed))
    tensors = {key: (t.dtype, t.shape, t.data) for key, t in tensors.items()}
    tolerances = {"rtol": "1e-05", "atol": "2e-06"}
    metadata = {"op": "attention", "origin": f"make.py, seed {seed}: {case.__doc__}", **tolerances, **settings}
    with tempfile.TemporaryDirectory() as folder:
        problem, result = os.path.join(folder, "in.safetensors"), os.path.join(folder, "out.safetensors")
        write(problem, tensors, metadata)
        subprocess.run([tool, "run", problem, "-o", result, "--path", "reference", "--outputs", outputs],
                       check=True, stdout=subprocess.DEVNULL)
        results = {"expected." + key: tensor for key, tensor in read(result).items()}
    write(os.path.join(FOLDER, name + ".safetensors"), {**tensors, **results}, metadata)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for case in CASES:
        if len(sys.argv) == 2 or case.__name__ in sys.argv[2:]:
            make(sys.argv[1], case)


main()
