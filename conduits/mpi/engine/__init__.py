"""What all simulated MPI libraries have in common: matching, requests, communicators, and what a library must supply.

`device` says what a library is made of, `plain` is what stands above it: MPI's own names, of which every one posts,
charges the CPU and returns.
"""
