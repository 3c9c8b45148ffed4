"""The models: one file each, all scikit-learn estimators on a matrix X and a taxonomy."""
