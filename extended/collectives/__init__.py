"""Collective calls: what they take, how they agree, how they move, and by which algorithms."""
