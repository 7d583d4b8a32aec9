"""focus: a focused web crawler. See docs/design.md for the life of a URL."""

__version__ = "0.1.0"
