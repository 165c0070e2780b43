"""Collective calls: what they take, how they agree, how they move, and by which algorithms.

An algorithm is a generator that posts sends and receives and yields what it waits for (`call`, `algorithms`).  It
belongs to no task: the engine carries it on at each poll (`engine`).  A message may come before its receiver has made
the call.  Then it is kept as *unexpected*, as in MPI, and matched by team, number of the call, source and tag
(`team_calls`, `arrivals`).

Small data is sent at once (*eager*).  Large data waits for the receiver's word where it belongs, which is a
*rendezvous* that the receiver begins (`send_queue`).  So what a rank keeps for others is bounded.

Each message carries a signature of its call, so that ranks that disagree find out (`signature`).
"""
