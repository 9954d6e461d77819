"""What a person sees. Imports `mha_core`, never the other way round."""
