"""What can be typed? The commands of `focus` and their options, without any logic."""
