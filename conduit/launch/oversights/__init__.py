"""Mistakes of a program that raise no error: they are looked for in its source and in what it leaves.

Calls that are not awaited (`unawaited`), methods that are named and not called (`uncalled`), a main that nobody runs
(`unrun`), a generator of random numbers that all ranks share (`seeds`), and mpi4py asked who is there where ranks are
no processes (`mpi4py_world`).
"""
