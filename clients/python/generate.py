"""Writes odograph/models.py and odograph/operations.py from the OpenAPI document of a platform.

python3 generate.py http://127.0.0.1:8080/docs/json
"""

from __future__ import annotations

import argparse
import json
import keyword
import re
import textwrap
import urllib.request
from pathlib import Path
from typing import Any

HEAD = '"""Written by generate.py; do not edit."""\n\nfrom __future__ import annotations\n\n'


def snake_case(name: str) -> str:
    """`getVehicleById` becomes `get_vehicle_by_id`, `from` becomes `from_`."""
    words = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", re.sub(r"\W+", "_", name)).lower()
    return f"{words}_" if keyword.iskeyword(words) or words == "self" else words


def capitalize(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"\W+|_", name))


class Models:
    """Types of the document: a TypedDict for each object with members."""

    def __init__(self, schemas: dict[str, Any]) -> None:
        self.names: dict[str, str] = {}
        self.schemas = schemas
        for name, schema in schemas.items():
            if schema.get("properties"):
                self.add(name, schema)
            else:
                self.names[name] = f"{name} = {self.type_of(schema, name)}"

    def add(self, name: str, schema: dict[str, Any]) -> str:
        required = set(schema.get("required", []))
        members = {}
        for member, one in schema["properties"].items():
            written = self.type_of(one, name + capitalize(member))
            members[member] = written if member in required else f"NotRequired[{written}]"
        if all(member.isidentifier() and not keyword.iskeyword(member) for member in members):
            lines = "".join(f"    {member}: {written}\n" for member, written in members.items())
            self.names[name] = f"class {name}(TypedDict):\n{lines}"
        else:
            lines = "".join(f"    {member!r}: {written!r},\n" for member, written in members.items())
            self.names[name] = f"{name} = TypedDict({name!r}, {{\n{lines}}})"
        return name

    def type_of(self, schema: dict[str, Any], name: str) -> str:
        """The type of a value. @param name of the class, if it is an object with members"""
        if "$ref" in schema:
            return str(schema["$ref"]).rsplit("/", 1)[1]
        if "enum" in schema or "const" in schema:
            values = schema.get("enum", [schema.get("const")])
            return f"Literal[{', '.join(map(repr, values))}]"
        if "anyOf" in schema:
            kinds = [self.type_of(one, f"{name}{place or ''}") for place, one in enumerate(schema["anyOf"])]
            return f"Union[{', '.join(dict.fromkeys(kinds))}]"
        kind = schema.get("type")
        if kind == "array":
            return f"List[{self.type_of(schema.get('items', {}), f'{name}Item')}]"
        if kind == "object" and schema.get("properties"):
            return self.add(name, schema)
        if kind == "object":
            values = schema.get("additionalProperties")
            return f"Dict[str, {self.type_of(values, f'{name}Value') if isinstance(values, dict) else 'Any'}]"
        plain = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
        return plain.get(kind, "Any") if isinstance(kind, str) else "Any"

    def items_of(self, page: dict[str, Any], name: str) -> str:
        """The type of the items of a page, which is a list or has members that are lists."""
        if "$ref" in page:
            name = page["$ref"].rsplit("/", 1)[1]
            page = self.schemas[name]
        lists = {"": page} if page.get("type") == "array" else page.get("properties", {})
        items = [
            self.type_of(one["items"], f"{name}{capitalize(member)}Item")
            for member, one in lists.items()
            if one.get("type") == "array"
        ]
        return f"Union[{', '.join(items)}]" if len(items) > 1 else items[0] if items else "Any"

    def write(self) -> str:
        head = HEAD + "from typing import Any, Dict, List, Literal, NotRequired, TypedDict, Union\n\n"
        # Aliases are evaluated when the module is loaded, so they follow the classes.
        ordered = sorted(self.names.values(), key=lambda text: not text.startswith("class "))
        return head + "\n\n".join(ordered) + "\n"


