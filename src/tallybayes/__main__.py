"""`python -m tallybayes`."""

from tallybayes.cli import main

main()
