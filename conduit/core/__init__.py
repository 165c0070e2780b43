"""The core: endpoints, handlers, tokens, dispatch, counts and the digest; no networks, no simulation."""
