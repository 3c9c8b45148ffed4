"""What saved models answer, as plain values: shared by the command line and the service."""
