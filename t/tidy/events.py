#!/usr/bin/env python3
"""The log events of the product. Checks that t/golden/events lists all of them, and docs/logs.md those of warnings and errors.

  events.py [FILE]...  check; without FILE, all sources that git knows
  events.py --write    write t/golden/events, and rows for new events into docs/logs.md
"""
import re
import subprocess
import sys

GOLDEN = "t/golden/events"
PAGE = "docs/logs.md"
CALL = re.compile(r"\blog_file\(Level::k(Debug|Info|Warning|Error), file, name, |" + r"\blog_?(?:\(\))?(?:\.|->)(debug|info|warning|error)\(")
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def first_argument(text, at):
    """The text of the first argument that begins at `at`, without comments."""
    depth, start, quote = 0, at, False
    while at < len(text):
        char = text[at]
        if quote:
            if char == "\\":
                at += 1
            elif char == '"':
                quote = False
        elif char == '"':
            quote = True
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            if depth == 0:
                break
            depth -= 1
        elif char == "," and depth == 0:
            break
        at += 1
    return re.sub(r"//[^\n]*", "", text[start:at])


def messages_of(argument):
    """Adjacent literals are one text; what a condition separates are several; anything else is a gap."""
    parts, text, end = [], None, 0
    for match in LITERAL.finditer(argument):
        between = argument[end : match.start()].strip()
        if text is None:
            text = ("..." if between and not between.endswith("?") else "") + match[1]
        elif between == "":
            text += match[1]
        elif between == ":":
            parts.append(text)
            text = match[1]
        else:
            text += "..." + match[1]
        end = match.end()
    if text is not None:
        rest = argument[end:].strip()
        parts.append(text + ("..." if rest and not rest.startswith(")") else ""))
    return parts


def events():
    paths = [one for one in sys.argv[1:] if one.endswith((".cpp", ".h"))]
    if not paths:
        paths = subprocess.run(["git", "ls-files", "--", "*.cpp", "*.h"], capture_output=True, text=True, check=True).stdout.split()
    out = set()
    for path in paths:
        if path.startswith("t/"):
            continue
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for call in CALL.finditer(text):
            argument = first_argument(text, call.end())
            constant = re.search(rf"\b{argument.strip()} =\s*([^;]*);", text) if re.fullmatch(r"\s*k\w+\s*", argument) else None
            for message in messages_of(constant[1] if constant else argument):
                out.add(((call[1] or call[2]).lower(), message))
    return sorted(out, key=lambda one: (("error", "warning", "info", "debug").index(one[0]), one[1]))


def rows(page):
    """event -> its line, of the tables of the page."""
    return {line.split("|")[1].strip().strip("`"): line for line in page.split("\n") if line.startswith("| `")}


def main():
    found = events()
    golden = "".join(f"{level:<8}{message}\n" for level, message in found)
    needed = [(level, message) for level, message in found if level in ("error", "warning")]
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    known = rows(page)
    if "--write" in sys.argv:
        with open(GOLDEN, "w", encoding="utf-8") as file:
            file.write(golden)
        for level in ("error", "warning"):
            table = [known.get(message, f"| `{message}` | | | |") for of, message in needed if of == level]
            head = "| event | what happened | effect on pods | what to do |\n|---|---|---|---|\n"
            begin, end = f"<!-- {level} -->\n", "\n<!-- end -->"
            before, rest = page.split(begin, 1)
            page = before + begin + head + "\n".join(table) + end + rest.split(end, 1)[1]
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(page)
        return 0
    problems = []
    with open(GOLDEN, encoding="utf-8") as file:
        if file.read() != golden:
            problems.append(f"{GOLDEN}:1: it differs from the events in the sources: run t/tidy/events.py --write")
    for _, message in needed:
        cells = known.get(message, "").split("|")
        if len(cells) != 6 or not all(cell.strip() for cell in cells[2:5]):
            problems.append(f"{PAGE}:1: incomplete row of the event: {message}: run t/tidy/events.py --write and fill in the row")
    for message in known:
        if message not in {one for _, one in needed}:
            problems.append(f"{PAGE}:1: no such event: {message}")
    print("\n".join(problems), end="\n" if problems else "")
    return 0


sys.exit(main())
