"""What ``import wayproof`` offers: typed functions over the rooms, for scripts and notebooks.

Values come in as Python has them (paths, dicts, records, numbers of NumPy), and go out as
frozen records with the wire names. Everything raised on purpose is a
:class:`~wayproof.errors.WayproofError`.
"""
