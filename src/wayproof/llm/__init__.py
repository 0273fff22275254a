"""Language models as agents, through Inspect (extra ``inspect``).

:mod:`wayproof.llm.dialogue` holds the words and how answers are read,
:mod:`wayproof.llm.task` the task ``wayproof/wfrb``, and :mod:`wayproof.llm.log` makes a
bundle of a finished log. This module imports nothing.
"""
