"""Declares and reads the options that commands share."""
