"""The page of a report, and the files beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from conduit.seeing.pictures import Page, draw_svg
from conduit.seeing.report.advice import Advice, advice, stands_still
from conduit.seeing.report.drawings import CAPTIONS, PARTS, PICTURES, account_row, drawings
from conduit.seeing.report.observer import ReportRecording
from conduit.seeing.report.profile import Profile, profile
from conduit.words import many

_MOST = 20
"""Lines of the program that the page shows."""

PAGE = "report.html"
FILES = (PAGE, *(f"{name}.svg" for name in PICTURES))
"""What files of a report are called."""


def write_report(recording: ReportRecording, folder: Path, program: str) -> list[Advice]:
    """Write the report of a job that is over: report.html, which needs nothing but itself, and its pictures as SVG.

    Args:
        recording: the job.
        folder: where to; it exists.
        program: what ran.

    Returns:
        What the report begins with.

    Raises:
        OSError: a file cannot be written.
    """
    found = profile(recording)
    told = advice(recording, found)
    page = Page(f"{program} on {recording.conduit}")
    _first_screen(page, recording, found, told)
    drawn = drawings(recording, found)
    for picture in drawn:
        svg = draw_svg(picture)
        (folder / f"{picture.name}.svg").write_bytes(svg)
        page.picture(svg, picture.title, CAPTIONS.get(picture.name, ""))
    for name in set(PICTURES).difference(picture.name for picture in drawn):
        (folder / f"{name}.svg").unlink(missing_ok=True)  # of an earlier report in this folder
    _tables(page, recording, found)
    (folder / PAGE).write_text(page.html(), encoding="utf-8", errors="backslashreplace")  # of names that are no UTF-8
    return told


def _first_screen(page: Page, recording: ReportRecording, found: Profile, told: Sequence[Advice]) -> None:
    if recording.failure is not None:
        page.failure(recording.failure.text)
    ended = "failed" if recording.failed else "ended well"
    operations = len(found.native) + len(found.signals)
    native = f" and {many(operations, 'native operation')}" if operations else ""
    time = "real" if recording.in_real_time else "virtual"
    page.text(
        f"{many(found.ranks, 'rank')}, {found.length / 1e6:,.3f} µs of {time} time, {found.working / 1e6:,.3f} µs of "
        f"them after the start, {many(len(found.lives) + len(found.library), 'message')}{native}; the job {ended}."
    )
    if recording.in_real_time:
        page.text(_of_real_time(recording))
    if told:
        page.warnings((each.what, each.remedy) for each in told)
    else:
        page.text(unadvised(recording, found))


def unadvised(recording: ReportRecording, found: Profile) -> str:
    """Return what is said where there is no advice: what was looked for, if anything was."""
    if stands_still(recording):
        return "Nothing else was looked for: where the time went follows from that standstill."
    looked_for = f"no {_looked_for(recording, found)}"
    if recording.failed:
        return f"Before it failed, nothing stood out in where its time went: {looked_for}."
    return f"Nothing stands out: {looked_for}."


def _looked_for(recording: ReportRecording, found: Profile) -> str:
    """Return what there is advice on, for such a program on such a network."""
    kinds = ["hot spots", "element-wise accesses", "uneven work"]
    if found.lives or not found.library:
        kinds += ["contended locks", "late polls", "full queues", "first contacts"]
        if recording.alignment > 1:
            kinds.append("unaligned payloads")
    elif not recording.in_real_time:
        kinds.append("first contacts")
    return f"{', '.join(kinds[:-1])} or {kinds[-1]}"


def _of_real_time(recording: ReportRecording) -> str:
    """Return what is to be known of a job whose ranks were processes."""
    said = [
        "The ranks were processes, and times are those of their clocks; what the operating system did meanwhile is in "
        "them. Only a simulation knows what links carry, where bytes land and a digest: there are no links here, and "
        "unaligned payloads were not looked for."
    ]
    if most := max(recording.clock_errors):
        said.append(f"Times of one rank may be wrong against those of another by {most / 1e6:,.1f} µs.")
    if recording.missing:
        several = "s" * (len(recording.missing) > 1)
        ranks = ", ".join(map(str, recording.missing))
        said.append(f"Nothing is known of rank{several} {ranks}: the process has ended without a word.")
    return " ".join(said)


def _tables(page: Page, recording: ReportRecording, found: Profile) -> None:
    _lines(page, found)
    page.heading("Figures")
    times = [(rank, *account_row(account)) for rank, account in enumerate(found.accounts)]
    page.table(("rank", *(f"{part} µs" for part in PARTS)), times, folded="Time of each rank")
    pairs = [(*way, found.messages[way], found.nbytes[way]) for way in sorted(found.messages)]
    _folded(page, "Messages between ranks", ("from", "to", "messages", "bytes"), pairs)
    sizes = [
        (level, nbytes, count, nbytes * count)
        for level, counts in found.sizes.items()
        for nbytes, count in sorted(counts.items())
    ]
    _folded(page, "Sizes at each level", ("level", "bytes", "count", "bytes in all"), sizes)
    links = [
        (use.name, use.busy / 1e6, 100 * use.busy / found.working, use.nbytes, use.transfers) for use in found.links
    ]
    titles = ("link or engine", "taken µs", "% of the time after the start", "bytes", "transfers")
    _folded(page, "Links and engines", titles, links)
    late = [(each.rank, each.messages, each.unpolled / 1e6, each.longest / 1e6, each.cost / 1e6) for each in found.late]
    who = "Ranks that seem to have polled late" if recording.in_real_time else "Ranks that polled late"
    _folded(page, who, ("rank", "messages", "computed µs", "longest µs", "cost others µs"), late)


def _lines(page: Page, found: Profile) -> None:
    page.heading("Lines of the program")
    if not found.lines:
        page.text("None of them waited or sent anything.")
        return
    page.text(
        "Of all ranks together: how often tasks waited at a line and how long, so that two ranks that wait at once "
        "count twice; the messages and native operations made there; their bytes and those of the replies."
    )
    titles = ("line", "waits", "waited µs, all ranks", "requests", "bytes")
    rows = [(use.place, use.waits, use.waited / 1e6, use.requests, use.nbytes) for use in found.lines]
    page.table(titles, rows[:_MOST])
    _folded(page, f"{len(rows) - _MOST} further lines", titles, rows[_MOST:])


def _folded(page: Page, what: str, titles: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Add a closed table, unless there is nothing in it."""
    if rows:
        page.table(titles, rows, folded=what)
