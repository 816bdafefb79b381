"""What users call: estimators and what is around them."""

standalone = False  # no scikit-learn in this process: see contract.py
