"""One page with twelve attention matrices, drawn either way."""
