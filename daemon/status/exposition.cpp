#include "daemon/status/exposition.h"

#include <cassert>
#include <cstdio>

#include "reactor/base/text.h"

namespace sliced::status {
namespace {

constexpr size_t kLabelBytesMax = 256;

std::string label_value(std::string_view value) {
  std::string out;
  for (const char c :
       is_utf8(value) ? cut(std::string(value), kLabelBytesMax) : escaped(value, kLabelBytesMax)) {
    if (c == '\\' || c == '"') out += '\\';
    c == '\n' ? out += "\\n" : out += c;
  }
  return out;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

}  // namespace

void Exposition::begin(std::string_view name, std::string_view type, std::string_view help) {
  assert(help.find_first_of("\n\\") == std::string_view::npos);
  name_ = name;
  out_ += "# HELP " + std::string(name) + " " + std::string(help) + "\n# TYPE " + std::string(name) + " " +
          std::string(type) + "\n";
}

void Exposition::line(std::string_view suffix, const Labels& labels, const std::string& value) {
  out_ += std::string(name_) + std::string(suffix);
  for (size_t i = 0; i < labels.size(); ++i)
    out_ +=
        (i == 0 ? "{" : ",") + std::string(labels[i].first) + "=\"" + label_value(labels[i].second) + "\"";
  out_ += (labels.empty() ? " " : "} ") + value + "\n";
}

void Exposition::sample(uint64_t value, const Labels& labels) { line("", labels, std::to_string(value)); }

void Exposition::seconds(double value, const Labels& labels) { line("", labels, number(value)); }

void Exposition::sample(const DurationHistogram& durations, const Labels& labels) {
  Labels bounded = labels;
  bounded.emplace_back("le", "");
  uint64_t all = 0;
  for (size_t i = 0; i < durations.counts.size(); ++i) {
    all += durations.counts[i];
    bounded.back().second = i < DurationHistogram::kBoundsMs.size()
                                ? number(static_cast<double>(DurationHistogram::kBoundsMs[i]) / 1e3)
                                : "+Inf";
    line("_bucket", bounded, std::to_string(all));
  }
  line("_sum", labels, number(static_cast<double>(durations.sum.count()) / 1e3));
  line("_count", labels, std::to_string(all));
}

}  // namespace sliced::status
