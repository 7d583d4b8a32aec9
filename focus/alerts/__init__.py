"""What is new about my topics? Alerts: sites visited again, new pages matched and delivered."""
