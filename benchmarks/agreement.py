"""Whether all peers computed the same, from a sample of each one's result."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from workload import Workload

FLOAT32_EPSILON = float(np.finfo(np.float32).eps)
# The distance from 1 to the next number: what one rounding of the result can cost.
EPSILONS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 0.0, "float64": 0.0}


def tolerance(workload: Workload) -> float:
    """Return how far two right values may be apart.

    Operands are drawn from the normal distribution, so a sum of K products is about sqrt(K), and
    adding them one by one in float32 errs by about a third of epsilon times K. Eight times epsilon
    times K is far from that, and far below what operands rounded to 10 bits would cost.

    In a 16-bit dtype opspec rounds once; TensorFlow also rounds what each tap adds. Values are up
    to four times sqrt(K), so sixteen times epsilon allows for some such roundings.
    """
    products = workload.products_per_value
    return 8 * FLOAT32_EPSILON * products + 16 * EPSILONS[workload.dtype] * math.sqrt(products)


def disagreements(workload: Workload, evidence: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return, for each peer whose result is not the others', in what it differs.

    A value is right if it is near the median of all peers' values: one wrong peer among three or
    more is found, and of two that differ both are named, since nobody can say which is right.

    Parameters
    ----------
    workload
        What they computed.
    evidence
        By peer, as `peer_process.evidence` returns it.
    """
    wrong = {}
    for peer, seen in evidence.items():
        if tuple(seen["shape"]) != workload.output_shape:
            wrong[peer] = f"its result has shape {tuple(seen['shape'])}"
    shaped = {peer: seen for peer, seen in evidence.items() if peer not in wrong}
    if not shaped:
        return wrong
    allowed = tolerance(workload)
    samples = {peer: np.asarray(seen["sample"], np.float64) for peer, seen in shaped.items()}
    middle = np.median(np.stack(list(samples.values())), axis=0)
    sums = {peer: float(seen["sum_of_absolutes"]) for peer, seen in shaped.items()}
    middle_sum = float(np.median(list(sums.values())))
    values = np.prod(workload.output_shape, dtype=float)
    for peer, sample in samples.items():
        distance = float(np.abs(sample - middle).max())
        mean_distance = abs(sums[peer] - middle_sum) / values
        # Written so that a NaN is a difference.
        if not (distance <= allowed and mean_distance <= allowed):
            wrong[peer] = (
                f"a value is {max(distance, mean_distance):.3g} away from the peers' median, "
                f"and {allowed:.3g} is allowed"
            )
    return wrong
