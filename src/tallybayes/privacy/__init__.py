"""Statistics that leave a site: refused where a count is small, or with noise that gives differential privacy."""

from tallybayes.privacy.discrete_laplace import discrete_laplace
from tallybayes.privacy.private_counts import private_counts
from tallybayes.privacy.small_counts import check_counts, small_counts

__all__ = ["check_counts", "discrete_laplace", "private_counts", "small_counts"]
