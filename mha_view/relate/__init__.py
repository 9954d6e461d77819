"""What the pages that relate the layer to real models are made of."""
