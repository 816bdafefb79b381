"""How good a model is: scores, baselines, assumptions, comparison, and its discriminative counterpart."""
