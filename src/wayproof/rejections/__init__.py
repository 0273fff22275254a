"""What happens after a rejected call in a log: recovered, at what cost, and how we know.

Deterministic: nothing is run, no model is asked. A watcher
(:mod:`~wayproof.rejections.episodes`) subscribes to capture's events beside the cutter of
routes. :mod:`~wayproof.rejections.strata` says what a result that is no success is, by the
tables in :mod:`~wayproof.rejections.phrases`; :mod:`~wayproof.rejections.calls` what a call is
about; :mod:`~wayproof.rejections.intent` whether two calls have the same goal;
:mod:`~wayproof.rejections.summary` counts. :func:`~wayproof.rejections.collect.watch_logs` reads
logs, :mod:`~wayproof.rejections.run` writes a bundle, :mod:`~wayproof.rejections.check_bundle`
checks one.

It is never pooled with the recovery benchmark: nobody injected these rejections, and neither
the world nor its optimum is known.
"""
