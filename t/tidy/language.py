#!/usr/bin/env python3
"""Word rates of comments, messages and documents, per 1,000 words and folder. A thermometer: no test reads it."""
import re
import subprocess
import sys

WORDS = {
    "what": r"what|whatever",
    "who": r"who|whoever|whose|whom",
    "nobody": r"nobody|somebody|anybody",
    "told": r"tell|tells|told|telling",
    "stands": r"stand|stands|stood",
    "is none": r"is none|are none|is no",
    "goes on": r"go on|goes on|going on",
    "at once": r"at once",
    "anew": r"anew",
    "away": r"away",
    "otherwise": r"otherwise",
    "word of": r"word of|'s word",
}
PATTERNS = {name: re.compile(r"\b(?:" + words + r")\b", re.I) for name, words in WORDS.items()}
WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def parts_of(path, text):
    """Yields (kind, text): comments and messages of sources, prose of documents."""
    if path.endswith(".md"):
        yield "documents", re.sub(r"```.*?```", "", text, flags=re.S)
        return
    for line in text.split("\n"):
        code = STRING.sub('""', line)
        at = code.find("//")
        if at >= 0:
            yield "comments", code[at + 2 :]
        if not line.lstrip().startswith(("#include", "//")):
            # A message has at least two words: names and keys are left out.
            for literal in STRING.findall(line):
                if " " in literal.strip():
                    yield "messages", literal


def folder_of(path):
    parts = path.split("/")
    if len(parts) == 1:
        return "."
    return "/".join(parts[:2]) if parts[0] == "t" and len(parts) > 2 else parts[0]


def main():
    paths = subprocess.run(["git", "ls-files", "--", "*.h", "*.cpp", "*.md"], capture_output=True, text=True, check=True)
    totals = {}
    for path in paths.stdout.split("\n"):
        if not path or path.startswith("t/") and "--tests" not in sys.argv:
            continue
        with open(path, encoding="utf-8", errors="replace") as file:
            for kind, part in parts_of(path, file.read()):
                for folder in (folder_of(path), "all"):
                    row = totals.setdefault((kind, folder), [0] + [0] * len(WORDS))
                    row[0] += len(WORD.findall(part))
                    for at, pattern in enumerate(PATTERNS.values()):
                        row[at + 1] += len(pattern.findall(part))
    for kind in ("comments", "messages", "documents"):
        print(f"{kind}, per 1,000 words")
        print(f"  {'folder':<14}{'words':>8}" + "".join(f"{name:>11}" for name in WORDS))
        rows = sorted((folder, row) for (of, folder), row in totals.items() if of == kind and row[0] > 100)
        for folder, row in sorted(rows, key=lambda one: (one[0] == "all", one[0])):
            print(f"  {folder:<14}{row[0]:>8}" + "".join(f"{1000 * count / row[0]:>11.1f}" for count in row[1:]))
        print()


main()
