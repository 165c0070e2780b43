"""What tests of pictures look at: where texts stand."""

import itertools

import pytest

from conduit.seeing.pictures.draw import figure


def _texts(drawn):
    """Yield each text that can be seen, with its box in points of the picture."""
    renderer = drawn.canvas.get_renderer()
    texts = list(drawn.texts)
    for legend in drawn.legends:
        texts += legend.get_texts()
    texts += [drawn._suptitle] if drawn._suptitle is not None else []
    for axes in drawn.axes:
        texts += [*axes.texts, axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            texts += [label for tick in ticks for label in (tick.label1, tick.label2)]
    for text in dict.fromkeys(texts):
        if text.get_visible() and text.get_text().strip():
            yield text.get_text(), text.get_window_extent(renderer)


@pytest.fixture
def overlaps():
    """Return which texts of a picture cover one another, or stand outside."""

    def found(picture):
        with figure(picture) as drawn:
            drawn.draw_without_rendering()
            boxes = list(_texts(drawn))
            width, height = drawn.bbox.width, drawn.bbox.height
        assert boxes
        outside = [
            text for text, box in boxes if box.x0 < 0 or box.y0 < 0 or box.x1 > width + 0.5 or box.y1 > height + 0.5
        ]
        pairs = [
            (one, other)
            for (one, box), (other, another) in itertools.combinations(boxes, 2)
            if min(box.x1, another.x1) - max(box.x0, another.x0) > 0.5
            and min(box.y1, another.y1) - max(box.y0, another.y0) > 0.5
        ]
        return outside + pairs

    return found
