"""A model as data: its terms and statistics (`fitted`), rows read for it (`rows`), predictions (`predictor`)."""
