"""The base of every operation's attributes model."""

from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn, Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from opspec.errors import OpError
from opspec.rule import Fault, Rule, refuse_first_fault


class AttributesModel(BaseModel):
    """Base of every operation's attributes: frozen, hashable, JSON in and out, own errors only.

    A subclass sets `rules`, which look at the attributes as given, and `canonical`, which turns
    attributes that keep the rules into the field values.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rules: ClassVar[tuple[Rule, ...]]

    def __init__(self, **given: Any) -> None:
        try:
            super().__init__(**given)
        except ValidationError as error:
            self._raise_own(error)

    @classmethod
    def model_validate(cls, obj: Any, **settings: Any) -> Self:
        """Validate a mapping; see `pydantic.BaseModel`. Raises `OpError`."""
        if not isinstance(obj, cls):
            # Before pydantic passes the names on as keywords, which must be text.
            refuse_first_fault(cls.rules[:1], obj)
        try:
            return super().model_validate(obj, **settings)
        except ValidationError as error:
            cls._raise_own(error)

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **settings: Any) -> Self:
        """Validate JSON text; see `pydantic.BaseModel`. Raises `OpError`."""
        try:
            return super().model_validate_json(json_data, **settings)
        except ValidationError as error:
            cls._raise_own(error)

    @classmethod
    def model_validate_strings(cls, obj: Any, **settings: Any) -> Self:
        """Validate a mapping of texts; see `pydantic.BaseModel`. Raises `OpError`."""
        try:
            return super().model_validate_strings(obj, **settings)
        except ValidationError as error:
            cls._raise_own(error)

    @classmethod
    def canonical(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Turn attributes that keep every rule into field values."""
        raise NotImplementedError

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return the attributes that may be left out, with their defaults."""
        return {
            name: field.default
            for name, field in cls.model_fields.items()
            if not field.is_required()
        }

    @model_validator(mode="before")
    @classmethod
    def _keep_rules(cls, given: Any) -> Any:
        if isinstance(given, cls):
            return given
        complete = {**cls.defaults(), **given} if isinstance(given, Mapping) else given
        refuse_first_fault(cls.rules, complete)
        return cls.canonical(complete)

    @classmethod
    def _raise_own(cls, error: ValidationError) -> NoReturn:
        """Raise the OpError inside; anything else that pydantic finds is text that is no JSON."""
        first = error.errors(include_url=False)[0]
        cause = first.get("ctx", {}).get("error")
        if isinstance(cause, OpError):
            raise cause from None
        reason = first.get("ctx", {}).get("error", first["type"])
        raise cls.rules[0].error(Fault(f"Invalid JSON: {reason}", "a JSON object")) from None
