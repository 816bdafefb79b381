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

To add a component:

1. A file here that begins with the method and its paper. One that is fitted on the row sample goes as `neighbors.py`,
   one that is counted as `target_encoding.py`.
2. `layout.py` says which tables get it, `fitting.py` tunes it and fills its meta-features, `ensemble_distribution.py`
   scores it (`scores`, `terms`), `ensemble_statistics.py` holds its record, `stacking.py` its penalty (`BY_COMPONENT`,
   `nonnegative`), `validation.py` checks it in a file (`NAMES`), `ensemble_summary.py` describes it.
3. `estimators/bayes_classifier.py` has its name in `PARTS` and `EFFORTS`.
4. Exports: `ensemble_export.py`, `export/ensemble.js`, `export/onnx_ensemble.py`, `engines/sql/sql_ensemble.py`; the
   version of the model file in `io/container.py`.
5. Tests: an oracle, and `all_components` in `tests/every_estimator.py`.
"""
