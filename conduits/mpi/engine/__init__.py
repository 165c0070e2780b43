"""What all simulated MPI libraries have in common: matching, requests, communicators, and what a library must supply.

It is layered as MPICH is.  `plain` has MPI's own names, of which every one posts, charges the CPU and returns.
`engine` matches: it has the list of posted receives and the queue of unexpected messages.  A `device` moves: it
decides between eager and rendezvous, and brings envelopes in the order in which each sender sent them.

    a send      `plain` -> `engine.begin_send` -> `device.send` ... `engine.sent`, and `engine.matched` if synchronous
    a receive   `plain` -> `engine.begin_receive` -> posted, or matched with an unexpected message
    a poll      the port -> `engine.progress` -> `device.progress` -> `engine.arrive` -> `IncomingMessage.deliver`

Nothing here waits.  A call that has stores to make leaves them to the `worker`, since each is an event at its own time;
the rank's CPU is taken until the worker is idle.  Time passes in the awaited names and in polls alone, and in the send
that is all that an awaited name does: where nothing is in its way it is over at once (`Device.send_now`).

Progress is made in calls alone, as in the libraries that are modelled: a rank that computes answers no rendezvous.
"""
