"""Work on several processes, and work that is larger than memory."""
