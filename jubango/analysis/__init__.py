"""What happened: ratings, tables, positions and their pictures."""
