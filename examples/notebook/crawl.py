"""A crawl and its pages in Python; each cell of a notebook is a part between blank lines."""

import focus

topic = focus.read_topic("足球")

for page in focus.crawl("https://sports.sina.com.cn/", topic=topic, max_pages=50, db="football.db"):
    print(f"{page.relevance:.2f}  {page.title}  {page.url}")

with focus.open("football.db") as database:
    best = list(database.pages(relevant=True, sort="quality", limit=10))
    print(best)
