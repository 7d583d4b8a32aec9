"""Tests of `focus`, one file for each module or subject."""
