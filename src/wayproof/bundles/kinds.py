"""The kinds of bundles: one row a kind.

Writer, reader, ``verify``, reports and the command line know a kind by its row alone. What
a row names as ``module:function`` is imported when it is first asked for, here and nowhere
else, so that this room depends on none of the rooms above it.
"""

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

from wayproof.bundles.manifest import Manifest
from wayproof.errors import InputError
from wayproof.evidence import fitness_names, private_names, recovery_names, rejection_names

__all__ = [
    "KINDS",
    "REPORT_KIND",
    "BundleFile",
    "BundleKind",
    "CheckReport",
    "CheckRequest",
    "kind_of",
    "load",
]

REPORT_KIND: Final = "report"


class BundleFile(NamedTuple):
    """A file that a kind's bundles hold.

    Attributes
    ----------
    name
        Its name, or a pattern such as ``*.html``.
    left_out_by
        The setting that, when true, says that the bundle was made without it; None: every
        bundle of the kind has it.
    record
        ``module:Type`` of each line of a ``.jsonl`` file, or of the whole of another; None
        where no one type describes it.
    """

    name: str
    record: str | None = None
    left_out_by: str | None = None

    def is_in(self, settings: Mapping[str, Any]) -> bool:
        """Tell whether a bundle made with ``settings`` has this file."""
        return self.left_out_by is None or settings.get(self.left_out_by) is not True


class BundleKind(NamedTuple):
    """What a kind of bundle is.

    Attributes
    ----------
    name
        The manifest's ``kind``.
    files
        What its bundles hold beside the manifest, and nothing else.
    checker
        ``module:function``, called with (folder, manifest, :class:`CheckRequest`). It checks
        what the kind's files say beyond their digests and returns a :class:`CheckReport`,
        or raises :class:`~wayproof.errors.IntegrityError`.
    source_roles
        Inputs that ``verify`` and ``report`` can be given beside the bundle, by the roles
        that the manifest names them under.
    page_maker
        ``module:function``, called with (bundle, sources, place, may_page); it yields the
        pages of a report. None: the kind has no page.
    comparison
        ``module:function``, called with (base, new, request); it compares two bundles of the
        kind. None: they can't be compared.
    """

    name: str
    files: tuple[BundleFile, ...]
    checker: str
    source_roles: tuple[str, ...] = ()
    page_maker: str | None = None
    comparison: str | None = None

    def file(self, name: str) -> BundleFile | None:
        """Return the row of the file ``name``; None when the kind has no such file."""
        return next((file for file in self.files if fnmatchcase(name, file.name)), None)


class CheckRequest(NamedTuple):
    """What a check is given beside the bundle.

    Attributes
    ----------
    sources
        The inputs that the bundle was made from, by role, to make it again and compare.
    progress
        Called now and then with (done, in all).
    logs
        Logs that the bundle was made from: any number of files and folders.
    trust
        Public keys, or the files that hold them, by the role that they are trusted in. Kinds
        without signatures have no use for them.
    """

    sources: Mapping[str, Path] = {}
    progress: Callable[[int, int], None] = lambda _done, _total: None
    logs: tuple[str | Path, ...] = ()
    trust: Mapping[str, str] = {}


class CheckReport(NamedTuple):
    """What a check found to hold.

    Attributes
    ----------
    findings
        What was checked and what was not, a sentence each.
    verdict
        The last word: ``verified``, or what that is limited to.
    own_words
        What the bundle says of itself and nobody checked: shown as its words.
    checked_signatures
        Names of the detached signatures that were checked.
    is_whole
        False where something that the verdict names keeps it from being relied on, such as
        signers that nobody vouched for.
    """

    findings: tuple[str, ...]
    verdict: str
    own_words: tuple[str, ...] = ()
    checked_signatures: tuple[str, ...] = ()
    is_whole: bool = True


_SIGNED_FILES: Final = (
    BundleFile(private_names.AGREEMENT_NAME),
    BundleFile(private_names.STARTS_PATTERN, record="wayproof.evidence.private_records:Start"),
    BundleFile(private_names.RESULT_NAME, record="wayproof.evidence.private_records:PrivateResult"),
)
"""What a private run and a disclosed trial of it both hold: the papers that were signed."""

