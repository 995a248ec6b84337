#pragma once
// "...".format([...]) of CEL's strings extension, below its arguments: the template taken apart, and one
// clause filled. The evaluator knows what lists and maps hold; it renders their elements here and puts them
// together here.
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
/// lists and maps as CEL's literals ("[\"a\", 1.500000]"), no int for %f and %e. The specification's has
/// neither.
enum class FormatStyle { kKubernetes, kSpecification };

/// A stretch of literal text and the clause behind it; the last piece may have none.
struct FormatPiece {
  std::string literal;
  char clause = 0;  // one of "sdfexXob"; 0 for none
  std::optional<int> precision;

  bool operator==(const FormatPiece&) const = default;
};

/// kInvalid for a clause that is unknown or cut off, kTooLarge for a precision beyond 255.
Result<std::vector<FormatPiece>> decode_format(std::string_view text);

/// Bytes, told apart from text: %x shows them as hexadecimal, %s as what they spell.
struct FormatBytes {
  std::string_view octets;
};
/// A value that only %s can show: null, types, times, lists and maps, with the text it has there.
struct FormatOther {
  std::string_view type;  // CEL's name: "null_type", "google.protobuf.Duration", "list"
  std::string_view text;
};
/// What the views show must outlive the call.
using FormatArgument =
    std::variant<bool, int64_t, uint64_t, double, std::string_view, FormatBytes, FormatOther>;

/// The argument by the clause's rules, without the piece's literal. kInvalid for an argument of a kind that
/// the clause does not take.
Result<std::string> render_clause(const FormatPiece& piece, const FormatArgument& argument,
                                  FormatStyle style);
/// The argument as element of a list or map. kInvalid for bytes that are no UTF-8.
Result<std::string> render_element(const FormatArgument& argument, FormatStyle style);
/// "[a, b]" of rendered elements.
std::string render_list(const std::vector<std::string>& elements);
/// Of rendered keys and values, in the order of the keys' texts.
std::string render_map(std::vector<std::pair<std::string, std::string>> entries, FormatStyle style);

}  // namespace sliced::cel
