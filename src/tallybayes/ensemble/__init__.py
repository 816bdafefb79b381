"""The inside of BayesClassifier: one file per component, and the stacking that combines them."""
