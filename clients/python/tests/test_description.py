"""The types and operations of the client are those of proto/openapi.yaml, member by member."""

import collections.abc
import dataclasses
import inspect
import re
import types
import typing
import unittest
from pathlib import Path

import yaml
from conversations_client import Client, __version__, models, requests
from conversations_client.errors import ApiError, error_class
from scripted import KEY, ScriptedServer, answer

ROOT = Path(__file__).resolve().parents[3]
API = yaml.safe_load((ROOT / "proto/openapi.yaml").read_text(encoding="utf-8"))
SCHEMAS = API["components"]["schemas"]
SCALARS = {"string": str, "integer": int, "boolean": bool, "null": type(None)}
UNIONS = (typing.Union, getattr(types, "UnionType", None))


def resolved(schema):
    while "$ref" in schema:
        schema = SCHEMAS[schema["$ref"].rpartition("/")[2]]
    return schema


def alternatives(hint):
    return set(typing.get_args(hint)) if typing.get_origin(hint) in UNIONS else {hint}


def members_of(cls):
    """{NAME: (HINT, IS_REQUIRED)} of a dataclass or a TypedDict."""
    if typing.is_typeddict(cls):
        return {name: (hint, name in cls.__required_keys__) for name, hint in typing.get_type_hints(cls).items()}
    hints = typing.get_type_hints(cls)
    return {field.name: (hints[field.name], field.default is dataclasses.MISSING)
            for field in dataclasses.fields(cls)}


class Comparison:
    """The differences between a hint and a schema."""

    def __init__(self):
        self.found, self.compared = [], 0

    def find(self, where, what):
        self.found.append(f"{where}: {what}")

    def compare(self, where, schema, hint):
        schema = resolved(schema)
        self.compared += 1
        if "const" in schema or "enum" in schema:
            self.compare_words(where, schema, hint)
        elif "oneOf" in schema and schema.get("type") != "object" or "anyOf" in schema:
            self.compare_alternatives(where, schema.get("oneOf") or schema.get("anyOf"), hint)
        elif schema["type"] == "array":
            self.compare_list(where, schema, hint)
        elif schema["type"] == "object" and "properties" in schema:
            self.compare_members(where, schema, hint)
        elif schema["type"] == "object":
            if typing.get_origin(hint) is not collections.abc.Mapping:
                return self.find(where, f"{hint} is not a Mapping")
            self.compare_scalars(where, schema["additionalProperties"], typing.get_args(hint)[1])
        else:
            self.compare_scalars(where, schema, hint)

    def compare_words(self, where, schema, hint):
        words = set(schema.get("enum", [schema.get("const")]))
        if set(typing.get_args(hint)) != words:
            self.find(where, f"{hint} is not one of {sorted(words)}")

    def compare_scalars(self, where, schema, hint):
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        wanted = {one for kind in kinds for one in ([int, float] if kind == "number" else [SCALARS[kind]])}
        if alternatives(hint) != wanted:
            self.find(where, f"{hint} is not {kinds}")

    def compare_list(self, where, schema, hint):
        if typing.get_origin(hint) not in (list, collections.abc.Sequence):
            return self.find(where, f"{hint} is not a list")
        self.compare(f"{where}[]", schema["items"], typing.get_args(hint)[0])

    def compare_alternatives(self, where, schemas, hint):
        """A union has one type for each alternative, in the same order."""
        flat = []
        for schema in schemas:
            schema = resolved(schema)
            flat += schema["oneOf"] if "oneOf" in schema and "type" not in schema else [schema]
        hints = list(typing.get_args(hint)) if typing.get_origin(hint) in UNIONS else [hint]
        if len(flat) != len(hints):
            return self.find(where, f"{len(hints)} alternatives, not {len(flat)}")
        for i, (schema, one) in enumerate(zip(flat, hints)):
            self.compare(f"{where}|{i}", schema, one)

    def compare_members(self, where, schema, hint):
        if not (dataclasses.is_dataclass(hint) or typing.is_typeddict(hint)):
            return self.find(where, f"{hint} has no members")
        members, required = members_of(hint), set(schema.get("required", []))
        for name in sorted(members.keys() ^ schema["properties"].keys()):
            self.find(where, f"{name} is in one of them only")
        for name in sorted(members.keys() & schema["properties"].keys()):
            one, is_required = members[name]
            if is_required != (name in required):
                self.find(f"{where}.{name}", "is required in one of them only")
            if not is_required and dataclasses.is_dataclass(hint):
                one = typing.Union[tuple(alternatives(one) - {type(None)})]
            self.compare(f"{where}.{name}", schema["properties"][name], one)


