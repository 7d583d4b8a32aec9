"""What does a comparison or a crawl look like on a page? Self-contained HTML with drawings."""
