"""What all tests share."""

from __future__ import annotations

import hypothesis

hypothesis.settings.register_profile("default", deadline=None, max_examples=40, derandomize=True)
hypothesis.settings.load_profile("default")
