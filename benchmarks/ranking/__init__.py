"""Experiments with ranking models beside the tables of Cai's thesis; run by ``accuracy_ranking``."""
