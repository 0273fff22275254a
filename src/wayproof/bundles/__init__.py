"""Result folders: their manifest, how they are written whole, and what kinds there are."""
