#!/usr/bin/env python3
"""Checks Markdown pages: relative links, anchors, cells of tables, that an index links each page,
and that a page for readers of docs/ says in its first paragraph for whom it is.

pages.py FILE...   prints "file:line: problem" for each problem
"""
import os
import re
import sys

# The index that has to link each page of its folder.
INDEXES = {"docs": "docs/README.md", "docs/design": "docs/design/README.md"}

FENCE = re.compile(r"^ *(```|~~~)")
HEADING = re.compile(r"^#{1,6} +(.*?) *#*$")
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?[^)]*\)")
REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]: +(\S+)")
HTML_ANCHOR = re.compile(r"<a (?:id|name)=\"([^\"]+)\"")
CODE = re.compile(r"(`+)(?:(?!\1).)*?\1")
DELIMITER_ROW = re.compile(r"^\|?(?: *:?-+:? *\|)+ *(?::?-+:? *)?$")


class Page:
    """The parts of one page that links and tables depend on."""

    def __init__(self, path):
        self.path = path
        self.anchors = set()
        self.links = []  # (line, target)
        self.tables = []  # [(line, number of cells), ...] of each table, the header first
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.first_paragraph = (text.split("\n\n") + [""])[1]
        self.read(text.split("\n"))

    def read(self, lines):
        is_fenced = False
        table = None
        previous = ""
        for number, line in enumerate(lines, 1):
            if FENCE.match(line):
                is_fenced = not is_fenced
            if is_fenced or FENCE.match(line):
                table, previous = None, ""
                continue
            if heading := HEADING.match(line):
                self.add_anchor(heading[1])
            self.anchors.update(HTML_ANCHOR.findall(line))
            without_code = CODE.sub(lambda code: "x" * len(code[0]), line)
            for target in LINK.findall(without_code) + REFERENCE.findall(without_code):
                self.links.append((number, target))
            if table is None and DELIMITER_ROW.match(line.strip()) and "|" in previous:
                table = [(number - 1, cells_of(previous))]
                self.tables.append(table)
            if table is not None:
                if "|" not in line:
                    # A row after an empty line is text on GitHub: the most usual way to break a table.
                    if not line.strip() and number < len(lines) and lines[number].lstrip().startswith("|"):
                        following = lines[number + 1] if number + 1 < len(lines) else ""
                        if not DELIMITER_ROW.match(following.strip()):
                            table.append((number + 1, 0))
                    table = None
                else:
                    table.append((number, cells_of(line)))
            previous = line

    def add_anchor(self, title):
        """GitHub's anchor of a heading: lower case, no punctuation, hyphens for spaces, a number for a repeated one."""
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        name, count = anchor, 0
        while name in self.anchors:
            count += 1
            name = f"{anchor}-{count}"
        self.anchors.add(name)


def cells_of(row):
    """A "|" separates cells in code too, unless it is escaped (GitHub's rule)."""
    row = row.strip().replace("\\|", "")
    return row.removeprefix("|").removesuffix("|").count("|") + 1


def problems_of(page, pages):
    for number, target in page.links:
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        path, _, anchor = target.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(page.path), path)) if path else page.path
        if not os.path.exists(path):
            yield number, f"a link leads to no file: {target}"
        elif anchor and path.endswith(".md"):
            if path not in pages:
                pages[path] = Page(path)
            if anchor not in pages[path].anchors:
                yield number, f"a link leads to no heading: {target}"
    if os.path.dirname(page.path) == "docs" and INDEXES["docs"] in pages and not page.first_paragraph.startswith("For "):
        yield 3, 'the first paragraph says for whom the page is ("For ...")'
    for table in page.tables:
        header = table[0][1]
        for number, cells in table[1:]:
            if cells == 0:
                yield number, "an empty line cuts a table in two"
            elif cells != header:
                yield number, f"a row of {cells} cells in a table of {header}"


def main(paths):
    pages = {path: Page(path) for path in paths}
    found = []
    for path in paths:
        found += [(path, *problem) for problem in problems_of(pages[path], pages)]
    for folder, index in INDEXES.items():
        if index not in pages:
            continue
        linked = {os.path.normpath(os.path.join(folder, target.partition("#")[0])) for _, target in pages[index].links}
        for path in paths:
            if os.path.dirname(path) == folder and path != index and path not in linked:
                found.append((path, 1, f"no link from {index}"))
    for path, number, problem in sorted(found):
        print(f"{path}:{number}: {problem}")


main(sys.argv[1:])
