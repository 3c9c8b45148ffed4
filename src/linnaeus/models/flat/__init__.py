"""Models that train every node alone: the baselines."""
