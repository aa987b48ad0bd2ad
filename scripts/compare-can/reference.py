"""Decodes random frames of DBC files with cantools, and writes one line of JSON for each file.

Arguments: the seed, the number of frames of each message, and directories. A file that cantools refuses as a whole is read
without the statements that it names as the reason; they are part of the output.
"""

import copy
import json
import random
import re
import sys
from pathlib import Path

import cantools

SEED, FRAMES, DIRECTORIES = int(sys.argv[1]), int(sys.argv[2]), [Path(one) for one in sys.argv[3:]]
MOST_REMOVED = 400


def read(path):
    content = path.read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        # As cantools and CANdb++ do; five bytes are undefined in Python's cp1252.
        return content.decode("cp1252", errors="replace")


def lines_of_message(lines, pattern):
    """The statement of a message and those of its signals."""
    for start, line in enumerate(lines):
        if re.match(pattern, line):
            end = start + 1
            while end < len(lines) and lines[end].strip().startswith("SG_ "):
                end += 1
            return range(start, end)
    return range(0)


def lines_to_remove(lines, error):
    """Indexes of the lines that an error of cantools is about."""
    syntax = re.search(r"at line (\d+), column", error)
    if syntax:
        faulty = int(syntax.group(1)) - 1
        return lines_of_message(lines, re.escape(lines[faulty])) if "BO_ " in lines[faulty] else [faulty]
    frame_id = re.search(r"frame id .* in message (\w+)\.", error)
    if frame_id:
        return lines_of_message(lines, rf"\s*BO_ \d+ {frame_id.group(1)}\s*:")
    unused = re.findall(r"^ *(VAL_ \d+ \w+)", error, re.MULTILINE)
    return [index for index, line in enumerate(lines) if any(line.startswith(f"{one} ") for one in unused)]


def load(text):
    """The database without what cantools refuses, the text that was read, and what was removed."""
    lines = text.split("\n")
    removed = []
    while True:
        try:
            remaining = "\n".join(lines)
            return cantools.database.load_string(remaining, database_format="dbc", strict=False), remaining, removed
        except cantools.database.UnsupportedDatabaseFormatError as error:
            reason = str(error)
            faulty = list(lines_to_remove(lines, reason))
            if not faulty or len(removed) >= MOST_REMOVED:
                return None, remaining, [{"line": 0, "reason": reason}]
            for index in faulty:
                removed.append({"line": index + 1, "reason": " ".join(reason.split())[:150]})
                lines[index] = ""


def write_bits(data, signal, raw):
    for bit in range(signal.length):
        if signal.byte_order == "big_endian":
            sent = (signal.start // 8) * 8 + 7 - signal.start % 8 + signal.length - 1 - bit
            byte, mask = sent // 8, 1 << (7 - sent % 8)
        else:
            byte, mask = (signal.start + bit) // 8, 1 << ((signal.start + bit) % 8)
        data[byte] = data[byte] | mask if raw >> bit & 1 else data[byte] & ~mask


def select(generator, message, tree, data):
    """Sets every multiplexer to a value that selects something."""
    for node in tree:
        if isinstance(node, dict):
            for name, branches in node.items():
                value = generator.choice(sorted(branches))
                write_bits(data, message.get_signal_by_name(name), value)
                select(generator, message, branches[value], data)


def decoded(message, data):
    """Raw value, physical value and label of each signal."""
    raws = message.decode(data, decode_choices=False, scaling=False)
    values = message.decode(data, decode_choices=False)
    signals = {}
    for name, raw in raws.items():
        choices = message.get_signal_by_name(name).choices or {}
        label = choices.get(raw)
        signals[name] = [repr(raw), repr(values[name]), None if label is None else str(label)]
    return signals


def decoded_alone(message, data):
    """Each signal as if it were the only one: cantools decodes no message of which signals overlap or do not fit."""
    signals = {}
    for signal in message.signals:
        if signal.multiplexer_ids is None:
            alone = copy.copy(signal)
            alone.is_multiplexer = False
            try:
                only = cantools.database.can.Message(message.frame_id, message.name, message.length, [alone], is_extended_frame=True)
                signals |= decoded(only, data)
            except Exception:  # Beyond the end of the message.
                signals[signal.name] = None
    return signals


def frames_of(generator, message):
    frames = []
    for _ in range(FRAMES):
        data = bytearray(generator.randbytes(message.length))
        try:
            select(generator, message, message.signal_tree, data)
            frames.append({"data": data.hex(), "isWhole": True, "signals": decoded(message, bytes(data))})
        except Exception:  # Whatever a file makes cantools raise.
            frames.append({"data": data.hex(), "isWhole": False, "signals": decoded_alone(message, bytes(data))})
    return frames


def describe(generator, message):
    return {
        "name": message.name,
        "id": message.frame_id,
        "isExtended": message.is_extended_frame,
        "units": {signal.name: signal.unit for signal in message.signals},
        "frames": frames_of(generator, message),
    }


for directory in DIRECTORIES:
    for path in sorted(directory.rglob("*.[dD][bB][cC]")):
        name = str(path.relative_to(directory.parent))
        database, text, removed = load(read(path))
        generator = random.Random(f"{SEED} {name}")
        messages = [] if database is None else [describe(generator, message) for message in database.messages]
        print(json.dumps({"file": name, "text": text, "removed": removed, "messages": messages}), flush=True)
