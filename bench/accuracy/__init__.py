"""How right the models are, and how well they know it: cross-validation beside peers, table by table."""
