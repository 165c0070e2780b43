"""Conjugate gradients on a sparse matrix: rows are distributed, and a thread reads what its rows need of the vector."""

import math

import numpy as np

api = "upc"


class Rows:
    """Some rows of a sparse matrix: for each entry its row, its column and its value."""

    def __init__(self, n, first, last):
        """Take the rows `first` to `last` of Poisson's equation on a grid of n x n points."""
        row = np.repeat(np.arange(first, last), 5)
        column = (np.arange(first, last)[:, None] + [0, -1, 1, -n, n]).reshape(-1)
        value = np.tile([4.0, -1.0, -1.0, -1.0, -1.0], last - first)
        inside = (column >= 0) & (column < n * n)
        same_line = (abs(column - row) != 1) | (column // n == row // n)
        keep = inside & same_line
        self.count = last - first
        self.row, self.column, self.value = row[keep] - first, column[keep], value[keep]

    def times(self, entries):
        """Return the product with a vector, of which `entries` has the element for each entry."""
        return np.bincount(self.row, self.value * entries, self.count)


def right_side(n):
    return np.random.default_rng(3).standard_normal(n * n)


async def main(t, n="16", most="200"):
    n = int(n)
    block = -(-n * n // t.THREADS)
    shared = await t.all_alloc(n * n, dtype="f8", block=block)  # the direction, which all need parts of
    first, last = min(t.MYTHREAD * block, n * n), min((t.MYTHREAD + 1) * block, n * n)
    matrix = Rows(n, first, last)
    needed, place = np.unique(matrix.column, return_inverse=True)

    async def dot(u, v):
        await t.ep.compute(flops=2 * len(u))
        return await t.extended.all_reduce(math.fsum(u * v))  # `u @ v` rounds otherwise on another processor

    x, residual = np.zeros(last - first), right_side(n)[first:last]
    direction = residual.copy()
    old = await dot(residual, residual)
    start, steps = t.ep.now, 0
    while old > 1e-20 and steps < int(most):
        shared.local = direction
        await t.barrier()
        entries = await shared[needed]  # one message for each owner
        product = matrix.times(entries[place])
        await t.ep.compute(flops=2 * len(place) + 6 * len(x))
        length = old / await dot(direction, product)
        x += length * direction
        residual = residual - length * product
        new = await dot(residual, residual)
        direction = residual + new / old * direction
        old, steps = new, steps + 1
    seconds = t.ep.now - start
    shared.local = x
    found = await shared.gather_to(0)
    if t.MYTHREAD == 0:
        whole = Rows(n, 0, n * n)
        dense = np.zeros((n * n, n * n))
        np.add.at(dense, (whole.row, whole.column), whole.value)
        assert np.allclose(found, np.linalg.solve(dense, right_side(n)))
        print(f"{n * n} unknowns, sum of the solution {found.sum():.6f}, as by a direct solver")
        print(f"time: {steps} steps, {seconds * 1e3:.3f} ms")
