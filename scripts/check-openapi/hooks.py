"""Rules of the interface that OpenAPI cannot express, for schemathesis.

OpenAPI cannot say that a parameter comes from the body or from the query, so each run tests one form: FORM=body removes the
alternatives of the query, FORM=query requires of them what the body requires. IDS maps names of parameters to identifiers
that exist, without which nearly every answer would be a 404.
"""

import json
import os

import schemathesis
from schemathesis.checks import negative_data_rejection
from schemathesis.core.failures import Failure
from schemathesis.generation import GenerationMode

FORM = os.environ["FORM"]
IDS = json.loads(os.environ["IDS"])
WORDS = {"timeZone": ["Europe/Paris", "UTC"], "plate_or_vin": ["AB-123-CD", "VF1AG000000000001"]}


def json_schema(operation):
    return operation["requestBody"]["content"]["application/json"]["schema"]


def use_body(operation):
    operation["parameters"] = [one for one in operation.get("parameters", []) if not one.get("x-alternative")]
    return True


def use_query(operation):
    """Moves the parameters of a body to the query. False without a body, or for one that the query cannot give."""
    if "requestBody" not in operation:
        return False
    required = json_schema(operation).get("required", [])
    alternatives = {one["name"] for one in operation["parameters"] if one.get("x-alternative")}
    if not alternatives.issuperset(required):
        return False
    for parameter in operation["parameters"]:
        if parameter.get("x-alternative"):
            parameter["required"] = parameter["name"] in required
    del operation["requestBody"]
    return True


def known_values(path, name):
    """Values that a parameter accepts: identifiers that exist, and words that no schema lists; None for any other."""
    if path.startswith("/v1/x/admin/"):
        return ["generic"] if name == "model" and path.endswith("/devices") else WORDS.get(name)
    # Deleting known vehicles would leave the other operations without any; lists accept unknown vehicles.
    if path in ("/v1/vehicle", "/v1/x/alarms", "/v1/x/shares"):
        return None
    return WORDS.get(name) or IDS.get("vehicleId" if name == "id" and "/vehicle/{id}" in path else name)


def use_known_values(path, operation):
    for parameter in operation["parameters"]:
        known = known_values(path, parameter["name"])
        if known:
            parameter["schema"] = {"type": "string", "enum": known}
            parameter.pop("example", None)
    if "requestBody" in operation:
        properties = json_schema(operation)["properties"]
        for name in properties:
            known = known_values(path, name)
            if known:
                properties[name] = {"type": "string", "enum": known}
        operation["requestBody"]["content"]["application/json"].pop("example", None)


def is_stream(operation):
    """An answer that never ends."""
    return "text/event-stream" in operation["responses"].get("200", {}).get("content", {})


@schemathesis.hook
def before_load_schema(context, raw_schema):
    use_form = use_body if FORM == "body" else use_query
    for path, methods in raw_schema["paths"].items():
        for method, operation in list(methods.items()):
            # Cursors are opaque: only those of an earlier answer are valid. X-Application is for browser sessions.
            unused = {"X-Application"} if path.startswith("/v1/x/admin") else {"X-Application", "after"}
            operation["parameters"] = [one for one in operation.get("parameters", []) if one["name"] not in unused]
            # Every operation answers 431 if the request line and headers exceed 16 KiB.
            operation["responses"]["431"] = operation["responses"]["400"]
            if not is_stream(operation) and use_form(operation):
                use_known_values(path, operation)
            else:
                del methods[method]


def has_one_of(case):
    """Some parameters exclude each other, and one of them is required (`x-exactly-one`)."""
    names = case.operation.definition.raw.get("x-exactly-one")
    given = {**(case.query or {}), **(case.body if isinstance(case.body, dict) else {})}
    return names is None or sum(given.get(name) is not None for name in names) == 1


def has_empty_value(case):
    """An optional parameter that is empty counts as left out."""
    parts = [case.query, case.body]
    return any(value in ("", None, [], {}) for part in parts if isinstance(part, dict) for value in part.values())


class ValidDataRejected(Failure):
    """A request that the document allows was answered as malformed."""


class InternalError(Failure):
    """A request was answered with 500."""


@schemathesis.check
def valid_data_accepted(ctx, response, case):
    """Fails if valid data is rejected as malformed; the state of the platform may reject it with another code.

    Skips operations below /v1/x/: they reject contradictory parameters, which no schema can describe.
    """
    if case.path.startswith("/v1/x/") or has_empty_value(case) or not has_one_of(case):
        return
    if case.meta is None or case.meta.generation.mode != GenerationMode.POSITIVE:
        return
    if response.status_code == 400 and response.json().get("error") == "INVALID_PARAMETER":
        raise ValidDataRejected(operation=case.operation.label, title="Valid data rejected", message=response.text)


@schemathesis.check
def invalid_data_rejected(ctx, response, case):
    """Like negative_data_rejection, but skips empty values and status 431."""
    if not has_empty_value(case) and response.status_code != 431:
        negative_data_rejection(ctx, response, case)


@schemathesis.check
def no_internal_error(ctx, response, case):
    """503 and 504 are documented; 500 is a defect."""
    if response.status_code == 500:
        raise InternalError(operation=case.operation.label, title="Internal error", message=response.text)
