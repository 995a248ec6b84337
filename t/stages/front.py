#!/usr/bin/env python3
"""Runs CTest for ./dev and shows how far it is.

  front.py BUILD_DIRECTORY --tier test|all|soak [--jobs N]
  front.py BUILD_DIRECTORY STAGE|TEST... [--jobs N]

A stage is a label of CTest tests; the tests of a tier carry its name as another label. CTest decides what runs when. One line
is printed for each stage that ends, with its share of the whole work and an estimate of the time that remains; the work of a
stage is the CPU time of its last run here, or else the COST in t/stages/CMakeLists.txt. The end is a table. The status is 0
when all tests passed and every stage ran at least one case.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

TIERS = {"test": ["test"], "all": ["test", "all"], "soak": ["soak"]}


class Test:
    def __init__(self, described, logs, times):
        properties = {each["name"]: each["value"] for each in described["properties"]}
        labels = [label for label in properties.get("LABELS", []) if label not in ("test", "all", "soak")]
        self.name = described["name"]
        self.stage = labels[0] if labels else self.name
        self.labels = properties.get("LABELS", [])
        self.work = max(times.get(self.name, properties.get("COST", 1.0)), 0.1)
        self.log = logs / (self.name + ".log")
        self.result = logs / (self.name + ".result")
        self.since = None
        self.status = None  # as CTest says it, once it has ended

    def read_result(self):
        """What run_stage.py wrote, or None where it wrote nothing."""
        try:
            return json.loads(self.result.read_text())
        except (OSError, ValueError):
            return None

    def counts(self):
        """Passed, failed, seconds and CPU seconds."""
        found = self.read_result()
        if found is None:
            return 0, 1, 0.0, 0.0
        failed = found["failed"] if self.status == "Passed" else max(found["failed"], 1)
        return found["passed"], failed, found["seconds"], found["cpu"]


class Progress:
    def __init__(self, tests, cores):
        self.tests = tests
        self.cores = cores
        self.started = time.monotonic()
        self.all_work = sum(test.work for test in tests.values())
        self.stages = {}
        for test in tests.values():
            self.stages.setdefault(test.stage, []).append(test)
        self.lock = threading.Lock()
        self.terminal = sys.stdout.isatty()

    def done_work(self):
        return sum(test.work for test in self.tests.values() if test.status)

    def remaining(self):
        """Seconds: by the pace so far; by the recorded work while too little is done to know the pace."""
        done = self.done_work()
        left = self.all_work - done
        elapsed = time.monotonic() - self.started
        pace = elapsed / done if done > self.all_work * 0.05 else 1.0 / self.cores
        return left * pace

    def wipe(self):
        if self.terminal:
            print("\r\033[K", end="")

    def say(self, text):
        with self.lock:
            self.wipe()
            print(text, flush=True)

    def show_running(self):
        """On a terminal: which tests run, and the last line of their logs."""
        while self.terminal:
            time.sleep(0.5)
            columns = os.get_terminal_size().columns
            with self.lock:
                running = [test for test in self.tests.values() if test.since and not test.status]
                parts = [f"{test.name}: {time.monotonic() - test.since:.0f} s: {last_line(test.log)}" for test in running]
                self.wipe()
                print(f"{100 * self.done_work() / self.all_work:3.0f} %  {'   '.join(parts)}"[:columns - 1], end="", flush=True)

    def ended(self, test, status):
        test.status = status
        if status == "Not Run":
            self.say(f"{test.name:<18} not run: what it needs has failed")
        elif status != "Passed":
            self.say(f"{test.name:<18} FAILED ({status})\n---- the end of {test.log}")
            self.say("\n".join(last_lines(test.log, 200)) + "\n----")
        if all(each.status for each in self.stages[test.stage]):
            self.say(self.line_of(test.stage))

    def line_of(self, stage):
        passed, failed, seconds, _ = totals(self.stages[stage])
        share = 100 * sum(test.work for test in self.stages[stage]) / self.all_work
        verdict = "FAILED" if failed or not passed else "ok"
        cases = f"{passed} passed, {failed} failed" if failed else f"{passed} passed"
        line = f"{stage:<18} {verdict:<6} {seconds:7.1f} s   {cases:<24} {share:4.1f} % of the work"
        if any(not test.status for test in self.tests.values()):
            line += f", about {duration(self.remaining())} left"
        return line


def totals(tests):
    counts = [test.counts() for test in tests]
    return tuple(sum(each[index] for each in counts) for index in range(4))


def duration(seconds):
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def last_lines(path, count):
    try:
        return path.read_text(errors="replace").splitlines()[-count:]
    except OSError:
        return [f"(there is no {path})"]


def last_line(path):
    lines = [line for line in last_lines(path, 20) if line.strip()]
    return lines[-1].strip() if lines else ""


def described_tests(directory, select):
    said = subprocess.run(["ctest", "--test-dir", directory, "--show-only=json-v1", *select], check=True, capture_output=True)
    return json.loads(said.stdout)["tests"]


def select_label(names):
    return ["-L", "^(" + "|".join(re.escape(name) for name in names) + ")$"]


def select_names(directory, asked, known):
    """The tests that are named, and those of the stages that are."""
    labels = {each["name"]: label_list(each) for each in described_tests(directory, [])}
    for name in asked:
        if name not in known and name not in labels:
            sys.exit(f"dev: there is no stage {name}; there are: {' '.join(known)}")
    chosen = [test for test in labels if test in asked or set(labels[test]) & set(asked)]
    return ["-R", "^(" + "|".join(re.escape(test) for test in chosen) + ")$"]


def label_list(described):
    return [label for each in described["properties"] if each["name"] == "LABELS" for label in each["value"]]


def known_stages(directory):
    return sorted({label for each in described_tests(directory, []) for label in label_list(each)} - set(TIERS))


STARTED = re.compile(r"\s+Start\s+\d+: (.*)")
ENDED = re.compile(r"\s*\d+/\d+ Test\s+#\d+: (\S+) \.*\s*(?:\*\*\*)?\s*(Passed|Failed|Not Run|Timeout|Exception.*?|Skipped)\b")


def run_ctest(command, progress, raw):
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace")
    threading.Thread(target=progress.show_running, daemon=True).start()
    with open(raw, "w", encoding="utf-8") as log:
        for line in process.stdout:
            log.write(line)
            started = STARTED.match(line)
            ended = ENDED.match(line)
            if started and started[1].strip() in progress.tests:
                test = progress.tests[started[1].strip()]
                test.since = time.monotonic()
                if not progress.terminal:
                    progress.say(f"{test.name} ...")
            elif ended and ended[1] in progress.tests:
                progress.ended(progress.tests[ended[1]], ended[2])
    return process.wait()


def print_table(progress):
    progress.terminal = False
    print(f"\n{'stage':<18} {'seconds':>9} {'CPU s':>9} {'passed':>8} {'failed':>8}")
    everything = [0, 0]
    for stage, tests in progress.stages.items():
        passed, failed, seconds, cpu = totals(tests)
        if not passed and not failed:
            failed = 1  # a stage that ran nothing
        everything[0] += passed
        everything[1] += failed
        print(f"{stage:<18} {seconds:>9.1f} {cpu:>9.1f} {passed:>8} {failed:>8}")
    cpu = totals(progress.tests.values())[3]
    print(f"{'all of it':<18} {time.monotonic() - progress.started:>9.1f} {cpu:>9.1f}\n")
    red = [test for test in progress.tests.values() if test.counts()[1]]
    for test in red:
        print(f"failed: {test.name}, see {test.log}")
        for bad in (test.read_result() or {}).get("bad", []):
            print(f"  {bad['case']}", *bad["output"], sep="\n    ")
    print(f"{everything[0]} passed, {everything[1]} failed")
    return everything[1] == 0 and everything[0] > 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("stages", nargs="*")
    parser.add_argument("--tier", choices=TIERS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() + 1)  # the tests beside a real control plane mostly wait
    options = parser.parse_args()
    known = known_stages(options.directory)
    if set(options.stages) <= set(known):
        select = select_label(options.stages or TIERS[options.tier or "test"])
    else:
        select = select_names(options.directory, options.stages, known)
    logs = options.directory / "logs"
    logs.mkdir(exist_ok=True)
    recorded = options.directory / "stage-times.json"
    try:
        times = json.loads(recorded.read_text())
    except (OSError, ValueError):
        times = {}
    tests = {test.name: test for test in (Test(each, logs, times) for each in described_tests(options.directory, select))}
    if not tests:
        sys.exit("dev: there is no test to run")
    for test in tests.values():
        test.result.unlink(missing_ok=True)
    progress = Progress(tests, os.cpu_count())
    command = ["ctest", "--test-dir", options.directory, "--no-tests=error", "-j", str(options.jobs), "--output-junit",
               str((logs / "ctest.xml").resolve()), *select]
    status = run_ctest([str(each) for each in command], progress, logs / "ctest.log")
    passed = print_table(progress)
    times.update({test.name: test.counts()[3] for test in tests.values() if test.status == "Passed" and test.counts()[3]})
    recorded.write_text(json.dumps(times, indent=1, sort_keys=True) + "\n")
    return 0 if passed and status == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
