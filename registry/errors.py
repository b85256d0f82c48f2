"""What can go wrong between a call and a backend.

::

    BackendError(RuntimeError)
    ├── BackendUnavailable      asked for, but cannot run here
    │   └── UnknownBackend      … because there is none of that name
    ├── UnsupportedByBackend    runs here, but does not take this call
    └── BackendContractError    what its author handed in does not fit
"""


class BackendError(RuntimeError):
    """Any fault between a call and the backend that should run it."""


class BackendUnavailable(BackendError):
    """A backend that was asked for is unknown, broken, or cannot run on this machine."""


class UnknownBackend(BackendUnavailable, LookupError):
    """No backend of the name that was asked for is installed, or none lies there."""


class UnsupportedByBackend(BackendError, NotImplementedError):
    """A backend that was asked for does not declare what this call needs."""


class BackendContractError(BackendError, TypeError):
    """A backend's author handed in something that does not fit the contract."""
