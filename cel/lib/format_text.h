#pragma once
// "...".format([...]) of CEL's strings extension: splits the template, and renders one clause. The evaluator
// renders the elements of lists and maps here and joins them here.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "reactor/base/result.h"

namespace sliced::cel {

/// Kubernetes has the older formatter: "1,234.500000" and "1.500000×10⁰³" in English typography, elements of
/// lists and maps as CEL's literals ("[\"a\", 1.500000]"), no int for %f and %e. The specification differs in
/// all of these.
enum class FormatStyle { kKubernetes, kSpecification };

/// Literal text and the clause after it; the last piece may have none.
struct FormatPiece {
  std::string literal;
  char clause = 0;  // one of "sdfexXob"; 0 for none
  std::optional<int> precision;

  bool operator==(const FormatPiece&) const = default;
};

/// Errors: kInvalid for an unknown or truncated clause, kTooLarge for a precision beyond 255.
Result<std::vector<FormatPiece>> decode_format(std::string_view text);

/// Bytes, distinguished from text: %x renders them as hexadecimal, %s as text.
struct FormatBytes {
  std::string_view octets;
};
/// A value for %s only: null, types, times, lists and maps, with its text.
struct FormatOther {
  std::string_view type;  // CEL's name: "null_type", "google.protobuf.Duration", "list"
  std::string_view text;
};
/// Views must outlive the call.
using FormatArgument =
    std::variant<bool, int64_t, uint64_t, double, std::string_view, FormatBytes, FormatOther>;

/// Renders the argument by the clause's rules, without the piece's literal. Errors: kInvalid for a kind of
/// argument that the clause does not accept.
Result<std::string> render_clause(const FormatPiece& piece, const FormatArgument& argument,
                                  FormatStyle style);
/// Renders the argument as an element of a list or map. Errors: kInvalid for bytes that are not UTF-8.
Result<std::string> render_element(const FormatArgument& argument, FormatStyle style);
/// Returns "[a, b]" of rendered elements.
std::string render_list(const std::vector<std::string>& elements);
/// Joins rendered keys and values, in the order of the keys' texts.
std::string render_map(std::vector<std::pair<std::string, std::string>> entries, FormatStyle style);

}  // namespace sliced::cel
