"""What does the user get to see on a terminal? Progress, logs, summaries, tables."""
