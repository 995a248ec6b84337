#!/usr/bin/env python3
"""Plants each defect of mutants.json in a copy of the tree and expects the tests that it names to turn red.

  run.py                 all of them
  run.py NAME...         these
  run.py --check         only whether each edit applies; builds nothing

An edit is found by a symbol, never by lines: `in` is a file, `function` the name of a function that this file defines
(several of one name: all of them; absent: the whole file), `find` a piece of code that is there exactly once, whatever its
white space, and `put` what takes its place. README.md.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORK = ROOT / "build" / "mutants"
TREE, LOGS = WORK / "tree", WORK / "logs"
BUILD = TREE / "build" / "quick"
CPU_SECONDS_OF_ONE_TEST = 1800  # a defect may make it endless


def end_of_literal(text, at):
    """The end of the comment, string or character that begins at `at`; `at` where none does."""
    if text.startswith("//", at):
        end = text.find("\n", at)
        return len(text) if end < 0 else end
    if text.startswith("/*", at):
        return text.index("*/", at) + 2
    if text[at] == '"' and at > 0 and text[at - 1] == "R" and (at < 2 or not text[at - 2].isalnum()):
        mark = text[at + 1 : text.index("(", at)]
        return text.index(")" + mark + '"', at) + len(mark) + 2
    if text[at] == '"' or (text[at] == "'" and not (at > 0 and text[at - 1].isdigit())):
        quote, end = text[at], at + 1
        while text[end] != quote:
            end += 2 if text[end] == "\\" else 1
        return end + 1
    return at


def end_of_group(text, at):
    """Just behind the bracket that closes the one at `at`."""
    depth = 0
    while at < len(text):
        behind = end_of_literal(text, at)
        if behind != at:
            at = behind
            continue
        depth += (text[at] in "([{") - (text[at] in ")]}")
        at += 1
        if depth == 0:
            return at
    raise ValueError("a bracket is not closed")


def bodies(text, function):
    """(begin, end) of the body of each function of that name that `text` defines."""
    found = []
    for match in re.finditer(r"(?<![\w:~.>])" + re.escape(function) + r"\s*\(", text):
        at = end_of_group(text, match.end() - 1)
        # Up to the body: const, noexcept, a trailing type, initializers.
        while at < len(text) and text[at] not in ";{}=":
            at = end_of_group(text, at) if text[at] == "(" else max(end_of_literal(text, at), at + 1)
        if at < len(text) and text[at] == "{" and is_declared(text, match.start()):
            found.append((at, end_of_group(text, at)))
    return found


def is_declared(text, at):
    """Whether the name at `at` is declared there, not called: a line begins with it, or a type is before it."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return re.fullmatch(r"(?:[\w:<>,&*\[\]() ]*[\w>&*] ?[&*]?)?", line.strip()) is not None and not re.search(
        r"\b(return|if|while|for|case)\b|[=.!?]", line
    )


def pattern(find):
    """The piece of code, whatever the white space between its tokens."""
    tokens = re.findall(r"\w+|[^\w\s]", find)
    return re.compile(r"\s*".join(re.escape(token) for token in tokens))


def edited(mutant, text):
    places = [(0, len(text))]
    if "function" in mutant:
        places = bodies(text, mutant["function"])
        if not places:
            raise ValueError(f"{mutant['in']} does not define {mutant['function']}")
    hits = [hit for place in places for hit in pattern(mutant["find"]).finditer(text, *place)]
    if len(hits) != 1:
        raise ValueError(f"`{mutant['find']}` is {len(hits)} times in {mutant.get('function', 'the file')}, not once")
    return text[: hits[0].start()] + mutant["put"] + text[hits[0].end() :]


