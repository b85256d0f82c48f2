"""What a version of the suite consists of, in one number, so that a released one never changes."""

import hashlib
import json

from opspec.conformance.case import all_golden, golden_folder
from opspec.conformance.forms import FORMS
from opspec.conformance.properties import ALL as PROPERTIES
from opspec.conformance.properties import identity
from opspec.conformance.recast import RECASTS

FILE = "suites.json"


def suite_digest(version: int) -> str:
    """Return a digest of all that the suite had in a version: cases, values, forms, properties."""
    whole = hashlib.sha256()
    for golden in all_golden():
        for case in golden.file.cases:
            if case.since <= version:
                whole.update(golden.identity(case).encode())
                whole.update(case.model_dump_json(exclude={"oracles"}).encode())
                named = [argument.tensor for argument in case.arguments.values()]
                for name in (*named, case.expected.result, case.expected.magnitude):
                    if name is not None:
                        whole.update(golden.tensors[name].tobytes())
    names = [form.name for form in FORMS if form.since <= version]
    names += [way.name for way in RECASTS if way.since <= version]
    names += [identity(law) for law in PROPERTIES if law.since <= version]
    whole.update("\n".join(names).encode())
    return whole.hexdigest()


def recorded() -> dict[str, str]:
    """Return the recorded digest of every version."""
    found: dict[str, str] = json.loads((golden_folder() / FILE).read_text("utf-8"))
    return found
