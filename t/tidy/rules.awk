# The rules, over all files of the tree in one pass. Prints "file:line: what is wrong", sorted by file.

BEGIN {
  # Who may include whom, beside itself. cli, main.cpp and the tests see everything.
  may["reactor"] = "reactor/base"
  may["http"] = "reactor/base reactor"
  may["grpc"] = "reactor/base reactor http"
  may["proto"] = "reactor/base"
  may["cni"] = "reactor/base reactor kube"
  may["nri"] = "reactor/base reactor proto"
  may["kube"] = "reactor/base reactor http"
  may["watchers"] = "reactor/base reactor kube"
  may["configured"] = "reactor/base reactor kube watchers"
  may["hotplug"] = "reactor/base reactor"
  may["cel"] = "reactor/base kube"
  may["allocation"] = "reactor/base kube cel"
  may["policy"] = "reactor/base kube cel hotplug policy/gates policy/readiness policy/sriov policy/exposure policy/charged"
  # Folders below a room. The two kinds of policies do not know each other.
  may["policy/gates"] = "reactor/base kube hotplug policy policy/readiness policy/charged"
  may["policy/readiness"] = "reactor/base kube hotplug policy"
  may["policy/node_state"] = "reactor/base kube hotplug policy policy/readiness"
  may["policy/configure"] = "reactor/base kube hotplug policy policy/readiness policy/node_state policy/sriov policy/exposure"
  may["policy/sriov"] = "reactor/base kube hotplug policy policy/gates policy/readiness"
  may["policy/exposure"] = "reactor/base kube cel hotplug policy policy/gates policy/readiness policy/charged"
  may["policy/charged"] = "reactor/base kube hotplug policy"
  may["migrate"] = "reactor/base kube hotplug policy"
  may["snapshot"] = "reactor/base kube hotplug"
  may["publishers"] = "reactor/base reactor kube policy"
  may["cdi"] = "reactor/base reactor kube"
  may["kubelet"] = "reactor/base reactor grpc http proto kube hotplug policy cdi"
  may["kubelet/interfaces"] = "reactor/base reactor kube policy kubelet cni nri"
  may["status"] = "reactor/base reactor http kube policy"
  may["webhook"] = "reactor/base reactor http kube cel cni kubelet policy status"
  may["reports"] = "reactor/base reactor kube hotplug watchers policy"
  may["config"] = "reactor/base kube policy"
  may["daemon"] = "reactor/base reactor kube hotplug watchers policy publishers config"
  may["reactor/base"] = ""
  # Written in two pieces, so that this file does not break its own rules.
  unfinished = "(^|[^A-Za-z])(TO" "DO|FIX" "ME|X" "XX)([^A-Za-z]|$)"
  skipping = "GTEST_" "SKIP|[ (,:]DISA" "BLED_[A-Za-z]|[^A-Za-z]t\\.Sk" "ip(f|Now)?\\(|testing\\.Sh" "ort\\("
  machine = "(^|[^A-Za-z0-9_.$}])/(wo" "rk|ro" "ot)/"
}

