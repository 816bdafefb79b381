"""A table as it comes: reading, column kinds, schema, labels, encoding."""
