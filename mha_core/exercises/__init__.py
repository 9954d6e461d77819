"""Small exercises with hand-sized numbers, made anew by a seed, and marked."""
