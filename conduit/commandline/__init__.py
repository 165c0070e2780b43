"""What commands and benchmarks of the command line are made of: the types of their options, their files and tables."""
