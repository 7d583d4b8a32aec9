"""Gives every address one spelling, and reads off it what can be read without asking for it."""
