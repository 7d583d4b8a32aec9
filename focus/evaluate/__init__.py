"""Which strategy finds the pages about a topic soonest? Many crawls of one recorded web."""
