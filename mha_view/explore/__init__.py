"""The pages that explore what heads do."""
