"""What users call: estimators and what is around them."""
