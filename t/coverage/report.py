#!/usr/bin/env python3
"""Reads what `llvm-cov export` wrote: the share of executed lines of each folder and of all, and the functions of which most lines
are not executed (t/coverage/run)."""
import json
import os
import sys

SHOWN = 40


def percent(covered, count):
    return 100.0 * covered / count if count else 100.0


def regions_missed(function):
    """Lines of the function that no test executed. A region is [line, column, end line, end column, count, ...]."""
    lines = {}
    for region in function["regions"]:
        if region[7] != 0:  # not code
            continue
        for line in range(region[0], region[2] + 1):
            # The innermost region comes last and counts.
            lines[line] = region[4]
    return sum(count == 0 for count in lines.values()), len(lines)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        data = json.load(file)["data"][0]
    folders = {}
    root = os.getcwd() + "/"
    for file in data["files"]:
        folder = os.path.dirname(file["filename"].removeprefix(root)).split("/")[0] or "."
        lines = file["summary"]["lines"]
        covered, count = folders.get(folder, (0, 0))
        folders[folder] = (covered + lines["covered"], count + lines["count"])
    for folder, (covered, count) in sorted(folders.items()):
        print(f"{folder:<16} {covered:>7} of {count:>7} lines {percent(covered, count):6.1f} %")
    # A function of a header is there once for each program: the best of them counts.
    functions = {}
    for function in data["functions"]:
        key = (function["filenames"][0].removeprefix(root), function["regions"][0][0])
        missed, count = regions_missed(function)
        if key not in functions or missed < functions[key][0]:
            functions[key] = (missed, count, function["name"])
    print(f"\nThe {SHOWN} functions of which most lines are not executed:")
    for (file, line), (missed, count, name) in sorted(functions.items(), key=lambda each: -each[1][0])[:SHOWN]:
        print(f"{missed:>4} of {count:>4} lines  {file}:{line}  {name.rpartition(':')[2]}")
    lines = data["totals"]["lines"]
    print(f"\n{lines['covered']} of {lines['count']} lines of the product are executed: {lines['percent']:.1f} %")


if __name__ == "__main__":
    main()
