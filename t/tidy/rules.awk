# The rules, over all files of the tree in one pass. Prints "file:line: what is wrong", sorted by file.

BEGIN {
  # Written in two pieces, so that this file does not break its own rules.
  unfinished = "(^|[^A-Za-z])(TO" "DO|FIX" "ME|X" "XX)([^A-Za-z]|$)"
  skipping = "GTEST_" "SKIP|[ (,:]DISA" "BLED_[A-Za-z]|[^A-Za-z]t\\.Sk" "ip(f|Now)?\\(|testing\\.Sh" "ort\\("
  machine = "(^|[^A-Za-z0-9_.$}])/(wo" "rk|ro" "ot)/"
}

function top_of(path) { return path ~ /\// ? substr(path, 1, index(path, "/") - 1) : "" }

# A header and its source file are one unit.
function unit_of(path) {
  sub(/\.(h|cpp)$/, "", path)
  return path
}

function folder_of(path) {
  sub(/\/[^\/]*$/, "", path)
  return path
}

function quoted_in(text) {
  gsub(/^[^"]*"|"[^"]*$/, "", text)
  return text
}

function wrong(line, what) {
  print FILENAME (line ? ":" line : "") ": " what
}

FNR == 1 {
  seen[FILENAME]
  is_source = FILENAME ~ /\.(h|cpp)$/
  is_test = FILENAME ~ /^t\//
  if (FILENAME ~ /\.h$/ && $0 != "#pragma once") wrong(1, "a header begins with #pragma once")
}

is_source && /^ *# *include/ {
  target = $0
  sub(/^ *# *include *["<]/, "", target)
  sub(/[">].*$/, "", target)
  if (target == "uv.h" && !is_test && FILENAME !~ /^reactor\//) wrong(FNR, "uv.h is included in reactor/ only")
  includes[FILENAME] = includes[FILENAME] " " target
  # By its path from the root alone a header is found only where its library is linked (cmake/layering.cmake).
  if (/"/ && target !~ /\.pb-c\.h$/ && n_folders && !(top_of(target) in folders) && target !~ /^t\//)
    wrong(FNR, "a header is included by its path from the root of the sources: " target)
  # One library, so CMake does not see it: the two kinds of policies do not know each other.
  if ((FILENAME ~ /^policy\/sriov\// && target ~ /^policy\/exposure\//) || (FILENAME ~ /^policy\/exposure\// && target ~ /^policy\/sriov\//))
    wrong(FNR, "policies of one kind do not know the other: " target)
  if (!is_test && target ~ /\.h$/ && unit_of(target) != unit_of(FILENAME))
    uses[unit_of(FILENAME), unit_of(target)] = FILENAME ":" FNR
}

# Debian 12's library brings it with <string>; Debian 13's does not.
FILENAME ~ /\.h$/ && /^#include <cstdint>/ { has_cstdint[FILENAME] }
FILENAME ~ /\.h$/ && !(FILENAME in sized) && /(^|[^A-Za-z0-9_])u?int(8|16|32|64)_t/ { sized[FILENAME] = FNR }

!is_test && $0 ~ unfinished { wrong(FNR, "unfinished work is not left in the sources") }
is_test && $0 ~ skipping { wrong(FNR, "a test is never skipped") }
$0 ~ machine { wrong(FNR, "a path of one machine") }

# A page that names tests, as `Suite.Test` or `TestName`, names such as there are.
/^TEST(_F|_P)?\(/ {
  name = $0
  gsub(/^TEST[_A-Z]*\(| *\).*$/, "", name)
  sub(/, */, ".", name)
  tests[name]
}
/^func Test[A-Z]/ {
  name = $2
  sub(/\(.*$/, "", name)
  tests[name]
}
FILENAME == "docs/threat-model.md" {
  n_quoted = split($0, quoted, "`")
  for (i = 2; i <= n_quoted; i += 2)
    if (quoted[i] ~ /^([A-Z][A-Za-z0-9]*\.[A-Z][A-Za-z0-9]*|Test[A-Z][A-Za-z0-9]*)$/) named[quoted[i]] = FNR
}

# What people may be told of a device (the rows of policy/verdict.h) is explained to them.
FILENAME == "policy/verdict.h" && /OUTCOME\(k[A-Za-z]+, "/ {
  split($0, quoted, "\"")
  outcomes[quoted[2]] = FILENAME ":" FNR
}
FILENAME == "docs/concepts.md" || FILENAME == "docs/troubleshooting.md" || FILENAME == "docs/status.md" {
  n_quoted = split($0, quoted, "`")
  for (i = 2; i <= n_quoted; i += 2) explained[FILENAME, quoted[i]]
}

# Pages of the daemon's status listeners.
FILENAME ~ /^daemon\/.*\.cpp$/ && /^ +(out|pages)\["\// {
  split($0, quoted, "\"")
  pages[quoted[2]] = FILENAME ":" FNR
}

# Gates are told in the order in which they are asked.
FILENAME == "policy/gates/gates.cpp" && /GATE\([a-z_]+\)/ {
  name = $0
  gsub(/^.*GATE\(|\).*$/, "", name)
  gsub(/_/, "-", name)
  gates[++n_gates] = name
}
FILENAME == "docs/concepts.md" && /^\| `[a-z-]+` \|/ {
  name = $0
  gsub(/^\| `|`.*$/, "", name)
  told[name] = FNR
}

# The folders of the product. This file is the first that is read.
FILENAME == "CMakeLists.txt" && /^set\(folders / {
  n_folders = split($0, words, /[ ()]+/)
  for (i = 3; i <= n_folders; i++) if (words[i] != "") folders[words[i]]
}
FILENAME ~ /CMakeLists\.txt$/ { cmake[FILENAME] = cmake[FILENAME] " " $0 " " }

# The shortest way by includes from a unit back to it, as "a b c a"; only at the first of its units by name, so that each
# is told once. A unit is a header and its source: what is below it builds and is tested without it.
function shortest_cycle(start,    queue, first, last, list, n, i, unit, way) {
  queue[last = 1] = start
  way[start] = start
  for (first = 1; first <= last; first++) {
    unit = queue[first]
    n = split(used[unit], list, " ")
    for (i = 1; i <= n; i++) {
      if (list[i] == start) return way[unit] " " start
      if (list[i] < start || list[i] in way) continue
      way[list[i]] = way[unit] " " list[i]
      queue[++last] = list[i]
    }
  }
  return ""
}

function is_named(path, list,    name) {
  name = substr(path, length(folder_of(list)) + 2)
  gsub(/[.]/, "[.]", name)
  return cmake[list] ~ ("[ (/]" name "[ )]")
}

# Whether a CMakeLists.txt of the file's folder, or of one above it, names it.
function is_listed(path,    folder) {
  for (folder = folder_of(path); ; folder = folder_of(folder)) {
    if ((folder "/CMakeLists.txt") in cmake && is_named(path, folder "/CMakeLists.txt")) return 1
    if (folder !~ /\//) return 0
  }
}

# What a replacement says counts, wherever it stands.
FILENAME ~ /go\.mod$/ && /^\t/ && ($2 ~ /^v/ || $2 == "=>") {
  if ($2 == "=>") replaced[FILENAME, $1] = $4
  else asked[FILENAME, $1] = $2
  asked_at[FILENAME, $1] = FNR
}

function version_of(file, module) { return (file, module) in replaced ? replaced[file, module] : asked[file, module] }

END {
  for (pair in asked_at) {
    split(pair, parts, SUBSEP)
    FILENAME = parts[1]
    if (FILENAME !~ /^t\/(cluster\/hollowkubelet|chart\/render)\/go\.mod$/ || !(("t/go.mod", parts[2]) in asked_at)) continue
    if (version_of(FILENAME, parts[2]) != version_of("t/go.mod", parts[2]))
      wrong(asked_at[pair], parts[2] " is " version_of("t/go.mod", parts[2]) " in t/go.mod: what needs it is compiled twice")
  }
  FILENAME = "docs/threat-model.md"
  for (name in named)
    if (!(name in tests)) wrong(named[name], "there is no test " name)
  for (page in seen)
    if (page == "docs/concepts.md" || page == "docs/troubleshooting.md")
      for (name in outcomes)
        if (!((page, name) in explained)) {
          FILENAME = page
          wrong(0, "does not explain the outcome " name)
        }
  FILENAME = "docs/status.md"
  if (FILENAME in seen)
    for (path in pages)
      if (!((FILENAME, path) in explained)) wrong(0, "does not list the page " path)
  FILENAME = "docs/concepts.md"
  for (i = 1; i <= n_gates; i++) {
    if (!(gates[i] in told))
      wrong(0, "does not tell of the gate " gates[i])
    else if (told[gates[i]] < last_told)
      wrong(told[gates[i]], "tells of the gate " gates[i] " after one that is asked later")
    else
      last_told = told[gates[i]]
  }
  for (pair in uses) {
    split(pair, units_of, SUBSEP)
    used[units_of[1]] = used[units_of[1]] " " units_of[2]
  }
  for (unit in used) {
    cycle = shortest_cycle(unit)
    if (cycle == "") continue
    split(cycle, units_of, " ")
    FILENAME = uses[units_of[1], units_of[2]]
    gsub(/ /, " -> ", cycle)
    wrong(0, "units include each other: " cycle)
  }
  for (path in seen) {
    FILENAME = path
    if ((path in sized) && !(path in has_cstdint)) wrong(sized[path], "an integer of a named size wants <cstdint>")
    if (path ~ /\.cpp$/ && (top_of(path) in folders) && !is_listed(path)) wrong(0, "is not named in the CMakeLists.txt of its folder, so it is never built")
    if (path ~ /^t\/unit\/.*_test\.cpp$/ && !is_listed(path)) wrong(0, "is not named in the CMakeLists.txt of its folder, so it is never run")
    # t/unit has the folders of the product, and those below them.
    if (path ~ /^t\/unit\/.*CMakeLists\.txt$/) {
      home = folder_of(path)
      above = folder_of(home)
      name = substr(home, length(above) + 2)
      if (above == "t/unit" ? !(name in folders) : cmake[above "/CMakeLists.txt"] !~ ("[ (]" name "[ )]"))
        wrong(0, "its folder is not among those of the CMakeLists.txt above it")
    }
  }
}
