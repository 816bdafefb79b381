"""What all tests share."""

from __future__ import annotations

import hypothesis

import tallybayes.utils.blas  # noqa: F401  # threadpool_limits reaches the core in tests that import nothing else

hypothesis.settings.register_profile("default", deadline=None, max_examples=40, derandomize=True)
hypothesis.settings.load_profile("default")
