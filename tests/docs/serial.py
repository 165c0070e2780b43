"""What the programs of docs/programs.md must print, by serial computations that share nothing with them."""

import re
from collections import Counter
from random import Random

import numpy as np

SMALL = {
    "plate": ("20", "12"),
    "gups": ("128", "96", "16"),
    "matmul": ("20",),
    "cg": ("4",),
    "treesearch": ("9",),
    "samplesort": ("300",),
    "photons": ("10", "60"),
    "hashtable": (),
}
"""Arguments with which each program is soon done."""


def plate(n, steps):
    """Explicit steps of the heat equation, cell by cell."""
    old = [[100.0 if row == 0 and column < n // 2 else 0.0 for column in range(n)] for row in range(n)]
    for _ in range(steps):
        new = [row[:] for row in old]
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                new[i][j] = 0.25 * (old[i - 1][j] + old[i + 1][j] + old[i][j - 1] + old[i][j + 1])
        old = new
    down, across = -(-n // 12), -(-n // 48)
    for row in old[::down]:
        yield "".join(" .:-=+*#%@"[min(int(heat // 10), 9)] for heat in row[::across])
    yield f"{np.sum(old):.6f} in all after {steps} steps, as in a serial run"


def gups(size, count, bunch):
    """Each update is made twice."""
    times = Counter(np.random.default_rng(1).integers(0, size, count).tolist())
    most = 2 * max(times.values())
    yield f"{2 * count} updates of {size} elements, at most {most} of one, as in a serial run"


def matmul(n):
    """The trace of a product is the sum of A[i, j] B[j, i]."""
    draw = np.random.default_rng(2)
    a, b = draw.integers(-9, 10, (n, n)), draw.integers(-9, 10, (n, n))
    yield f"{n} x {n}, trace of the product {(a * b.T).sum()}, as in a serial run"


def cg(n):
    """Poisson's equation by the eigenvectors of its matrix, which are sines."""
    k = np.arange(1, n + 1)
    sines = np.sqrt(2 / (n + 1)) * np.sin(np.outer(k, k) * np.pi / (n + 1))
    eigenvalues = 2 - 2 * np.cos(k * np.pi / (n + 1))
    right = np.random.default_rng(3).standard_normal(n * n).reshape(n, n)
    solution = sines @ ((sines @ right @ sines) / (eigenvalues[:, None] + eigenvalues)) @ sines
    yield f"{n * n} unknowns, sum of the solution {solution.sum():.6f}, as by a direct solver"


def treesearch(seed):
    """Depth first, by recursion."""

    def nodes(seed, depth):
        draw = Random(seed * 64 + depth)
        below = 8 if depth == 0 else draw.choice((0, 0, 0, 1, 4)) if depth < 60 else 0
        return 1 + sum(nodes(draw.getrandbits(40), depth + 1) for _ in range(below))

    yield f"{nodes(seed, 0)} nodes, as in a serial run"


def samplesort(count):
    """The upper median is the key that half of the keys are below."""
    keys = np.random.default_rng(5).integers(0, 1 << 60, count)
    yield f"{count} keys, median {np.partition(keys, count // 2)[count // 2]}, as sorted serially"


def photons(batches, photons):
    """Each photon's end from the whole path of its batch."""
    ends = Counter()
    for number in range(batches):
        draw = np.random.default_rng((6, number))
        depth, cosine = [0.0] * photons, [1.0] * photons
        while depth:
            free = draw.exponential(size=len(depth)).tolist()
            depth = [d + c * path for d, c, path in zip(depth, cosine, free, strict=True)]
            ends["reflected"] += sum(d < 0 for d in depth)
            ends["transmitted"] += sum(d >= 4 for d in depth)
            depth = [d for d in depth if 0 <= d < 4]
            goes_on = (draw.random(len(depth)) < 0.7).tolist()
            ends.update(int(d * 5) for d, on in zip(depth, goes_on, strict=True) if not on)
            depth = [d for d, on in zip(depth, goes_on, strict=True) if on]
            cosine = draw.uniform(-1, 1, len(depth)).tolist()
    total = batches * photons
    for cell in range(0, 20, 2):
        yield f"{cell * 0.2:4.1f} {'#' * round(400 * ends[cell] / total)}"
    yield (f"{ends['reflected']} reflected, {ends['transmitted']} transmitted of {ends.total()}, as in a serial run")


def hashtable():
    """The words of the text, counted."""
    words = Counter(re.findall(r"\w+", "how much wood would a woodchuck chuck if a woodchuck could chuck wood " * 8))
    yield " ".join(f"{word}={count}" for word, count in sorted(words.items()))


_ALL = (plate, gups, matmul, cg, treesearch, samplesort, photons, hashtable)


def printed(name):
    """Return what a program prints with its arguments of `SMALL`, without times."""
    [compute] = [each for each in _ALL if each.__name__ == name]
    return list(compute(*map(int, SMALL[name])))
