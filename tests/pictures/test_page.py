"""Pages: escaped, whole by themselves, with tables that fold."""

from html.parser import HTMLParser

from conduit.seeing.pictures import Page


class Reader(HTMLParser):
    """Collects the texts of a page, and what it would load."""

    def __init__(self):
        super().__init__()
        self.open, self.texts, self.loads = [], [], []

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)
        self.loads += [value for name, value in attributes if name in ("src", "href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if data.strip() and "style" not in self.open:
            self.texts.append((self.open[-1], data))


def read(page):
    reader = Reader()
    reader.feed(page.html())
    assert reader.open == []
    return reader


def test_texts_are_escaped():
    page = Page("a < b & c")
    page.text("<script>")
    page.code("x & y")
    page.warnings([("late <polls>", 'poll "more"')])
    page.picture(b"<svg/>", 'what "it" <shows>', "below & under")
    assert read(page).texts == [
        ("title", "a < b & c"),
        ("h1", "a < b & c"),
        ("p", "<script>"),
        ("pre", "x & y"),
        ("strong", "late <polls>"),
        ("li", 'poll "more"'),
        ("figcaption", "below & under"),
    ]


def test_a_page_loads_nothing():
    page = Page("it")
    page.picture(b"<svg xmlns='http://www.w3.org/2000/svg'/>", "nothing")
    assert all(each.startswith("data:") for each in read(page).loads)
    assert "http" not in page.html()


def test_a_table_that_folds():
    page = Page("it")
    page.table(("name", "µs"), [("one", 1.23456), ("two", None), ("three", 12345.6)], folded="All (3)")
    texts = [text for _, text in read(page).texts[2:]]
    assert texts == ["All (3)", "name", "µs", "one", "1.235", "two", "three", "12,346"]
    assert page.html().count("<td class=number>") == 3
    assert "<details><summary>" in page.html()


def test_a_table_without_rows():
    page = Page("it")
    page.table(("name", "µs"), [])
    assert [text for _, text in read(page).texts[2:]] == ["name", "µs"]
