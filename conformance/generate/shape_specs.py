"""Value cases about where things go: layouts, paddings, kernels, strides, dilations, sizes.

No two extents that could be mistaken for each other are equal, unless the case is about that.
"""

from itertools import product
from typing import Any

from opspec.conformance.generate.specs import DTYPES, LAYOUTS, PADDINGS, Spec


def shape_specs() -> list[Spec]:
    """Return the cases about places."""
    return [
        *_crossed(),
        *_dilated(),
        *_legal_sizes(),
        *_paddings(),
        *_kernels_and_strides(),
    ]


def _crossed() -> list[Spec]:
    forms: tuple[dict[str, Any], ...] = (
        {"public": "Conv3DBackpropInputV2"},
        {
            "public": "conv3d_transpose",
            "size": (4, 5, 7),
            "kernel": (2, 3, 3),
            "stride": (1, 3, 2),
            "contracted": 4,
            "made": 3,
        },
    )
    return [
        Spec(
            name=f"{layout}-{padding}-{dtype}".lower(),
            shows="layout, padding and dtype with three strides and three kernel sizes",
            padding=padding,
            data_format=layout,
            dtype=dtype,
            **form,
        )
        for form in forms
        for layout, padding, dtype in product(LAYOUTS, PADDINGS, DTYPES)
    ]


def _dilated() -> list[Spec]:
    cases = [
        Spec(
            name=f"dilated-{layout}-{padding}".lower(),
            shows="a dilation of its own in every dimension",
            size=(7, 9, 5),
            kernel=(3, 3, 2),
            stride=(1, 2, 1),
            dilation=(2, 3, 1),
            padding=padding,
            data_format=layout,
        )
        for layout in LAYOUTS
        for padding in PADDINGS
    ]
    cases += [
        Spec(
            name=f"dilation-shares-a-factor-with-stride-{padding}".lower(),
            shows="stride 2 with dilation 2, 4 with 2, 2 with 3: some phases get no tap at all",
            size=(9, 10, 8),
            kernel=(3, 2, 3),
            stride=(2, 4, 2),
            dilation=(2, 2, 3),
            padding=padding,
            public="conv3d_transpose",
        )
        for padding in PADDINGS
    ]
    cases.append(
        Spec(
            name="dilation-beyond-the-size",
            shows="taps so far apart that only some of them ever land inside",
            size=(4, 5, 6),
            kernel=(3, 3, 2),
            stride=(1, 2, 1),
            dilation=(5, 3, 1000003),
        )
    )
    return cases


def _legal_sizes() -> list[Spec]:
    same = [
        Spec(
            name=f"same-size-{size}-of-two-windows",
            shows="every result size that has 2 windows with stride 3: values shift with the size",
            size=(size, 5, 3),
            kernel=(4, 2, 1),
            stride=(3, 2, 1),
            public="conv3d_transpose",
        )
        for size in (4, 5, 6)
    ]
    valid = [
        Spec(
            name=f"valid-size-{size}-of-two-windows",
            shows="every result size that has 2 windows with stride 3: a tail of zeros grows",
            size=(3, size, 5),
            kernel=(1, 2, 3),
            stride=(1, 3, 2),
            padding="VALID",
            public="conv3d_transpose",
        )
        for size in (5, 6, 7)
    ]
    return same + valid


def _paddings() -> list[Spec]:
    def along(axis: int, size: int, kernel: int, stride: int, shows: str) -> Spec:
        sizes, kernels, strides = [4, 3, 5], [1, 2, 1], [1, 1, 1]
        sizes[axis], kernels[axis], strides[axis] = size, kernel, stride
        letter = ["depth", "height", "width"][axis]
        return Spec(
            name=f"same-{letter}-size-{size}-kernel-{kernel}-stride-{stride}",
            shows=shows,
            size=(sizes[0], sizes[1], sizes[2]),
            kernel=(kernels[0], kernels[1], kernels[2]),
            stride=(strides[0], strides[1], strides[2]),
        )

    return [
        along(0, 6, 4, 1, "an even kernel pads 1 before and 2 after"),
        along(1, 6, 4, 1, "an even kernel pads 1 before and 2 after"),
        along(2, 6, 4, 1, "an even kernel pads 1 before and 2 after"),
        along(0, 6, 3, 2, "an odd kernel over an even size with stride 2 pads after only"),
        along(1, 7, 3, 2, "an odd kernel over an odd size with stride 2 pads both sides"),
        along(2, 8, 2, 1, "kernel 2 pads after only"),
    ]


def _kernels_and_strides() -> list[Spec]:
    one = (1, 1, 1)
    return [
        Spec(name="kernel-1", shows="a product over channels", kernel=one, stride=one),
        Spec(name="kernel-1-strided", shows="values a stride apart, zeros between", kernel=one),
        Spec(
            name="kernel-equals-stride",
            shows="blocks that touch and do not overlap",
            size=(4, 6, 3),
            kernel=(2, 3, 1),
            stride=(2, 3, 1),
        ),
        Spec(
            name="stride-1",
            shows="the gradient of the commonest convolution",
            kernel=(3, 3, 3),
            stride=one,
        ),
        Spec(
            name="stride-above-kernel-same",
            shows="padding is never negative: blocks start at position 0",
            size=(11, 13, 5),
            kernel=(2, 3, 1),
            stride=(6, 5, 4),
        ),
        Spec(
            name="stride-above-kernel-valid",
            shows="gaps between blocks, and a tail, are exactly 0",
            size=(12, 14, 6),
            kernel=(2, 3, 1),
            stride=(6, 5, 4),
            padding="VALID",
        ),
        Spec(
            name="kernel-above-size-same",
            shows="most taps land outside on both sides",
            size=(2, 3, 1),
            kernel=(5, 4, 3),
            stride=(1, 2, 1),
        ),
        Spec(
            name="kernel-above-size-valid",
            shows="no window fits: zero positions of data, a result of zeros",
            size=(2, 4, 5),
            kernel=(3, 2, 1),
            stride=(1, 2, 3),
            padding="VALID",
        ),
        Spec(
            name="size-1",
            shows="a single voxel in, a single voxel out",
            size=one,
            kernel=(2, 3, 1),
            stride=(2, 1, 3),
        ),
        Spec(
            name="one-voxel-to-a-block",
            shows="an impulse gives the filter as it stands, not flipped",
            size=(3, 4, 2),
            kernel=(3, 4, 2),
            stride=(5, 6, 7),
            batch=1,
            contracted=1,
            made=1,
            padding="VALID",
        ),
        Spec(
            name="anisotropic",
            shows="an up-convolution of thick slices: depth left alone",
            size=(3, 8, 10),
            kernel=(1, 2, 2),
            stride=(1, 2, 2),
            contracted=6,
            made=4,
            public="conv3d_transpose",
        ),
        Spec(
            name="long-width",
            shows="a size beyond any tile",
            size=(1, 2, 131),
            kernel=(1, 2, 5),
            stride=(1, 1, 2),
            batch=1,
        ),
    ]
