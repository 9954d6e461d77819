"""The toy vocabulary, and the sentences the small model was trained on."""
