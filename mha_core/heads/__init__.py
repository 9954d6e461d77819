"""What the heads of a model do: measures, roles, evidence."""