def hint_of(name):
    return getattr(models, name, None) or getattr(requests, name, None)


class Description(unittest.TestCase):
    # Schemas for the format of a string are plain strings here.
    TEXTS = {"Id", "ExternalId", "Cursor", "AttributeKey", "Time"}
    # Types of members of objects.
    PLAIN = {"Attributes": typing.get_type_hints(models.Conversation)["custom_attributes"]}

    def test_every_schema_has_a_type_with_the_same_members(self):
        comparison = Comparison()
        for name in sorted(SCHEMAS.keys() - self.TEXTS):
            hint = self.PLAIN.get(name) or hint_of(name)
            if hint is None:
                comparison.find(name, "has no type")
            else:
                comparison.compare(name, SCHEMAS[name], hint)
        self.assertEqual(comparison.found, [])
        self.assertGreater(comparison.compared, 100)

    def test_the_comparison_sees_what_is_different(self):
        ping = {**SCHEMAS["Ping"], "properties": dict(SCHEMAS["Ping"]["properties"])}
        for name, change in {
            "more": {"type": "string"}, "scope": {"enum": ["read"]}, "server_time": {"type": "string"},
            "organization_id": {"oneOf": [{"type": "string"}, {"type": "null"}]},
        }.items():
            other = {**ping, "properties": {**ping["properties"], name: change}}
            comparison = Comparison()
            comparison.compare("Ping", other, models.Ping)
            self.assertEqual(len(comparison.found), 1, name)
        comparison = Comparison()
        comparison.compare("Ping", {**ping, "required": ["type"]}, models.Ping)
        self.assertEqual(len(comparison.found), 3)

    def operations(self):
        for path, item in API["paths"].items():
            for method, operation in item.items():
                if "operationId" in operation:
                    name = re.sub(r"(?<=[a-z])([A-Z])", r"_\1", operation["operationId"]).lower()
                    yield path, method.upper(), operation, name

    def test_every_operation_has_a_method_that_sends_it(self):
        arguments = {"conversation_id": "c-1", "external_id": "e-1", "from_": {"external_id": "u-1"},
                     "custom_attributes": {"a": None},
                     "query": {"field": "contact.id", "operator": "=", "value": "c"}}
        for path, method, operation, name in self.operations():
            call = getattr(Client, name)
            wanted = {one: arguments[one] for one, parameter in inspect.signature(call).parameters.items()
                      if one in arguments and parameter.kind is not parameter.KEYWORD_ONLY}
            with self.subTest(name), ScriptedServer(answer(418, {})) as server:
                with Client(server.url, KEY) as client, self.assertRaises(Exception):
                    call(client, **wanted)
                [(sent_method, sent_path, headers, body)] = server.requests
                self.assertEqual((sent_method, sent_path),
                                 (method, "/api/v1" + path.replace("{conversation_id}", "c-1")))
                self.assertEqual("requestBody" in operation, bool(body))
                self.assertEqual("requestBody" in operation, "Content-Type" in headers)

    def test_every_parameter_and_member_can_be_given(self):
        for path, _, operation, name in self.operations():
            given = {one.rstrip("_") for one in inspect.signature(getattr(Client, name)).parameters}
            wanted = {one["name"] for one in operation.get("parameters", [])}
            wanted |= {one["name"] for one in API["paths"][path].get("parameters", [])}
            if "requestBody" in operation:
                body = resolved(operation["requestBody"]["content"]["application/json"]["schema"])
                wanted |= {part for one, schema in body["properties"].items()
                           for part in (resolved(schema)["properties"] if one == "pagination" else [one])}
            self.assertEqual(given - {"self", "budget"}, wanted, name)

    def test_every_status_that_is_refused_has_a_class(self):
        statuses = {int(status) for _, _, operation, _ in self.operations()
                    for status in operation["responses"] if status >= "300"}
        own = {status for status in statuses if error_class(status) is not ApiError}
        self.assertEqual(own, {400, 401, 403, 404, 409, 429, 500, 503})

    def test_the_version_is_that_of_the_service(self):
        self.assertEqual(__version__, (ROOT / "VERSION").read_text(encoding="utf-8").strip())


if __name__ == "__main__":
    unittest.main()
