"""Pages of HTML that need nothing but themselves: pictures are in the page, tables fold."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape

from conduit.seeing.pictures.table import Table

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #111; background: #fff; max-width: 76rem; margin: 2rem auto;
  padding: 0 1rem; }
h1 { font-size: 1.6rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin-top: 2.2rem; border-bottom: 1px solid #999; }
h3 { font-size: 1.05rem; margin-bottom: .3rem; }
figure { margin: 1rem 0; overflow-x: auto; } figure img { width: 100%; max-width: 70rem; height: auto; }
@media (max-width: 40rem) { figure img { width: auto; max-width: none; } }
figcaption { color: #333; max-width: 60rem; }
.wide { overflow-x: auto; }
details { margin: .6rem 0 1.2rem; } summary { cursor: pointer; }
table { border-collapse: collapse; margin: .6rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .15rem .7rem; border-bottom: 1px solid #ccc; text-align: left; vertical-align: top; }
th { border-bottom: 2px solid #333; } td.number, th.number { text-align: right; white-space: nowrap; }
pre, code { font: 13px/1.4 ui-monospace, monospace; } pre { background: #f4f4f4; padding: .6rem; white-space: pre-wrap;
  overflow-wrap: anywhere; }
pre.failure { border-left: .35rem solid #b00; background: #fdf1f0; }
ul.warnings { padding: 0; } ul.warnings li { list-style: none; border-left: .35rem solid #b00; background: #fdf1f0;
  margin: .6rem 0; padding: .5rem .8rem; overflow-wrap: anywhere; }
@media print { details { display: block; } body { max-width: none; } }
"""


class Page:
    """A page that grows from the top.

    Args:
        title: of the window, and the first heading.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._parts: list[str] = []

    def heading(self, text: str, level: int = 2) -> None:
        """Begin a part."""
        self._parts.append(f"<h{level}>{escape(text)}</h{level}>")

    def text(self, text: str) -> None:
        """Add a paragraph."""
        self._parts.append(f"<p>{escape(text)}</p>")

    def code(self, text: str) -> None:
        """Add lines as they stand, of a command or of a program."""
        self._parts.append(f"<pre>{escape(text)}</pre>")

    def failure(self, text: str) -> None:
        """Add what something has ended with before its time, lines as they stand."""
        self._parts.append(f'<pre class="failure">{escape(text)}</pre>')

    def warnings(self, warnings: Iterable[tuple[str, str]]) -> None:
        """Add what is wrong, each with what to do about it."""
        rows = [f"<li><strong>{escape(what)}</strong><br>{escape(remedy)}</li>" for what, remedy in warnings]
        self._parts.append('<ul class="warnings">\n' + "\n".join(rows) + "\n</ul>")

    def picture(self, svg: bytes, text: str, caption: str = "") -> None:
        """Add a picture.

        Args:
            svg: its file.
            text: what it shows, for who does not see it.
            caption: below it.
        """
        source = "data:image/svg+xml;base64," + b64encode(svg).decode()
        below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
        self._parts.append(f'<figure><img src="{source}" alt="{escape(text, quote=True)}">{below}</figure>')

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]], *, folded: str = "") -> None:
        """Add a table.

        Args:
            columns: titles.
            rows: cells; numbers are aligned to the right, None is an empty cell.
            folded: what a closed table is called; "": it is open.
        """
        self._parts.append(Table(tuple(columns), tuple(map(tuple, rows))).html(folded=folded))

    def html(self) -> str:
        """Return the whole page."""
        title = escape(self._title)
        body = "\n".join(self._parts)
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{body}\n</body>\n</html>\n"
        )
