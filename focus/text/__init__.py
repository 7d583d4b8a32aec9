"""Turns bytes into text, text into words, and anything into safe lines for a terminal."""
