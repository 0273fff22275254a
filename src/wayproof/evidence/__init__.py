"""The records and names that several rooms share: types and words, nothing is computed here."""
