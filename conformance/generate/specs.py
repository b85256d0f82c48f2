"""The value cases: what each one is there to show. Only shapes and attributes; values are made.

No two extents that could be mistaken for each other are equal, unless the case is about that.
"""

from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal

LAYOUTS = ("NDHWC", "NCDHW")
PADDINGS = ("SAME", "VALID")
DTYPES = ("float16", "bfloat16", "float32", "float64")


@dataclass(frozen=True, kw_only=True)
class Spec:
    """A value case before it has values.

    Parameters
    ----------
    name, shows
        Its name and what it is there to show.
    lane
        "exact": whole numbers, bits must match. "bounded": zero-mean data.
    size
        Depth, height and width of the result.
    kernel, stride, dilation
        Of depth, height and width.
    batch, contracted, made
        Extents of batch, of the channels summed over and of the channels made.
    padding, data_format, dtype
        Attributes.
    public
        Which operation it calls.
    spelled
        Arguments to write in another legal spelling.
    special
        Values put into the first elements of data and filter.
    """

    name: str
    shows: str
    lane: Literal["exact", "bounded"] = "exact"
    size: tuple[int, int, int] = (9, 7, 11)
    kernel: tuple[int, int, int] = (3, 2, 4)
    stride: tuple[int, int, int] = (2, 1, 3)
    dilation: tuple[int, int, int] = (1, 1, 1)
    batch: int = 2
    contracted: int = 8
    made: int = 6
    padding: str = "SAME"
    data_format: str = "NDHWC"
    dtype: str = "float32"
    public: str = "Conv3DBackpropInputV2"
    spelled: dict[str, Any] = field(default_factory=dict)
    special: dict[str, float] = field(default_factory=dict)


def value_specs() -> list[Spec]:
    """Return every value case."""
    return [
        *_crossed(),
        *_dilated(),
        *_legal_sizes(),
        *_paddings(),
        *_kernels_and_strides(),
        *_channels_and_batches(),
        *_empties(),
        *_special_values(),
        *_spellings(),
        *_bounded(),
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
            name="float16-overflows-to-inf",
            shows="a sum beyond 65504 is inf, rounded once at the end",
            dtype="float16",
            special={"data": 60000.0, "filter": -3.0},
            **common,
        ),
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
            shows="27 taps over 512 channels: lower precision inside shows",
            lane="bounded",
            size=(3, 3, 3),
            kernel=(3, 3, 3),
            stride=(1, 1, 1),
            batch=1,
            contracted=512,
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
    return crossed + long + dilated
