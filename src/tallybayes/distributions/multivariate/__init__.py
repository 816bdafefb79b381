"""Gaussians with covariances: statistics, shrinkage, marginals, leave-one-out."""
