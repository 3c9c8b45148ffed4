"""Models that decide at every node among what is below it, and answer from the top downwards."""
