"""Leave-one-out losses over a grid of options, from the sums of one fit: of covariances (full), of variances (axes)."""
