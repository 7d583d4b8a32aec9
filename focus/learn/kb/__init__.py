"""What is known about the things that pages speak of? Dumps read in, entities looked up."""
