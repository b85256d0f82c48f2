"""The tables of the page: what works, by lane and dtype, and by what is particular about cases."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from opspec.conformance.report import CaseResult, Report
from opspec.conformance.reports.cell import Cell, cell, dtype_of, lane_order

PADDINGS = ("SAME", "VALID")
ANY_DTYPE = "any dtype"


@dataclass(frozen=True, slots=True)
class Row:
    """One backend's row in a group of rows about the same.

    Parameters
    ----------
    group, backend
        What the group is about, and whose row it is.
    starts_group
        Whether it is the first of its group.
    cells
        One for each column.
    """

    group: str
    backend: str
    starts_group: bool
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """A table of cells.

    Parameters
    ----------
    title
        What it is about.
    corner
        What the groups of rows are.
    columns
        The heads of the columns.
    rows
        Its rows.
    """

    title: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def lanes_by_dtype(reports: Sequence[Report]) -> Iterator[Matrix]:
    """Yield for each operation a matrix of dtypes and lanes; in each dtype a row per backend."""
    for operation in sorted({r.operation for report in reports for r in report.results}):
        chosen = [[r for r in report.results if r.operation == operation] for report in reports]
        every = [result for results in chosen for result in results]
        lanes = sorted({result.lane for result in every}, key=lane_order)
        dtypes = sorted({dtype_of(result) for result in every}, key=_by_kind_and_width)
        groups = (
            (dtype or ANY_DTYPE, [_of_dtype(results, dtype) for results in chosen])
            for dtype in dtypes
        )
        rows = _rows(reports, groups, lambda result: result.lane, lanes)
        yield Matrix(operation, "dtype", tuple(lanes), tuple(rows))


def features_by_dtype(reports: Sequence[Report]) -> Matrix:
    """Return a matrix of features and dtypes; in each feature a row per backend."""
    every = [result for report in reports for result in report.results if result.demand]
    names = sorted({name for result in every for name in features_of(result)}, key=_by_importance)
    dtypes = sorted({dtype_of(result) for result in every}, key=_by_kind_and_width)
    groups = (
        (name, [[r for r in report.results if name in features_of(r)] for report in reports])
        for name in names
    )
    rows = _rows(reports, groups, dtype_of, dtypes)
    return Matrix("Features", "feature", tuple(dtypes), tuple(rows))


def features_of(result: CaseResult) -> tuple[str, ...]:
    """Return what is particular about a case: data format with padding, then all the rest."""
    if result.demand is None:
        return ()
    data_format = result.demand.data_format
    paddings = [name for name in result.features if name in PADDINGS]
    found = [" ".join([data_format, *paddings])]
    found += ["dilated"] * result.demand.dilated + ["empty"] * result.demand.empty
    known = {data_format, *PADDINGS, *found}
    return tuple(found + [name for name in result.features if name not in known])


def _rows(
    reports: Sequence[Report],
    groups: Iterable[tuple[str, list[list[CaseResult]]]],
    column_of: Callable[[CaseResult], str],
    columns: Sequence[str],
) -> Iterator[Row]:
    for name, chosen in groups:
        for number, (report, results) in enumerate(zip(reports, chosen, strict=True)):
            cells = tuple(
                cell((r for r in results if column_of(r) == column), strict=report.strict)
                for column in columns
            )
            yield Row(name, report.backend, number == 0, cells)


def _of_dtype(results: Iterable[CaseResult], dtype: str) -> list[CaseResult]:
    return [result for result in results if dtype_of(result) == dtype]


def _by_kind_and_width(dtype: str) -> tuple[bool, int, str]:
    """Sort narrow dtypes before wide ones, and cases without a dtype last."""
    width = int("".join(filter(str.isdigit, dtype)) or 0)
    return (not dtype, width, dtype)


def _by_importance(feature: str) -> tuple[bool, bool, str]:
    is_layout = any(feature.startswith(prefix) for prefix in ("NDHWC", "NCDHW"))
    return (not is_layout, feature not in ("dilated", "empty"), feature)
