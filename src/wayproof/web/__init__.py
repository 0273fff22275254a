"""Pages that open from disk: modules joined, everything inlined, allowed by hash.

Shared by the report and the Explorer. Browsers refuse ES modules and external scripts over
``file:``, so :mod:`wayproof.web.join` turns modules into one classic script and
:mod:`wayproof.web.page` puts it into a page whose Content-Security-Policy names its hash.
"""
