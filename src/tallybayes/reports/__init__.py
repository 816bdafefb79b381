"""A fitted model as one HTML file: what it learned, how good it is, and what if. Stands on `predictor_`."""

from tallybayes.reports.html_report import Report, page, report

__all__ = ["Report", "page", "report"]
