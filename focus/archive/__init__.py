"""What do recorded webs look like on the disk? WARC files: read, indexed, written."""
