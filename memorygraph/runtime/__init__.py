"""What executes programs: their scopes and values, the tools they may use, and the record of each run."""
