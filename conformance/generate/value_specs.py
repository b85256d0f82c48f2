"""Value cases about what is summed: channels, special values, precision, and large ones."""

from itertools import product
from typing import Any

from opspec.conformance.generate.specs import DTYPES, LAYOUTS, PADDINGS, Spec


def value_specs() -> list[Spec]:
    """Return the cases about sums."""
    return [
        *_channels_and_batches(),
        *_empties(),
        *_special_values(),
        *_subnormals(),
        *_spellings(),
        *_large(),
        *_bounded(),
    ]


def _channels_and_batches() -> list[Spec]:
    return [
        Spec(name="one-channel-each", shows="one channel in and out", contracted=1, made=1),
        Spec(name="one-contracted-channel", shows="nothing to sum over", contracted=1, made=5),
        Spec(name="one-made-channel", shows="a last layer", contracted=6, made=1),
        Spec(
            name="channels-beyond-a-vector",
            shows="channel counts just above 8 and 16, and not multiples of them",
            size=(3, 4, 2),
            kernel=(2, 1, 3),
            stride=(1, 2, 1),
            contracted=9,
            made=19,
        ),
        Spec(name="batch-5", shows="batch entries keep apart", batch=5, size=(3, 4, 6), made=2),
        Spec(
            name="batch-5-ncdhw",
            shows="batch entries keep apart, channels second",
            batch=5,
            size=(3, 4, 6),
            data_format="NCDHW",
        ),
    ]


def _empties() -> list[Spec]:
    return [
        Spec(name="batch-0", shows="an empty result of the right shape", batch=0),
        Spec(
            name="depth-0",
            shows="a spatial size of 0",
            size=(0, 7, 4),
            contracted=3,
            public="conv3d_transpose",
        ),
        Spec(name="zero-contraction", shows="a sum over no channels is 0", contracted=0),
        Spec(
            name="zero-contraction-ncdhw",
            shows="a sum over no channels is 0, channels second",
            contracted=0,
            data_format="NCDHW",
            dtype="float16",
        ),
    ]


def _special_values() -> list[Spec]:
    common: dict[str, Any] = {
        "size": (5, 6, 3),
        "kernel": (2, 2, 1),
        "stride": (3, 2, 1),
        "padding": "VALID",
    }
    return [
        Spec(
            name="inf-stays-with-its-taps",
            shows="an infinite voxel reaches just the positions of its taps; 0 * inf is NaN",
            special={"data": float("inf"), "filter": 0.0},
            **common,
        ),
        Spec(
            name="nan-stays-with-its-taps",
            shows="a NaN in the data reaches just the positions of its taps",
            special={"data": float("nan")},
            **common,
        ),
        Spec(
            name="nan-in-the-filter",
            shows="a NaN tap reaches one position of each block, in one channel",
            special={"filter": float("nan")},
            **common,
        ),
        Spec(
            name="nan-in-bfloat16",
            shows="a NaN is still one when it is rounded",
            dtype="bfloat16",
            special={"data": float("nan")},
            **common,
        ),
        Spec(
            name="minus-inf-in-float64",
            shows="an infinity keeps its sign",
            dtype="float64",
            special={"data": float("-inf"), "filter": 2.0},
            **common,
        ),
        Spec(
            name="float16-overflows-to-inf",
            shows="a sum beyond 65504 is inf, rounded once at the end",
            dtype="float16",
            special={"data": 60000.0, "filter": -3.0},
            **common,
        ),
    ]


