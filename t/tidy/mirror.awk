# A mirror, never a reason to split what belongs together: lengths of files and functions and the share of comments, a
# line a room; then what is long (files of more than 500 lines, functions of more than 60, in t/ of 100). A function is what begins in the first column with a line that ends in '{' and ends with a '}' there.

function room_of(path) {
  if (path ~ /^t\//) return "t"
  if (path ~ /^reactor\/base\//) return "reactor/base"
  return path ~ /\// ? substr(path, 1, index(path, "/") - 1) : path
}

function end_of_file() {
  if (file == "") return
  n_files[room]++
  file_lines[room, n_files[room]] = lines
  if (room != "t" && lines > 500) long[++n_long] = file ": " lines " lines"
}

FNR == 1 {
  end_of_file()
  file = FILENAME
  room = room_of(file)
  rooms[room]
  kind = file ~ /\.h$/ ? "h" : "cpp"
  lines = 0
  started = 0
}
{
  lines++
  if ($0 !~ /^[ \t]*$/) {
    solid[room, kind]++
    if ($0 ~ /^[ \t]*\/\//) comments[room, kind]++
  }
}
/^[A-Za-z].*[)a-z] \{$/ && !/^(namespace|struct|class|enum|union|constexpr|extern)/ { started = FNR }
/^\}$/ && started {
  n_functions[room]++
  function_lines[room, n_functions[room]] = FNR - started + 1
  if (FNR - started >= (room == "t" ? 100 : 60)) long[++n_long] = FILENAME ":" started ": a function of " FNR - started + 1 " lines"
  started = 0
}

# Median, 90th percentile and largest of values[room, 1..n].
function spread(values, room, n,    sorted, i, j, v) {
  for (i = 1; i <= n; i++) {
    v = values[room, i]
    for (j = i - 1; j > 0 && sorted[j] > v; j--) sorted[j + 1] = sorted[j]
    sorted[j + 1] = v
  }
  return n ? sprintf("%5d %5d %5d", sorted[int((n + 1) / 2)], sorted[int(n * 0.9 + 0.999)], sorted[n]) : "    -     -     -"
}

function share(part, whole) { return whole ? sprintf("%3d %%", 100 * part / whole) : "  -  " }

END {
  end_of_file()
  printf "%-14s %5s  %-17s  %-17s  %-13s %6s\n", "room", "files", "file med p90 max", "fn med p90 max", "comments c/h", "lines"
  for (room in rooms) {
    total = solid[room, "cpp"] + solid[room, "h"]
    if (room == "t") tests = total
    else {
      code += total
      prose += comments[room, "h"]
      headers += solid[room, "h"]
    }
    row = sprintf("%-14s %5d %s  %s   %s %s %8d", room, n_files[room], spread(file_lines, room, n_files[room]),
                  spread(function_lines, room, n_functions[room]), share(comments[room, "cpp"], solid[room, "cpp"]),
                  share(comments[room, "h"], solid[room, "h"]), total)
    print row | "sort"
  }
  close("sort")
  printf "tests : code, lines %d : %d\n", tests, code
  if (headers) printf "headers of rooms: %.1f %% prose (wanted: 30 %%)\n", 100 * prose / headers
  for (i = 1; i <= n_long; i++) print "long: " long[i]
}
