"""Leave-one-out losses over a grid of options, from the statistics of one fit."""
