"""How fast tallybayes is, beside its peers and the machine's limit. Run it with `python -m bench`."""
