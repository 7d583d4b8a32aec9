#!/bin/sh
# One alert, told by mail; run once. FOCUS_SMTP_URL=smtp://user:password@mail.example.org:587
focus watch add 足球 --site https://sports.sina.com.cn/ --words "足球 欧冠" --every auto --mail group@example.org
focus watch preview 足球
# For cron, every five minutes; cron's PATH is short, so give the path of focus:
#   */5 * * * *  FOCUS_SMTP_URL=… "$HOME/.local/bin/focus" watch run