function top_of(path) { return path ~ /\// ? substr(path, 1, index(path, "/") - 1) : "" }

# The room, or the folder below it that has rules of its own.
function room_of(path,    folder) {
  folder = path
  sub(/\/[^\/]*$/, "", folder)
  while (folder ~ /\// && !(folder in may)) sub(/\/[^\/]*$/, "", folder)
  return folder in may ? folder : top_of(path)
}

# What a room may include it may include whole; a folder of its own room only where it says so.
function is_allowed(from, to,    list) {
  list = " " may[from] " "
  return index(list, " " to " ") > 0 || (to ~ /\// && to != "reactor/base" && top_of(to) != top_of(from "/") && index(list, " " top_of(to) " ") > 0)
}

# A header and its source file are one unit.
function unit_of(path) {
  sub(/\.(h|cpp)$/, "", path)
  return path
}

function folder_of(path) {
  sub(/\/[^\/]*$/, "", path)
  return path
}

# return "no-match";
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
  room = room_of(FILENAME)
  if (FILENAME ~ /\.h$/ && $0 != "#pragma once") wrong(1, "a header begins with #pragma once")
}

is_source && /^ *# *include/ {
  target = $0
  sub(/^ *# *include *["<]/, "", target)
  sub(/[">].*$/, "", target)
  if (target == "uv.h" && !is_test && FILENAME !~ /^reactor\//) wrong(FNR, "uv.h is included in reactor/ only")
  includes[FILENAME] = includes[FILENAME] " " target
  other = room_of(target)
  if ((room in may) && (other in may) && other != room && !is_allowed(room, other))
    wrong(FNR, room " must not include " target)
  else if (!is_test && target ~ /\.h$/ && unit_of(target) != unit_of(FILENAME))
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

# A room's README names its files, as `stem` or `folder/stem`.
FILENAME ~ /^[^\/]+\/README\.md$/ {
  has_readme[room]
  n_quoted = split($0, quoted, "`")
  for (i = 2; i <= n_quoted; i += 2) {
    sub(/[.](h|cpp)$/, "", quoted[i])
    described[room, quoted[i]]
  }
}

# What people may be told of a device (name_of(Outcome)) is explained to them.
/^std::string_view name_of\(Outcome/ { in_outcomes = 1 }
/^}/ { in_outcomes = 0 }
in_outcomes && /return "[a-z]/ { outcomes[quoted_in($0)] = FILENAME ":" FNR }
FILENAME == "docs/concepts.md" || FILENAME == "docs/troubleshooting.md" {
  n_quoted = split($0, quoted, "`")
  for (i = 2; i <= n_quoted; i += 2) explained[FILENAME, quoted[i]]
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

FILENAME == "CMakeLists.txt" && /(foreach\(room|set\(units)/ { units = units " " $0 " " }
FILENAME ~ /CMakeLists\.txt$/ { cmake[FILENAME] = cmake[FILENAME] " " $0 " " }

# The first impure header that a file reaches, however far away; its way there is in `via`.
function impure(path, visited,    list, n, i, found) {
  if (path in visited) return ""
  visited[path]
  n = split(includes[path], list, " ")
  for (i = 1; i <= n; i++) {
    if (list[i] == "uv.h" || (list[i] ~ /^reactor\// && list[i] !~ /^reactor\/base\//)) {
      via = path
      return list[i]
    }
    found = impure(list[i], visited)
    if (found != "") return found
  }
  return ""
}

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

function is_described(path,    home, stem) {
  home = substr(path, 1, index(path, "/") - 1)
  stem = substr(path, length(home) + 2)
  sub(/[.](h|cpp)$/, "", stem)
  if ((home, stem) in described) return 1
  sub(/^.*\//, "", stem)
  return (home, stem) in described
}

function is_named(path, list,    name) {
  name = substr(path, length(folder_of(list)) + 2)
  gsub(/[.]/, "[.]", name)
  return cmake[list] ~ ("[ (/]" name "[ )]")
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
    room = room_of(path)
    delete visited
    if ((path in sized) && !(path in has_cstdint)) wrong(sized[path], "an integer of a named size wants <cstdint>")
    if (path ~ /^(policy|cel|allocation|migrate)\/.*\.(h|cpp)$/) {
      reached = impure(path, visited)
      if (reached != "") wrong(0, "is not pure: it reaches " reached " through " via)
    }
    home = path ~ /^[^\/]+\/.*\.(h|cpp)$/ ? substr(path, 1, index(path, "/") - 1) : ""
    if (home != "t" && (home in has_readme) && !is_described(path)) wrong(0, "is not named in " home "/README.md")
    if ((room in may) && path ~ /\.cpp$/) {
      list = substr(path, 1, index(path, "/")) "CMakeLists.txt"
      if (!is_named(path, list)) wrong(0, "is not named in " list ", so it is never built")
    }
    if (path ~ /^t\/unit\/.*_test\.cpp$/) {
      split(path, parts, "/")
      list = "t/unit/" parts[3] "/CMakeLists.txt"
      if (!is_named(path, list)) wrong(0, "is not named in " list ", so it is never run")
    }
    if (path ~ /^t\/unit\/[^\/]*\/CMakeLists\.txt$/) {
      split(path, parts, "/")
      if (units !~ ("[ \"]" parts[3] "[ )\"]"))
        wrong(0, "its folder is not among the rooms of the root CMakeLists.txt")
    }
  }
}
