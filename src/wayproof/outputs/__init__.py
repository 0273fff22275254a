"""Results and comparisons as files that other tools read: Markdown, JUnit, CSV, JSON."""
