#!/usr/bin/env python3
"""Runs clang-tidy (.clang-tidy) over sources of the product.

  clang_tidy.py --changed [REV]   those that differ from the commit REV; without it from the merge base with main, or on
                                  main itself from the commit before
  clang_tidy.py --all             all of them, a library at a time, which reads each header once

The compile commands are those of the preset asan, which compiles with clang.
"""
import concurrent.futures
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build/asan"
CLANG_TIDY = ["clang-tidy-19", "--quiet"]


def output_of(*command):
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def configure():
    subprocess.run(["cmake", "--preset", "asan"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    targets = subprocess.run(["ninja", "-C", BUILD, "-t", "targets", "all"], check=True, capture_output=True, text=True).stdout
    headers = re.findall(r"^(generated\S*\.h): CUSTOM_COMMAND", targets, re.M)
    subprocess.run(["ninja", "-C", BUILD, *headers], check=True, stdout=subprocess.DEVNULL)
    # Their commands alone: ninja would compile the libraries first that are before them in order.
    for source in re.findall(r"^([^/\s]\S*\.cpp): CUSTOM_COMMAND", targets, re.M):
        commands = ["ninja", "-C", BUILD, "-t", "commands", "-s", source]
        command = subprocess.run(commands, check=True, capture_output=True, text=True).stdout
        subprocess.run(command, shell=True, cwd=BUILD, check=True, stdout=subprocess.DEVNULL)


def libraries():
    """The compile commands of the product, by the file that is compiled: for a library one that includes its sources."""
    found = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        file = Path(entry["file"])
        home = os.path.relpath(file, BUILD if file.is_relative_to(BUILD) else ROOT)
        if file.suffix == ".cpp" and not home.startswith(("t/", "../")):
            found[file] = entry
    return found


def sources_of(file):
    """The sources that a compiled file includes as parts of itself, or itself."""
    parts = re.findall(r'^#include "(\S+\.cpp)"$', file.read_text(), re.M)
    return [ROOT / part for part in parts] or [file]


def usual_base():
    base = output_of("git", "merge-base", "HEAD", "origin/main") or output_of("git", "merge-base", "HEAD", "main")
    if not base or base == output_of("git", "rev-parse", "HEAD"):
        base = output_of("git", "rev-parse", "--verify", "HEAD~1")  # none in a clone of one commit
    return base


def changed_files(base):
    names = output_of("git", "diff", "--name-only", "--diff-filter=d", base or "HEAD").splitlines()
    names += output_of("git", "ls-files", "--others", "--exclude-standard").splitlines()
    return sorted({ROOT / name for name in names if name.endswith((".cpp", ".h")) and not name.startswith("t/")})


def tidy(command):
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + ("" if done.returncode == 0 else done.stderr)


def command_for(file, entry, only=None):
    """For a source alone: the command of its library, with the source in place of the file that includes all."""
    words = entry["command"].split(" ") if "command" in entry else entry["arguments"]
    if os.path.basename(words[0]) == "ccache":
        words = words[1:]
    flags, skip = [], False
    for word in words[1:]:
        if skip or word in ("-c", entry["file"]):
            skip = False
        elif word in ("-o", "-MF", "-MT"):
            skip = True
        else:
            flags.append(word.replace('\\"', '"'))
    limit = ["--line-filter=" + json.dumps([{"name": str(one.relative_to(ROOT))} for one in only])] if only else []
    return [*CLANG_TIDY, *limit, str(file), "--", *flags]


def commands_for_changed(found, base):
    home = {source: entry for file, entry in found.items() for source in sources_of(file)}
    commands = {}
    for file in changed_files(base):
        source = file.with_suffix(".cpp")
        if source not in home:  # a header without a source of its name: one that includes it
            named = f'#include "{file.relative_to(ROOT)}"'
            source = next((each for each in home if named in each.read_text()), None)
        if source is not None:
            commands.setdefault(source, []).append(file)
    return [command_for(source, home[source], files) for source, files in commands.items()]


def main():
    option, *revision = sys.argv[1:] or [""]
    if option not in ("--changed", "--all") or len(revision) > (option == "--changed"):
        sys.exit(__doc__)
    configure()
    found = libraries()
    if option == "--all":
        commands = [[*CLANG_TIDY, "-p", str(BUILD), str(file)] for file in found]
    else:
        commands = commands_for_changed(found, revision[0] if revision else usual_base())
    print(f"{len(commands)} files to look at", flush=True)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        for command, (status, said) in zip(commands, workers.map(tidy, commands)):
            if status:
                failed += 1
                print(said, flush=True)
    print("clang-tidy finds nothing" if not failed else f"clang-tidy finds something in {failed} of {len(commands)} files")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
