"""Gates for continuous integration: one line each, with value and bound."""
