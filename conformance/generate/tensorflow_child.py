"""TensorFlow in a child process, because some of the calls worth asking about kill it.

The parent sends pickled requests and gets pickled answers over pipes, each with its length in
front. A child that dies or takes too long is an outcome like any other; the next call starts anew.
This file is also the child's program, run by its path: TensorFlow's interpreter needs no opspec.
"""

import os
import pickle
import selectors
import signal
import struct
import subprocess
import sys
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any, BinaryIO, Literal, Self

import numpy as np

RAW_OPS = ("Conv3D", "Conv3DBackpropFilterV2", "Conv3DBackpropInputV2")
OPS = ("conv3d_transpose", *RAW_OPS)
START_TIMEOUT = 180.0
_LENGTH = struct.Struct("<Q")
_TENSORS = ("input", "filters", "filter", "out_backprop")


@dataclass(frozen=True)
class Outcome:
    """What became of a call.

    Parameters
    ----------
    status
        ``"value"``, or how there came to be none.
    value
        The result, bfloat16 as in ml_dtypes.
    error
        The error's class and first line, or the name of the signal.
    """

    status: Literal["value", "error", "crash", "timeout"]
    value: np.ndarray[Any, Any] | None = None
    error: str = ""


class TensorFlowChild:
    """A context manager around one TensorFlow process, restarted when it has died.

    Parameters
    ----------
    python
        The interpreter that has TensorFlow.
    timeout
        Seconds that one call may take.
    onednn
        Whether TensorFlow uses oneDNN's kernels. It would choose by the processor, and what is
        compared here must not depend on that: by default it uses its own kernels.
    """

    def __init__(
        self, *, python: str = sys.executable, timeout: float = 120.0, onednn: bool = False
    ) -> None:
        self._python = python
        self._timeout = timeout
        self._onednn = onednn
        self._process: subprocess.Popen[bytes] | None = None
        self._version = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop()

    @property
    def version(self) -> str:
        """TensorFlow's version."""
        if not self._version:
            self._running()
        return self._version

    def call(self, op: str, arguments: dict[str, Any], *, xla: bool = False) -> Outcome:
        """Run one call.

        Parameters
        ----------
        op
            One of `OPS`.
        arguments
            The call's keyword arguments.
        xla
            Compile with XLA instead of running eagerly.

        Returns
        -------
        Outcome
            A value, an error, a crash or a time-out; never an exception of TensorFlow's.

        Raises
        ------
        RuntimeError
            If TensorFlow cannot be started.
        """
        if op not in OPS:
            raise ValueError(f"no operation {op!r}; there are {', '.join(OPS)}")
        process = self._running()
        portable = {name: _portable(value) for name, value in arguments.items()}
        try:
            _send(_pipe(process.stdin), (op, portable, xla))
            return Outcome(*self._receive(process, self._timeout))
        except (EOFError, BrokenPipeError):
            return Outcome("crash", None, name_of_end(process.wait()))
        except TimeoutError:
            self._stop()
            return Outcome("timeout", None, f"no answer in {self._timeout:g} s")
        except BaseException:
            # An answer still on its way would be taken for that of the next call.
            self._stop()
            raise

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None:
            if self._process.poll() is None:
                return self._process
            self._stop()
        # A session of its own: Ctrl-C reaches the parent only, which then ends the child.
        self._process = process = subprocess.Popen(
            [self._python, "-P", os.path.abspath(__file__)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"TF_ENABLE_ONEDNN_OPTS": str(int(self._onednn))},
            start_new_session=True,
        )
        try:
            version, problem = self._receive(process, START_TIMEOUT)
        except (EOFError, TimeoutError) as error:
            version, problem = "", f"{type(error).__name__} while it was starting"
        except BaseException:
            self._stop()
            raise
        if problem:
            self._stop()
            raise RuntimeError(f"TensorFlow does not run in {self._python}: {problem}")
        self._version = version
        return process

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            try:
                _pipe(pipe).close()
            except BrokenPipeError:
                # What was still to be written has no reader any more.
                continue

    def _receive(self, process: subprocess.Popen[bytes], timeout: float) -> Any:
        pipe, deadline = _pipe(process.stdout), time.monotonic() + timeout
        (length,) = _LENGTH.unpack(_read(pipe, _LENGTH.size, deadline))
        return pickle.loads(_read(pipe, length, deadline))


