"""Training the small models again, and in front of a visitor."""
