"""What the accuracy tables share: choosing C, figures with intervals, paired tests, where a gain comes from."""
