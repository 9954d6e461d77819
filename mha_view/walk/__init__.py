"""What serves the pages that walk through the layer."""