KINDS: Final[dict[str, BundleKind]] = {
    kind.name: kind
    for kind in (
        BundleKind(
            fitness_names.BUNDLE_KIND,
            files=(
                BundleFile(
                    fitness_names.RESULTS_NAME,
                    record="wayproof.evidence.fitness_records:TaskResult",
                    left_out_by="summary_only",
                ),
                BundleFile(
                    fitness_names.DEBTS_NAME,
                    record="wayproof.evidence.fitness_records:Debt",
                    left_out_by="summary_only",
                ),
                BundleFile(fitness_names.SUMMARY_NAME),
            ),
            checker="wayproof.fitness.check_bundle:check",
            source_roles=("tasks", "packets"),
            page_maker="wayproof.report.fitness_page:pages_of",
            comparison="wayproof.compare.fitness:compare_fitness",
        ),
        BundleKind(
            fitness_names.PART_KIND,
            files=(
                BundleFile(fitness_names.PART_LINES_NAME),
                BundleFile(fitness_names.PART_RECORDS_NAME),
            ),
            checker="wayproof.fitness.parts:check",
        ),
        BundleKind(
            recovery_names.BUNDLE_KIND,
            files=(
                BundleFile(
                    recovery_names.RESULTS_NAME, record="wayproof.evidence.recovery_records:Result"
                ),
                BundleFile(recovery_names.SUITE_NAME),
                BundleFile(recovery_names.SUMMARY_NAME),
                BundleFile(
                    recovery_names.TRACES_NAME, record="wayproof.evidence.recovery_records:Trace"
                ),
            ),
            checker="wayproof.recovery.check_bundle:check",
            page_maker="wayproof.report.recovery_page:pages_of",
            comparison="wayproof.compare.recovery:compare_recovery",
        ),
        BundleKind(
            recovery_names.PART_KIND,
            files=(
                BundleFile(recovery_names.GRIDS_NAME),
                BundleFile(recovery_names.RESULTS_NAME),
                BundleFile(recovery_names.SUITE_NAME),
                BundleFile(recovery_names.TRACES_NAME),
            ),
            checker="wayproof.recovery.parts:check",
        ),
        BundleKind(
            recovery_names.SUITE_PART_KIND,
            files=(BundleFile(recovery_names.GRIDS_NAME), BundleFile(recovery_names.SUITE_NAME)),
            checker="wayproof.recovery.parts:check",
        ),
        BundleKind(
            rejection_names.BUNDLE_KIND,
            files=(
                BundleFile(
                    rejection_names.EPISODES_NAME,
                    record="wayproof.evidence.rejection_records:Episode",
                ),
                BundleFile(
                    rejection_names.SESSIONS_NAME,
                    record="wayproof.evidence.rejection_records:SessionRecord",
                ),
                BundleFile(
                    rejection_names.SUMMARY_NAME,
                    record="wayproof.evidence.rejection_records:Summary",
                ),
            ),
            checker="wayproof.rejections.check_bundle:check",
            source_roles=("logs",),
            page_maker="wayproof.report.rejection_page:pages_of",
            comparison="wayproof.compare.rejections:compare_rejections",
        ),
        BundleKind(
            private_names.PRIVATE_KIND,
            files=(
                *_SIGNED_FILES,
                BundleFile(
                    private_names.LEAVES_NAME, record="wayproof.evidence.private_records:Leaf"
                ),
                BundleFile(
                    recovery_names.RESULTS_NAME, record="wayproof.evidence.recovery_records:Result"
                ),
                BundleFile(recovery_names.SUMMARY_NAME),
                BundleFile(
                    recovery_names.TRACES_NAME,
                    record="wayproof.evidence.recovery_records:Trace",
                    left_out_by="records_only",
                ),
            ),
            checker="wayproof.private.check_bundle:check",
            page_maker="wayproof.report.private_page:pages_of",
        ),
        BundleKind(
            private_names.TRIAL_KIND,
            files=(
                *_SIGNED_FILES,
                BundleFile(
                    private_names.TRIAL_NAME,
                    record="wayproof.evidence.private_records:PrivateTrial",
                ),
            ),
            checker="wayproof.private.check_bundle:check_trial",
            page_maker="wayproof.report.private_page:pages_of",
        ),
        BundleKind(
            REPORT_KIND,
            files=(BundleFile("*.html"),),
            checker="wayproof.web.check_bundle:check",
        ),
    )
}


def kind_of(manifest: Manifest, folder: Path) -> BundleKind:
    """Return the row of a bundle's kind.

    Raises
    ------
    InputError
        When there is none: this version doesn't know the kind.
    """
    kind = KINDS.get(manifest.kind)
    if kind is None:
        raise InputError(
            "unknown kind of bundle",
            file=str(folder),
            field="kind",
            expected=" or ".join(sorted(KINDS)),
            found=manifest.kind,
        )
    return kind


def load(place: str) -> Any:
    """Import what a row names as ``module:name``."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
