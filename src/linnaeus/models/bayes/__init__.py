"""Bayesian models: hierarchical priors whose strength is learned, posteriors instead of points."""
