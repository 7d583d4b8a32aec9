"""What stands in the database, and how is it read? The parts behind `focus.store`, and readers."""
