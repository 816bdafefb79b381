"""The inside of BayesClassifier: one file per component, and the stacking that combines them.

layout               which components a table gets, with their bins, parents and splits (row_sample)
networks, naive      generative components, from counts
target_encoding      smoothed target encoding, from counts
gaussian_copula      Gaussian discriminant on normal scores, from moments
class_trees          oblivious trees for P(class | x)
neighbors            k-nearest neighbours in the row sample
boosting             gradient-boosted oblivious trees on the residuals of the stack
text_component       weights of text columns beside the others
fitting, stacking    what is chosen by leave-one-out, and the stacking weights
ensemble_…           the distribution that holds all of this, its statistics and its summary
canonical_order      columns, levels and classes by content, so that names and order do not matter
level_densities      P(level | class) of one column, for its information about the class
half_fits            the whole fit on halves of few rows: shrinkage, and the estimated loss
missing_values       rows with missing values where the sample had few
fixed_choices        memory='sums': what was chosen, kept without rows
validation           what a file may hold

To add a component:

1. A file here that begins with the method and its paper. One that is fitted on the row sample goes as `neighbors.py`,
   one that is counted as `target_encoding.py`, one from moments as `gaussian_copula.py`. Its meta-feature predicts each
   row of the sample without that row: in closed form, from rows that had no part in it (`class_trees.py`), or
   cross-fitted. Chance comes from the hashes of rows (`growing_half` in `class_trees.py`): their order does not matter.
2. `layout.py` says which tables get it (a field of `Recipe`), `fitting.py` tunes it and fills its meta-features
   (`OtherComponents` and its `in_class_order`, `leave_one_out`, `with_fixed_hyperparameters`),
   `ensemble_distribution.py` scores it (`scores`, `terms`), `ensemble_statistics.py` holds its record, `stacking.py`
   its penalty (`SINGLE_FEATURE`, `nonnegative`), `fixed_choices.py` keeps or refuses it without rows, `validation.py`
   checks it in a file (`COMPONENT_ORDER`), `ensemble_summary.py` describes it.
3. `estimators/bayes_classifier.py` has its name in `PARTS`, its field in the recipes of `EFFORTS`, in `_only` what
   `parts=` leaves of it, in `_recipe` whether memory='sums' has it, and in `_check_parts` what it refuses where no rows
   are kept. `subset_of_networks` of `ensemble_distribution.py` leaves it out of a single network.
4. Exports: `ensemble_export.py`, `export/ensemble.js`, `export/onnx_ensemble.py`, `engines/sql/sql_ensemble.py`; the
   version of the model file in `io/container.py`.
5. Tests: an oracle, `all_components` in `tests/every_estimator.py`, tests/laws/test_every_component_active.py,
   test_sums_of_an_ensemble.py and test_memory_guarantees.py.
6. docs/bayes-classifier.md, docs/stacked-ensemble.md, docs/model-json.md and the README.
"""