def _pipe(pipe: Any) -> BinaryIO:
    return pipe  # type: ignore[no-any-return]  # Popen was asked for both pipes


def _portable(value: Any) -> Any:
    """Return a big-endian bfloat16 array in native order, anything else as it is.

    Unpickling one (NumPy 2.4, ml_dtypes 0.7) marks the process's only bfloat16 dtype as big-endian,
    and every bfloat16 array after it.
    """
    if isinstance(value, np.ndarray) and value.dtype.kind == "V" and not value.dtype.isnative:
        return value.astype(value.dtype.newbyteorder("="))
    return value


def _send(pipe: BinaryIO, message: object) -> None:
    payload = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    pipe.write(_LENGTH.pack(len(payload)) + payload)
    pipe.flush()


def _read(pipe: BinaryIO, count: int, deadline: float) -> bytes:
    """Read exactly `count` bytes, straight from the descriptor so that waiting can be bounded."""
    parts: list[bytes] = []
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while count > 0:
            if not selector.select(max(deadline - time.monotonic(), 0.0)):
                raise TimeoutError
            part = os.read(pipe.fileno(), min(count, 2**20))
            if not part:
                raise EOFError
            parts.append(part)
            count -= len(part)
    return b"".join(parts)


def name_of_end(code: int) -> str:
    """Say how a process ended, from its exit code or, negative, its signal."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _serve() -> None:
    """Be the child: answer requests until the parent closes the pipe."""
    answers = os.fdopen(os.dup(1), "wb")
    # Whatever TensorFlow prints goes where its log goes, not between the answers.
    os.dup2(2, 1)
    os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    try:
        import tensorflow
    except Exception as error:
        _send(answers, ("", _described(error)))
        return
    tensorflow.config.threading.set_intra_op_parallelism_threads(1)
    tensorflow.config.threading.set_inter_op_parallelism_threads(1)
    _send(answers, (tensorflow.__version__, ""))
    while header := sys.stdin.buffer.read(_LENGTH.size):
        (length,) = _LENGTH.unpack(header)
        op, arguments, xla = pickle.loads(sys.stdin.buffer.read(length))
        _send(answers, _answer(tensorflow, op, arguments, xla))


def _answer(tensorflow: Any, op: str, arguments: dict[str, Any], xla: bool) -> tuple[str, Any, str]:
    functions = {
        "conv3d_transpose": tensorflow.nn.conv3d_transpose,
        **{name: getattr(tensorflow.raw_ops, name) for name in RAW_OPS},
    }
    try:
        run = _compiled if xla else _eager
        return "value", np.asarray(run(tensorflow, functions[op], arguments)), ""
    except Exception as error:
        return "error", None, _described(error)


def _eager(tensorflow: Any, function: Any, arguments: dict[str, Any]) -> Any:
    return function(**arguments).numpy()


def _compiled(tensorflow: Any, function: Any, arguments: dict[str, Any]) -> Any:
    """Run under XLA: operands are its parameters, all else is constant as in a user's model."""
    operands = {
        name: value
        for name, value in arguments.items()
        if name in _TENSORS and isinstance(value, np.ndarray)
    }
    fixed = {name: value for name, value in arguments.items() if name not in operands}
    compiled = tensorflow.function(
        lambda **given: function(**given, **fixed), jit_compile=True, autograph=False
    )
    return compiled(**operands).numpy()


def _described(error: Exception) -> str:
    """Return an error's class and first line."""
    return f"{type(error).__name__}: {next(iter(str(error).strip().splitlines()), '')}"


if __name__ == "__main__":
    _serve()
