"""How cost grows: every estimator as one thing at a time gets larger, beside peers and the limit."""
