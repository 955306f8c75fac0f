"""The games: rules in JAX, coordinates, records, SGF files, the results library."""

VERSION = "0.2.0"  # of the whole package
