#!/usr/bin/env python3
"""Runs the command of one CTest test and counts its cases.

  run_stage.py --name NAME --count KIND [--limit SECONDS] [--again TEXT] -- COMMAND...

KIND is how the command reports its cases:
  command  not at all: it is one case
  gtest    GoogleTest's XML files, of any number of programs
  go       `go test -json` on standard output
  lines    lines "ok CASE" and "FAILED CASE"
  last     a last line "... N passed, M failed" for each program, or "PASSED/TOTAL ..."

A skipped or disabled case counts as failed, and so does a command that ran no case. --again: cases of Go whose output
contains TEXT are run once more. At the limit the command gets SIGQUIT, so that a Go program prints its goroutines.

The output is in build/logs/NAME.log, the counts and the time are in build/logs/NAME.result (JSON). Standard output shows what
failed.
"""
import argparse
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree
from pathlib import Path

SHOWN = 200  # last lines of the log of a stage that failed
REPORTED = 20        # failed cases of a stage that its result names
REPORTED_LINES = 30  # last lines of the output of each of them
GRACE = 30   # seconds to react to SIGQUIT


class Counts:
    def __init__(self):
        self.passed = 0
        self.bad = []     # names
        self.output = {}  # name -> what a failed case printed, where the command reports it by case

    def add(self, name, passed, output=""):
        if passed:
            self.passed += 1
        else:
            self.bad.append(name)
            self.output[name] = output

    def report(self):
        return [{"case": name, "output": self.output.get(name, "").splitlines()[-REPORTED_LINES:]} for name in self.bad[:REPORTED]]


