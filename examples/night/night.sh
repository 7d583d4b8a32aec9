#!/bin/sh
# An hour of crawling, then the best pages of the last day. For cron:
#   15 2 * * *  /home/me/night/night.sh
# Quiet unless something went wrong, so that cron mails only then. 5: another is still at it.
cd "$(dirname "$0")" || exit 1
PATH="$HOME/.local/bin:/usr/local/bin:$PATH" # cron's own is /usr/bin:/bin
FOCUS_FAIL_ERROR_RATE=0.5 focus crawl -q --max-time 1h
code=$?
case $code in 0 | 5) ;; *) exit "$code" ;; esac
focus export --db football.db --relevant --since 1d --sort quality --limit 50 \
    --fields url,title,relevance,fetched_at --format csv --bom -o best.csv
