"""The networks: one package for each conduit, and the parts they share."""
