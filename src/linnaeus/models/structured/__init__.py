"""Maximum-margin models of whole labellings."""
