"""What is new about my topics? Concerns: sites visited again, new pages matched and delivered."""