class Operation:
    """One method of the client, and two more for a list in pages."""

    def __init__(self, method: str, path: str, described: dict[str, Any], models: Models) -> None:
        self.method = method.upper()
        self.name = snake_case(described["operationId"])
        self.summary = described.get("summary", self.name).rstrip(".") + "."
        self.title = capitalize(described["operationId"])
        self.arguments: dict[str, tuple[str, bool]] = {}
        self.parts: dict[str, dict[str, str]] = {"path": {}, "query": {}, "header": {}, "body": {}}
        for parameter in described.get("parameters", []):
            if not parameter.get("x-alternative"):
                self.add(parameter["in"], parameter["name"], parameter["schema"], parameter["required"], models)
        body = described.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        for member, schema in body.get("properties", {}).items():
            self.add("body", member, schema, member in body.get("required", []), models)
        self.path = re.sub(r"\{(\w+)\}", lambda match: "{in_path(" + self.parts["path"][match[1]] + ")}", path)
        success = described["responses"].get("200", {})
        self.is_paged = "Link" in success.get("headers", {})
        content = success.get("content", {})
        self.is_stream = "text/event-stream" in content
        self.answer = "Any"
        self.item = "Any"
        page = content.get("application/json", {}).get("schema", {})
        if set(content) == {"application/json"}:
            self.answer = models.type_of(page, f"{self.title}Answer")
        if self.is_paged:
            self.item = models.items_of(page, f"{self.title}Answer")

    def add(self, place: str, name: str, schema: dict[str, Any], required: bool, models: Models) -> None:
        argument = snake_case(name)
        kind = models.type_of(schema, self.title + capitalize(name))
        self.parts[place][name] = argument
        if argument not in self.arguments or required:
            self.arguments[argument] = (kind, required)

    def write(self) -> str:
        if self.is_stream:
            return self.method_text(self.name, "Iterator[Dict[str, Any]]", "self._events(", self.summary)
        answer = self.answer
        texts = [self.method_text(self.name, answer, f'self._call("{self.method}", ', self.summary)]
        if self.is_paged:
            about = "Reads page by page to the end: " + self.summary[:1].lower() + self.summary[1:]
            texts.append(self.method_text(f"{self.name}_pages", f"Iterator[{answer}]", "self._pages(", about))
            each = "Reads the items to the end: " + self.summary[:1].lower() + self.summary[1:]
            texts.append(self.method_text(f"{self.name}_items", f"Iterator[{self.item}]", "self._items(", each))
        return "\n".join(texts)

    def method_text(self, name: str, answer: str, call: str, summary: str) -> str:
        ordered = sorted(self.arguments.items(), key=lambda one: not one[1][1])
        positional = [one for one in ordered if one[0] in self.parts["path"].values()]
        named = [one for one in ordered if one not in positional]
        arguments = ["self", *(f"{argument}: {kind}" for argument, (kind, _) in positional)]
        if named:
            arguments.append("*")
        for argument, (kind, required) in named:
            arguments.append(f"{argument}: {kind}" if required else f"{argument}: Optional[{kind}] = None")
        parts = [f'f"{self.path}"']
        for place, keyword_argument in (("query", "query"), ("body", "body"), ("header", "headers")):
            values = self.parts[place]
            if values:
                members = ", ".join(f"{given!r}: {self.value_of(given, argument)}" for given, argument in values.items())
                parts.append(f"{keyword_argument}={{{members}}}")
            elif place == "body" and self.method != "GET":
                parts.append("body={}")
        text = "\n".join(textwrap.wrap(summary.replace("\\", "\\\\"), 100))
        doc = textwrap.indent(f'"""{text}"""', "        ")
        return f"    def {name}({', '.join(arguments)}) -> {answer}:\n{doc}\n        return {call}{', '.join(parts)})\n"

    def value_of(self, name: str, argument: str) -> str:
        return f"{argument} or new_key()" if name == "Idempotency-Key" else argument


def generate(document: dict[str, Any], directory: Path) -> int:
    """Writes the modules. @return the number of operations"""
    models = Models(document["components"]["schemas"])
    operations = [
        Operation(method, path, described, models)
        for path, methods in document["paths"].items()
        for method, described in methods.items()
    ]
    head = "# mypy: disable-error-code=no-any-return\n" + HEAD + (
        "from typing import Any, Dict, Iterator, List, Literal, Optional, Union\n\n"
        "from .client import Client, in_path, new_key\nfrom .models import *\n\n\n"
        'class Operations(Client):\n    """Each operation of the interface."""\n\n'
    )
    (directory / "operations.py").write_text(head + "\n".join(one.write() for one in operations), encoding="utf-8")
    (directory / "models.py").write_text(models.write(), encoding="utf-8")
    return len(operations)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", help="address of the OpenAPI document, /docs/json of a platform")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "odograph", help="folder of the modules")
    arguments = parser.parse_args()
    with urllib.request.urlopen(arguments.url, timeout=60) as answer:
        count = generate(json.load(answer), arguments.out)
    print(f"{count} operations in {arguments.out}")


if __name__ == "__main__":
    main()