def run(command, log, limit, env, take_line):
    """Runs the command; each line of its output goes through take_line, which returns the text to log. Returns the status."""
    env = {**(env or os.environ)}
    if limit:
        env["SLICED_WAIT_SECONDS"] = str(limit - min(300, limit // 2))  # t/fixture/patience.h
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env,
                               text=True, errors="replace", bufsize=1, start_new_session=True)

    def end(number, _frame):
        # CTest ends this process, for instance because the user did: the command is another session's.
        stop(process, signal.SIGTERM)
        sys.exit(128 + number)

    def at_limit(_number, _frame):
        said = f"\n---- the limit of {limit} s for this stage is reached; the lines above show what it waited for\n"
        os.write(log.fileno(), said.encode())  # the handler may have interrupted a write of the log itself
        stop(process, signal.SIGQUIT)
        signal.signal(signal.SIGALRM, lambda *_: stop(process, signal.SIGKILL))
        signal.alarm(GRACE)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    if limit:
        signal.signal(signal.SIGALRM, at_limit)
        signal.alarm(limit)
    def end_what_is_left():
        process.wait()
        stop(process, signal.SIGKILL)  # a process that the command left behind holds the pipe open

    threading.Thread(target=end_what_is_left, daemon=True).start()
    for line in process.stdout:
        text = take_line(line)
        if text:
            log.write(text)
            log.flush()
    status = process.wait()
    signal.alarm(0)
    return status


def stop(process, number):
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def keep(line):
    return line


class GoTests:
    """The events of `go test -json`."""

    def __init__(self):
        self.output = {}  # test -> its lines
        self.result = {}  # test -> pass, fail or skip

    def take(self, line):
        try:
            event = json.loads(line)
        except ValueError:
            return line  # the go command itself, not a test
        test = event.get("Test")
        if event.get("Action") in ("output", "build-output"):
            text = event.get("Output", "")
            if test:
                self.output.setdefault(test, []).append(text)
            return text
        if test and event.get("Action") in ("pass", "fail", "skip"):
            self.result[test] = event["Action"]
        return None

    def bad(self):
        # A test that ended with the program, at a limit or in a crash, has no result.
        return [test for test in {**self.result, **self.output} if self.result.get(test) != "pass"]

    def leaves(self, tests):
        return [test for test in tests if not any(other.startswith(test + "/") for other in tests)]


def run_go(command, log, limit, again):
    tests = GoTests()
    status = run(command, log, limit, None, tests.take)
    bad = tests.leaves(tests.bad())
    if again and bad and all(again in "".join(tests.output.get(test, [])) for test in bad):
        top = sorted({test.split("/")[0] for test in bad})
        log.write(f"---- {again}: once more: {' '.join(top)}\n")
        more = GoTests()
        status = run([*command, "-run", "^(" + "|".join(top) + ")$"], log, limit, None, more.take)
        tests.result.update(more.result)
        tests.output.update(more.output)
        bad = tests.leaves(tests.bad())
    counts = Counts()
    counts.passed = sum(result == "pass" for result in tests.result.values())
    counts.bad = tests.bad()
    for test in bad:
        counts.output[test] = "".join(tests.output.get(test, []))
        log.write(f"==== not passed: {test}\n" + "".join(tests.output.get(test, [])[-40:]))
    return status, counts


def run_gtest(command, log, limit, directory):
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    status = run(command, log, limit, {**os.environ, "GTEST_OUTPUT": f"xml:{directory}/"}, keep)
    counts = Counts()
    for file in sorted(directory.glob("*.xml")):
        try:
            cases = list(xml.etree.ElementTree.parse(file).getroot().iter("testcase"))
        except xml.etree.ElementTree.ParseError as error:
            counts.add(f"{file.name}: {error}", False)
            continue
        for case in cases:
            ran = case.get("status") == "run" and case.get("result") == "completed"
            failures = [failure.text or failure.get("message", "") for failure in case.iter("failure")]
            counts.add(f"{case.get('classname')}.{case.get('name')}", ran and not failures, "\n".join(failures))
    return status, counts


def run_lines(command, log, limit):
    counts = Counts()

    def take(line):
        if line.startswith("ok "):
            counts.add(line.strip(), True)
        elif line.startswith("FAILED "):
            counts.add(line.strip(), False)
        return line

    return run(command, log, limit, None, take), counts


def run_last(command, log, limit):
    counts = Counts()
    last = [0, 0]

    def take(line):
        found = re.search(r"(\d+) passed, (\d+) failed", line)
        ratio = re.match(r"(\d+)/(\d+)\b(?: \(out of scope (\d+)\))?", line)
        if found:
            last[0] += int(found[1])
            last[1] += int(found[2])
        elif ratio:
            last[0] += int(ratio[1])
            last[1] += int(ratio[2]) - int(ratio[1]) - int(ratio[3] or 0)
        return line

    status = run(command, log, limit, None, take)
    counts.passed = last[0]
    counts.bad = ["a case that the log names"] * last[1]
    return status, counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", required=True)
    parser.add_argument("--logs", type=Path, required=True)
    parser.add_argument("--count", required=True, choices=["command", "gtest", "go", "lines", "last"])
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--again", default="")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    options.logs.mkdir(parents=True, exist_ok=True)
    result = options.logs / (options.name + ".result")
    result.unlink(missing_ok=True)
    started = time.monotonic()
    path = options.logs / (options.name + ".log")
    with open(path, "w", encoding="utf-8") as log:
        if options.count == "go":
            status, counts = run_go(options.command, log, options.limit, options.again)
        elif options.count == "gtest":
            status, counts = run_gtest(options.command, log, options.limit, options.logs / (options.name + ".xml"))
        elif options.count == "lines":
            status, counts = run_lines(options.command, log, options.limit)
        elif options.count == "last":
            status, counts = run_last(options.command, log, options.limit)
        else:
            status, counts = run(options.command, log, options.limit, None, keep), Counts()
            counts.add(options.name, status == 0)
    if status and not counts.bad:
        counts.bad.append(f"the command ended with {status}")
    if not counts.passed and not counts.bad:
        counts.bad.append("no case ran")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    result.write_text(json.dumps({
        "passed": counts.passed, "failed": len(counts.bad), "bad": counts.report(), "seconds": round(time.monotonic() - started, 1),
        "cpu": round(used.ru_utime + used.ru_stime, 1)}) + "\n")
    print(f"{counts.passed} passed, {len(counts.bad)} failed")
    if counts.bad:
        with open(path, encoding="utf-8", errors="replace") as log:
            print(f"---- the end of {path}", *log.read().splitlines()[-SHOWN:], "----", sep="\n")
        print("failed:", *counts.bad[:20], sep="\n  ")
    return 1 if counts.bad else 0


if __name__ == "__main__":
    sys.exit(main())
