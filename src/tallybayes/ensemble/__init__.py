"""The inside of BayesClassifier: one file per component, and the stacking that combines them.

layout               which components a table gets, with their bins, parents and splits (low_discrepancy, row_sample)
networks, naive      generative components, from counts
target_encoding      smoothed target encoding, from counts
gaussian_copula      Gaussian discriminant on normal scores, from moments
class_trees          oblivious trees for P(class | x)
neighbors            k-nearest neighbours in the row sample
boosting             gradient-boosted oblivious trees on the residuals of the stack
text_component       weights of text columns beside the others
fitting, stacking    what is chosen by leave-one-out, and the stacking weights
ensemble_…           the distribution that holds all of this, its statistics and its summary
missing_values, validation
"""
