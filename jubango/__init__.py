"""Plays thousands of board games at once and says which bot is stronger."""
