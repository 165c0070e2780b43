"""The conformance suite: the rules of ``docs/contract.md`` as tests that any conduit can be put to.

It is an installed pytest plugin that never loads itself.  ``conduit conform SPEC`` runs it, and so does a line in a
project's own settings of pytest::

    addopts = ["-p", "conduit.conformance.plugin"]

with ``conformance = ["loggp", "sci:slots=4"]`` beside it, or ``pytest --conduit SPEC`` by hand.  (Not as
``pytest_plugins`` in a ``conftest.py``: that is refused where the suite is installed below that file.)

Suites are found by the entry-point group ``conduit.conformance``: each entry names a package, and the test modules in
it are collected.  A check is a test function that takes the fixture ``case`` and cites what it checks with
``@pytest.mark.rule("R12")``; it runs once for each case of each spec.
"""
