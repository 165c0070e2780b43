"""Jobs of a thousand ranks run when they are asked for: `pytest tests/hangs -m thousand`."""


def pytest_collection_modifyitems(config, items):
    if "thousand" not in config.option.markexpr:
        left_out = [item for item in items if item.get_closest_marker("thousand")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