def _subnormals() -> list[Spec]:
    """Multiples of the smallest number of a dtype: exact, unless something is flushed to zero."""
    smallest = {"float16": -24, "bfloat16": -133, "float32": -149, "float64": -1074}
    common: dict[str, Any] = {"size": (5, 3, 4), "kernel": (2, 1, 3), "stride": (1, 2, 1)}
    operands = [
        Spec(
            name=f"subnormal-operand-{dtype}",
            shows="an operand of multiples of the smallest number there is, none of them 0",
            dtype=dtype,
            exponents={role: exponent},
            **common,
        )
        for role, (dtype, exponent) in zip(
            ("data", "filter", "data", "filter"), smallest.items(), strict=True
        )
    ]
    results = [
        Spec(
            name=f"subnormal-result-{dtype}",
            shows="products of normal numbers that are multiples of the smallest number there is",
            dtype=dtype,
            exponents={"data": exponent // 2, "filter": exponent - exponent // 2},
            **common,
        )
        for dtype, exponent in smallest.items()
    ]
    return operands + results


def _large() -> list[Spec]:
    """Problems large enough for what kernels keep for large ones, in each of its variants."""
    many: dict[str, Any] = {"size": (7, 9, 8), "contracted": 35, "made": 26}
    thin: dict[str, Any] = {"size": (9, 8, 13), "contracted": 67, "made": 3, "kernel": (3, 4, 2)}
    few: dict[str, Any] = {
        "size": (3, 4, 2),
        "stride": (1, 2, 2),
        "kernel": (4, 2, 3),
        "contracted": 61,
        "made": 37,
        "batch": 1,
    }
    return [
        Spec(
            name=f"{name}-{layout}-{dtype}".lower(),
            shows=shows,
            dtype=dtype,
            data_format=layout,
            **sizes,
        )
        for name, shows, sizes in (
            ("many-channels", "blocks of channels and positions, full and partial", many),
            ("thin-result", "many channels in, few out: a last layer", thin),
            ("few-positions", "a large filter over few positions: a first layer", few),
        )
        for layout, dtype in product(LAYOUTS, DTYPES)
    ]


def _spellings() -> list[Spec]:
    public: dict[str, Any] = {"public": "conv3d_transpose", "size": (4, 6, 8), "kernel": (3, 1, 2)}

    def spelled(name: str, shows: str, stride: int, **spelling: Any) -> Spec:
        return Spec(
            name=f"spelled-{name}",
            shows=shows,
            stride=(stride, stride, stride),
            spelled=spelling,
            **public,
        )

    return [
        spelled("strides-as-integer", "one stride for three dimensions", 2, strides=2),
        spelled("strides-as-one", "a sequence of one stride", 2, strides=[2]),
        spelled("strides-as-three", "a stride for each dimension", 2, strides=[2, 2, 2]),
        spelled("strides-none", "None is 1", 1, strides=None),
        spelled("dilations-as-integer", "dilations spelled as one integer", 1, dilations=1),
        spelled("data-format-none", "None is NDHWC", 2, data_format=None),
    ]


def _bounded() -> list[Spec]:
    crossed = [
        Spec(
            name=f"{layout}-{padding}-{dtype}".lower(),
            shows="zero-mean data in layout, padding and dtype",
            lane="bounded",
            size=(7, 6, 9),
            kernel=(3, 4, 2),
            stride=(2, 1, 3),
            contracted=13,
            made=5,
            padding=padding,
            data_format=layout,
            dtype=dtype,
            public="conv3d_transpose" if padding == "SAME" else "Conv3DBackpropInputV2",
        )
        for layout in LAYOUTS
        for padding in PADDINGS
        for dtype in DTYPES
    ]
    long = [
        Spec(
            name=f"13824-terms-{dtype}",
            shows="24 taps over 576 channels: lower precision inside shows",
            lane="bounded",
            size=(5, 4, 3),
            kernel=(4, 3, 2),
            stride=(1, 1, 1),
            batch=1,
            contracted=576,
            made=2,
            dtype=dtype,
        )
        for dtype in DTYPES
    ]
    dilated = [
        Spec(
            name=f"dilated-{layout}".lower(),
            shows="zero-mean data, dilated",
            lane="bounded",
            size=(8, 7, 9),
            kernel=(2, 3, 2),
            stride=(1, 2, 1),
            dilation=(3, 2, 1),
            contracted=17,
            made=3,
            data_format=layout,
        )
        for layout in LAYOUTS
    ]
    large = [
        Spec(
            name=f"many-channels-{dtype}",
            shows="zero-mean data in blocks of channels and positions, full and partial",
            lane="bounded",
            size=(7, 5, 8),
            contracted=67,
            made=13,
            dtype=dtype,
        )
        for dtype in DTYPES
    ]
    return crossed + long + dilated + large
