#pragma once
// What tests ask of the text of a page /metrics, and of docs/metrics.md.
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

namespace sliced::status {

// What promtool asks of a text, with the rules of the format: each family has HELP and TYPE once and before its
// samples, stands in one piece, has no sample twice, and counters say so by their names.
inline std::string wrong_with_metrics(const std::string& text) {
  std::map<std::string, std::string> types;
  std::set<std::string> helped, samples;
  std::string family;
  std::istringstream lines(text);
  if (!text.ends_with('\n')) return "no end of line at the end";
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first, what, name;
    words >> first >> what >> name;
    if (first == "#" && what == "HELP") {
      if (!helped.insert(name).second) return "twice: " + line;
      family = name;
      continue;
    }
    if (first == "#" && what == "TYPE") {
      std::string type;
      words >> type;
      if (name != family || !types.emplace(name, type).second) return "not behind its HELP: " + line;
      if ((type == "counter") != name.ends_with("_total")) return "a counter is called _total: " + line;
      continue;
    }
    const size_t value = line.rfind(' ');
    const std::string sample = line.substr(0, value);
    const std::string metric = sample.substr(0, sample.find('{'));
    if (!samples.insert(sample).second) return "twice: " + line;
    const bool is_of_family =
        metric == family ||
        (types[family] == "histogram" &&
         (metric == family + "_bucket" || metric == family + "_sum" || metric == family + "_count"));
    if (!is_of_family) return "of another family: " + line;
    char* end = nullptr;
    std::strtod(line.c_str() + value + 1, &end);
    if (*end != '\0') return "no number: " + line;
  }
  return "";
}

/// Names of the families.
inline std::set<std::string> names_of_metrics(const std::string& text) {
  std::set<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("# TYPE ")) out.insert(line.substr(7, line.find(' ', 7) - 7));
  return out;
}

/// Those of the page's table behind a line that begins so.
inline std::set<std::string> documented_metrics(const std::string& begins) {
  std::ifstream page(SLICED_DOCS "/metrics.md");
  std::set<std::string> out;
  bool is_there = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("`/metrics`")) is_there = line.starts_with(begins);
    if (!is_there || !line.starts_with("| `")) continue;
    const std::string cell = line.substr(0, line.find(" |", 1));
    for (size_t at = cell.find('`'); at != std::string::npos; at = cell.find('`', at + 1)) {
      const size_t end = cell.find('`', at + 1);
      out.insert(cell.substr(at + 1, end - at - 1));
      at = end;
    }
  }
  return out;
}

}  // namespace sliced::status
