"""Reports: bundles in, pages out.

Data flows one way: :mod:`~wayproof.bundles.reader` (files → records), the views (records →
numbers to show), :mod:`~wayproof.report.page` (numbers → HTML). Arithmetic never happens in
a template or in the page's script. Only the files of a bundle are read, never the rooms
that wrote them.
"""
