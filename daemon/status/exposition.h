#pragma once
// Prometheus' text format 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/). Pure.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reactor/base/durations.h"

namespace sliced::status {

using Labels =
    std::vector<std::pair<std::string_view, std::string>>;  // names are literals; values are unescaped

/// Writes families one after the other, each with its HELP and TYPE; samples belong to the last one. Label
/// values are truncated at 256 bytes and escaped as the format requires; bytes that are not UTF-8 become \xHH
/// first.
class Exposition {
 public:
  /// Names are views that must be valid until the next family begins; labels during their call. name:
  /// [a-z_]+; that of a counter ends in _total. help: a literal of one line.
  void counter(std::string_view name, std::string_view help) { begin(name, "counter", help); }
  void gauge(std::string_view name, std::string_view help) { begin(name, "gauge", help); }
  /// In seconds.
  void histogram(std::string_view name, std::string_view help) { begin(name, "histogram", help); }

  /// Adds a sample to the current family. Requires: two samples of one family have different labels (not
  /// checked).
  void sample(uint64_t value, const Labels& labels = {});
  /// Three decimals, because durations are measured in milliseconds.
  void seconds(double value, const Labels& labels = {});
  /// Cumulative buckets, then _sum in seconds and _count.
  void sample(const DurationHistogram& durations, const Labels& labels = {});

  /// Returns the text; the object is empty afterwards.
  std::string take() { return std::move(out_); }
  static constexpr const char* kContentType = "text/plain; version=0.0.4; charset=utf-8";

 private:
  void begin(std::string_view name, std::string_view type, std::string_view help);
  void line(std::string_view suffix, const Labels& labels, const std::string& value);
  std::string_view name_;
  std::string out_;
};

}  // namespace sliced::status
