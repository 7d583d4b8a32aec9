"""The alert store."""
