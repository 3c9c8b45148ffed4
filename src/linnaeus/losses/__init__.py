"""What training minimises (losses) and what a mistake costs on the taxonomy (costs)."""
