#!/usr/bin/env python3
"""Checks that the sources have the names of the walks in docs/architecture.md, which a reader follows by "go to definition".

walks.py FILE...   FILE: every file of the tree; prints "file:line: problem" for each problem
"""
import re
import sys

PAGE, HEADING = "docs/architecture.md", "## Three walks"
NAME = re.compile(r"`([A-Za-z_][\w:<>]*)`")


def names_in_walks(lines):
    """Yields line and name, of the second column of the section's tables."""
    is_inside = False
    for number, line in enumerate(lines, 1):
        if line.startswith("## "):
            is_inside = line.strip() == HEADING
        if is_inside and re.match(r"\| \d+ \|", line):
            for name in NAME.findall(line.split("|")[2]):
                yield number, name


def main(paths):
    if PAGE not in paths:
        return
    words = set()
    for path in paths:
        if path.endswith((".h", ".cpp")) and not path.startswith("t/"):
            with open(path, encoding="utf-8") as file:
                words.update(re.findall(r"\w+", file.read()))
    with open(PAGE, encoding="utf-8") as file:
        for number, name in names_in_walks(file):
            if not words.issuperset(re.findall(r"\w+", name)):
                print(f"{PAGE}:{number}: no such name in the sources: {name}")


main(sys.argv[1:])
