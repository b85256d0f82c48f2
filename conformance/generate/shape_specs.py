"""Value cases about where things go: layouts, paddings, kernels, strides, dilations, sizes.

No two extents that could be mistaken for each other are equal, unless the case is about that.
"""

from itertools import product

from opspec.conformance.generate.specs import DTYPES, LAYOUTS, PADDINGS, Spec


def shape_specs() -> list[Spec]:
    """Return the cases about places."""
    return [
        *_crossed(),
        *_dilated(),
        *_legal_sizes(),
        *_kernels_and_strides(),
        *_steps(),
        *_kernel_sizes(),
        *_popular(),
    ]


def _crossed() -> list[Spec]:
    return [
        Spec(
            name=f"{layout}-{padding}-{dtype}".lower(),
            shows="layout, padding and dtype with three strides and three kernel sizes",
            size=(5, 4, 6),
            kernel=(2, 3, 4),
            stride=(2, 1, 3),
            contracted=5,
            made=3,
            padding=padding,
            data_format=layout,
            dtype=dtype,
        )
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
            dtype=dtype,
        )
        for layout, padding, dtype in (
            ("NDHWC", "SAME", "float16"),
            ("NDHWC", "VALID", "bfloat16"),
            ("NCDHW", "VALID", "float64"),
        )
    ]
    cases.append(
        Spec(
            name="dilation-shares-a-factor-with-stride",
            shows="stride 2 with dilation 2, 4 with 2, 2 with 3: some phases get no tap at all",
            size=(9, 10, 8),
            kernel=(3, 2, 3),
            stride=(2, 4, 2),
            dilation=(2, 2, 3),
            padding="VALID",
            public="conv3d_transpose",
        )
    )
    cases.append(
        Spec(
            name="dilation-beyond-the-size",
            shows="taps further apart than 16 bits count: only some of them ever land inside",
            size=(4, 5, 6),
            kernel=(3, 3, 3),
            stride=(1, 2, 1),
            dilation=(5, 3, 65_537),
        )
    )
    return cases


def _legal_sizes() -> list[Spec]:
    return [
        Spec(
            name=f"same-size-{size}-of-two-windows",
            shows="sizes 4, 5 and 6 have 2 windows with stride 3: values shift with the size",
            size=(size, 4, 3),
            kernel=(4, 2, 1),
            stride=(3, 2, 1),
            batch=3,
            contracted=13,
            public="conv3d_transpose",
        )
        for size in (5, 6)
    ]


def _kernels_and_strides() -> list[Spec]:
    one = (1, 1, 1)
    return [
        Spec(
            name="kernel-1-ncdhw",
            shows="a product over channels, channels second",
            size=(3, 5, 4),
            kernel=one,
            stride=one,
            batch=1,
            contracted=3,
            made=2,
            data_format="NCDHW",
        ),
        Spec(
            name="stride-1-dilated",
            shows="taps apart, positions side by side",
            size=(4, 5, 3),
            kernel=(2, 3, 1),
            stride=one,
            dilation=(3, 2, 1),
            contracted=3,
            made=4,
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
            name="long-kernel",
            shows="more taps along a dimension than any unrolled loop has",
            size=(2, 3, 20),
            kernel=(1, 2, 18),
            stride=(1, 1, 1),
            batch=1,
            contracted=2,
            made=3,
        ),
        Spec(
            name="long-depth-and-height",
            shows="one more than tiles of 64 take, along depth and height",
            size=(65, 67, 2),
            kernel=(2, 3, 1),
            stride=(1, 1, 1),
            batch=1,
            contracted=2,
            made=1,
        ),
        Spec(
            name="long-width",
            shows="more places along a dimension than 16 bits count",
            size=(1, 2, 65_650),
            kernel=(1, 1, 3),
            stride=(1, 1, 41),
            batch=1,
            contracted=1,
            made=1,
            dtype="float16",
        ),
    ]


def _steps() -> list[Spec]:
    """Every stride and dilation of a dimension that kernels are likely to know by name."""
    return [
        Spec(
            name=f"strides-{'-'.join(map(str, strides))}-dilations-{'-'.join(map(str, dilations))}",
            shows="strides and dilations that no smaller case has together",
            size=_several_windows(strides, dilations),
            kernel=(2, 3, 2),
            stride=strides,
            dilation=dilations,
            batch=1,
            contracted=2,
            made=3,
        )
        for strides, dilations in (
            ((1, 2, 3), (4, 4, 2)),
            ((2, 4, 3), (5, 1, 3)),
            ((3, 4, 5), (4, 3, 2)),
            ((3, 4, 5), (5, 4, 3)),
            ((5, 4, 8), (4, 5, 1)),
            ((8, 5, 8), (3, 5, 2)),
            ((1, 8, 8), (5, 4, 5)),
        )
    ]


def _several_windows(
    strides: tuple[int, int, int], dilations: tuple[int, int, int]
) -> tuple[int, int, int]:
    """Return sizes of two or three windows, in which the last of two or three taps lands."""
    depth, height, width = (
        2 * stride + dilation + number
        for number, (stride, dilation) in enumerate(zip(strides, dilations, strict=True))
    )
    return depth, height, width


def _kernel_sizes() -> list[Spec]:
    return [
        Spec(
            name=f"kernel-{'-'.join(map(str, kernel))}",
            shows="kernel sizes from 6 to 9, each once in every dimension",
            size=(6, 7, 5),
            kernel=kernel,
            stride=(1, 2, 1),
            batch=1,
            contracted=2,
            made=1,
        )
        for kernel in ((7, 6, 9), (6, 9, 8), (9, 8, 7), (8, 7, 6))
    ]


def _popular() -> list[Spec]:
    """Shapes that networks are full of, for which kernels have ways of their own."""
    one, two = (1, 1, 1), (2, 2, 2)
    return [
        Spec(
            name="upsampling-by-2",
            shows="kernel 2 and stride 2: blocks that touch",
            size=(4, 2, 6),
            kernel=two,
            stride=two,
            contracted=5,
            made=3,
            public="conv3d_transpose",
        ),
        Spec(
            name="kernel-3-stride-2-of-a-cube",
            shows="a cube of equal sizes, kernel 3 and stride 2",
            size=(4, 4, 4),
            kernel=(3, 3, 3),
            stride=two,
            contracted=9,
            made=7,
        ),
        Spec(
            name="kernel-5",
            shows="kernel 5 in all dimensions",
            size=(3, 4, 6),
            kernel=(5, 5, 5),
            stride=one,
            batch=1,
            contracted=2,
            made=3,
        ),
        Spec(
            name="kernel-1-stride-2",
            shows="values two apart, zeros between",
            size=(3, 5, 4),
            kernel=one,
            stride=two,
            contracted=3,
            made=5,
        ),
        Spec(
            name="channels-one-above-full-blocks",
            shows="129 and 17 channels: one more than blocks of 128, 16 or 8 take",
            size=(1, 3, 2),
            kernel=(1, 2, 1),
            stride=(1, 2, 1),
            contracted=17,
            made=129,
        ),
        Spec(
            name="channels-in-full-blocks",
            shows="128 and 64 channels: blocks of 128, 64, 32, 16 or 8 and nothing left over",
            size=(1, 3, 2),
            kernel=(1, 2, 1),
            stride=(1, 2, 1),
            contracted=64,
            made=128,
            largest=200,
        ),
    ]
