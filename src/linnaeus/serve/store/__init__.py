"""What a service remembers: documents of a queue, verdicts, users and jobs, in SQLite or PostgreSQL."""
