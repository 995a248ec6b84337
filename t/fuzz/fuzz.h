#pragma once
// What the targets share. A target is handed bytes that anybody may have written; beside the sanitizers it is
// judged by what must() demands.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "kube/objects/yaml.h"
#include "reactor/base/result.h"
#include "reactor/base/text.h"

/// FUZZ_TARGET(name) { ... } handles `data` and `size`, and returns 0. With SLICED_FUZZ it is libFuzzer's only function;
/// without it one of targets().
#ifdef SLICED_FUZZ
#define FUZZ_TARGET(name) extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
#else
#define FUZZ_TARGET(name)                                                           \
  static int take(const uint8_t* data, size_t size);                                \
  [[maybe_unused]] static const ::sliced::fuzz::Registered registered(#name, take); \
  static int take(const uint8_t* data, size_t size)
#endif

namespace sliced::fuzz {

/// Each by the name that its file and its folder of inputs have.
using Take = int (*)(const uint8_t* data, size_t size);
inline std::map<std::string, Take>& targets() {
  static std::map<std::string, Take> all;
  return all;
}
struct Registered {
  Registered(const char* name, Take take) { targets()[name] = take; }
};

inline void must(bool holds, const char* what, std::string_view detail = {}) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n%.*s\n", what, static_cast<int>(detail.size()), detail.data());
  std::abort();
}

/// A text of ours may go to a terminal and a log: no bytes that are not text, and not the whole input.
inline void check_text(std::string_view text) {
  must(is_utf8(text), "a message is UTF-8", text);
  must(text.size() < 8192, "a message is bounded", text);
}
inline void check(const Error& error) { check_text(error.what); }
template <class Problems>
void check_problems(const Problems& problems) {
  for (const auto& problem : problems) check_text(problem.what);
}

/// The input, piece by piece; an empty input gives zeros and empty pieces.
struct Input {
  Input(const uint8_t* data, size_t size) : rest(reinterpret_cast<const char*>(data), size) {}

  uint8_t byte() {
    if (rest.empty()) return 0;
    const auto first = static_cast<uint8_t>(rest.front());
    rest.remove_prefix(1);
    return first;
  }
  /// Up to the separator, which is taken as well.
  std::string_view until(char separator) {
    const size_t end = rest.find(separator);
    const std::string_view piece = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    return piece;
  }

  std::string_view rest;
};

/// The documents of a text as the daemon reads files: YAML, of which JSON is a part.
inline std::vector<kube::Json> documents_of(std::string_view text) {
  kube::YamlDocuments decoded = kube::decode_yaml(text);
  check_problems(decoded.problems);
  return std::move(decoded.documents);
}

}  // namespace sliced::fuzz
