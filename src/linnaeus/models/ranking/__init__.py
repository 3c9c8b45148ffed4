"""Models that rank classes by weights which classes share through their ancestors."""
