"""Value cases about what is summed: channels, empties, precision, and large problems."""

from itertools import product
from typing import Any, Literal

from opspec.conformance.generate.specs import DTYPES, LAYOUTS, Spec


def value_specs() -> list[Spec]:
    """Return the cases about sums."""
    return [
        *_channels_and_batches(),
        *_empties(),
        *_remembered(),
        *_products(),
        *_spellings(),
        *_large(),
        *_bounded(),
    ]


def _channels_and_batches() -> list[Spec]:
    return [
        Spec(
            name="batch-17",
            shows="one batch entry more than blocks of 16 or 8 take",
            size=(2, 1, 3),
            kernel=(1, 1, 2),
            stride=(1, 1, 1),
            batch=17,
            contracted=2,
            made=1,
        ),
        Spec(
            name="one-contracted-channel-ncdhw",
            shows="nothing to sum over, channels second",
            size=(3, 5, 4),
            stride=(1, 1, 1),
            contracted=1,
            made=5,
            data_format="NCDHW",
        ),
        Spec(
            name="one-made-channel-ncdhw",
            shows="a last layer, channels second",
            size=(3, 5, 4),
            stride=(1, 1, 1),
            contracted=6,
            made=1,
            data_format="NCDHW",
        ),
        Spec(
            name="made-channels-beyond-64",
            shows="more made channels than any panel has",
            size=(2, 3, 1),
            kernel=(1, 2, 1),
            stride=(1, 2, 1),
            contracted=3,
            made=67,
        ),
        Spec(
            name="equal-channels-in-16s",
            shows="as many channels on both sides, in full vectors, and a filter of two faces",
            size=(2, 3, 4),
            kernel=(1, 2, 3),
            stride=(2, 1, 3),
            contracted=16,
            made=16,
        ),
        Spec(
            name="channels-beyond-a-vector",
            shows="channel counts just above 8 and 16, and not multiples of them",
            size=(3, 4, 2),
            kernel=(2, 1, 3),
            stride=(1, 2, 1),
            contracted=9,
            made=19,
        ),
    ]


def _empties() -> list[Spec]:
    return [
        Spec(
            name="batch-0",
            shows="an empty result of the right shape and dtype",
            batch=0,
            dtype="float64",
        ),
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


def _remembered() -> list[Spec]:
    """Calls so alike that a kernel which remembers too little of one mistakes it for the other."""
    common: dict[str, Any] = {"size": (3, 4, 5), "kernel": (2, 3, 1), "stride": (1, 1, 1)}
    return [
        *(
            Spec(
                name=f"same-first-tap-{which}",
                shows="two filters of one shape that begin alike",
                contracted=1,
                made=1,
                special={"filter": 7.0},
                **common,
            )
            for which in ("once", "again")
        ),
        Spec(
            name="same-shapes-dilated",
            shows="the shapes of the two before, with another dilation",
            dilation=(2, 1, 1),
            contracted=1,
            made=1,
            **common,
        ),
    ]


def _products() -> list[Spec]:
    return [
        Spec(
            name="float16-products-beyond-float16",
            shows="products that float16 does not hold are summed before anything is rounded",
            dtype="float16",
            kernel=(1, 2, 1),
            stride=(1, 1, 2),
            contracted=2,
            made=3,
            batch=5,
            smallest=90,
            largest=120,
        )
    ]


def _large() -> list[Spec]:
    """Problems large enough for what kernels keep for large ones, in each of its variants."""
    many: dict[str, Any] = {"size": (7, 9, 8), "contracted": 35, "made": 26}
    thin: dict[str, Any] = {"size": (9, 8, 13), "contracted": 67, "made": 3, "kernel": (3, 4, 2)}
    few: dict[str, Any] = {
        "size": (3, 4, 3),
        "stride": (1, 2, 3),
        "kernel": (4, 2, 3),
        "contracted": 61,
        "made": 37,
        "batch": 1,
    }
    return [
        Spec(
            name="55-million-products",
            shows="more products than anything that is kept for small problems",
            size=(12, 13, 11),
            kernel=(5, 5, 5),
            stride=(1, 1, 1),
            contracted=16,
            made=16,
            batch=1,
        )
    ] + [
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
            lane="accept",
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
    long_lanes: tuple[tuple[Literal["bounded", "exact"], tuple[str, ...]], ...] = (
        ("bounded", DTYPES),
        # The bound does not see halves that are rounded again and again; equal bits do.
        ("exact", DTYPES[:2]),
    )
    crossed = [
        Spec(
            name="ncdhw-valid-float32",
            shows="zero-mean data, channels second",
            lane="bounded",
            size=(7, 6, 9),
            kernel=(3, 4, 2),
            stride=(2, 1, 3),
            contracted=13,
            made=5,
            padding="VALID",
            data_format="NCDHW",
        )
    ]
    long = [
        Spec(
            name=f"13824-terms-{dtype}",
            shows="24 taps over 576 channels: lower precision inside shows",
            lane=lane,
            size=(5, 4, 3),
            kernel=(4, 3, 2),
            stride=(1, 1, 1),
            batch=1,
            contracted=576,
            made=2,
            dtype=dtype,
        )
        for lane, dtypes in long_lanes
        for dtype in dtypes
    ]
    return crossed + long