def sync():
    """Makes TREE equal to the sources; a file that is equal keeps its time, so that what was built stays."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True
    ).stdout.decode()
    wanted = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    for name in wanted:
        there, here = TREE / name, ROOT / name
        if not there.is_file() or there.read_bytes() != here.read_bytes():
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(here, there)
    for path in TREE.rglob("*"):
        if path.is_file() and BUILD not in path.parents and str(path.relative_to(TREE)) not in wanted:
            path.unlink()


def environment():
    # A defect may be one that a test waits for.
    more = {"CCACHE_BASEDIR": str(TREE), "CCACHE_NOHASHDIR": "1", "GTEST_FAIL_FAST": "1", "GTEST_BRIEF": "1", "SLICED_WAIT_SECONDS": "300"}
    return dict(os.environ, **more)


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS_OF_ONE_TEST, CPU_SECONDS_OF_ONE_TEST))


def configure():
    if (BUILD / "build.ninja").exists():
        return
    cache = [f"-DCMAKE_{language}_COMPILER_LAUNCHER=ccache" for language in ("C", "CXX")] if shutil.which("ccache") else []
    subprocess.run(
        ["cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0 -g0",
         "-DSLICED_TESTS=ON", "-DCMAKE_C_COMPILER=clang-19", "-DCMAKE_CXX_COMPILER=clang++-19",
         "-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld", *cache],
        check=True, stdout=subprocess.DEVNULL, env=environment(),
    )  # fmt: skip


class Broken(Exception):
    """What cannot be built or run: never counts as red."""


def build(targets):
    made = subprocess.run(["ninja", "-C", BUILD, *sorted(targets)], capture_output=True, text=True, env=environment())
    if made.returncode != 0:
        raise Broken("it does not build:\n" + "\n".join(made.stdout.splitlines()[-12:]))


def target_of(test):
    return {"sim": "simulate", "worlds": "simulate"}.get(test.split()[0], test.split()[0])


def command_of(test):
    """"unit_policy Decide.*", "sim histories --first 3 --seeds 1", "worlds -first 14 -worlds 1"."""
    program, *rest = test.split()
    if program == "sim":
        return [BUILD / "t" / "simulate", *rest], TREE
    if program == "worlds":
        return [WORK / "worlds.test", "-test.timeout", "60m", "-program", BUILD / "t" / "simulate", "-shorten=false", *rest], (
            TREE / "t" / "worlds" / "play"
        )
    return [BUILD / "t" / program, "--gtest_filter=" + (rest[0] if rest else "*")], BUILD


def is_red(test, log):
    command, folder = command_of(test)
    with open(log, "w") as out:
        ran = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            env=environment(), preexec_fn=limit,
        )  # fmt: skip
        for line in ran.stdout:
            out.write(line)
            if test.startswith("sim") and line.startswith("FAILED"):  # before it looks for a shorter history
                ran.kill()
                ran.wait()
                return True
    return ran.wait() != 0


def build_worlds_test():
    subprocess.run([TREE / "t" / "stages" / "go", "t/worlds/play", "test", "-c", "-o", WORK / "worlds.test", "."], cwd=TREE, check=True)


def try_one(mutant):
    """What is wrong with the judges, a line each."""
    path = TREE / mutant["in"]
    whole = path.read_text()
    wrong = []
    path.write_text(edited(mutant, whole))
    try:
        build({target_of(test) for test in mutant["red"]})
        for test in mutant["red"]:
            red = is_red(test, LOGS / f"{mutant['name']}.{test.split()[0]}")
            print(f"{mutant['name']:42} {'red    ' if red else 'GREEN  '}{test}", flush=True)
            if not red:
                wrong.append(f"{test} does not see: {mutant['defect']}")
    finally:
        path.write_text(whole)
    return wrong


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--check", action="store_true")
    arguments.add_argument("names", nargs="*")
    asked = arguments.parse_args()
    mutants = json.loads((HERE / "mutants.json").read_text())
    unknown = set(asked.names) - {mutant["name"] for mutant in mutants}
    if unknown:
        sys.exit("mutants: there is no " + ", ".join(sorted(unknown)))
    if asked.names:
        mutants = [mutant for mutant in mutants if mutant["name"] in asked.names]
    wrong = []
    for mutant in mutants:
        try:
            edited(mutant, (ROOT / mutant["in"]).read_text())
        except (OSError, ValueError) as problem:
            wrong.append(f"{mutant['name']}: {problem}")
    if asked.check or wrong:
        print("\n".join(wrong) or f"{len(mutants)} edits apply")
        sys.exit(1 if wrong else 0)
    LOGS.mkdir(parents=True, exist_ok=True)
    TREE.mkdir(exist_ok=True)
    began = time.monotonic()
    sync()
    configure()
    tests = sorted({test for mutant in mutants for test in mutant["red"]})
    if any(test.startswith("worlds") for test in tests):
        build_worlds_test()
    build({target_of(test) for test in tests})
    for test in tests:  # red without a defect means nothing
        if is_red(test, LOGS / "none"):
            sys.exit(f"mutants: {test} is red without any defect: {LOGS / 'none'}")
    tries = [test for mutant in mutants for test in mutant["red"]]
    for mutant in mutants:
        try:
            wrong += try_one(mutant)
        except Broken as problem:
            wrong.append(f"{mutant['name']}: {problem}")
    for line in wrong:
        print("FAILED " + line)
    print(f"{len(tries) - len(wrong)} passed, {len(wrong)} failed: mutants and the tests that must see them, in "
          f"{time.monotonic() - began:.0f} s")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
