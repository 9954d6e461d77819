"""Small models of our own: the sentence model and the digits ViT, and their files."""
