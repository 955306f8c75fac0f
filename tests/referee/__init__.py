"""Plain-Python rules, written to be read: the second opinion that the JAX rules are held to."""
