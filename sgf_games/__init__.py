"""The games: rules in JAX, coordinates, records, SGF files, the results library."""
