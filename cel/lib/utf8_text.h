#pragma once
// CEL's strings: sequences of code points, stored as UTF-8. Version 2 of the strings extension, as in
// Kubernetes.
// Requires: every argument is valid UTF-8. Positions and lengths count code points; returned views refer to
// the argument.
// Errors: kInvalid for a position outside the text, kTooLarge for a result beyond bytes_max.
// Time: linear, except for searching, whose worst case is the product of both lengths.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reactor/base/result.h"

namespace sliced::cel {

/// Limit of one created string.
constexpr size_t kTextBytesMax = size_t{1} << 20;

/// size(text).
int64_t code_points(std::string_view text);
/// Returns one character; "" exactly at the end.
Result<std::string_view> char_at(std::string_view text, int64_t at);
/// Returns the text from `begin` to the end, or to before `end`.
Result<std::string_view> substring(std::string_view text, int64_t begin,
                                   std::optional<int64_t> end = std::nullopt);

/// Returns the first position of `part` from `from` on; -1 if there is none, also for a `from` beyond the
/// end. An empty part is found at `from`, wherever that is (as upstream).
Result<int64_t> index_of(std::string_view text, std::string_view part, int64_t from = 0);
/// Returns the last position of `part`, at most `from`; otherwise as index_of.
Result<int64_t> last_index_of(std::string_view text, std::string_view part,
                              std::optional<int64_t> from = std::nullopt);

/// Returns at most `limit` parts, the last of them unsplit; all for a negative limit, none for 0. An empty
/// separator splits between all characters.
std::vector<std::string_view> split_text(std::string_view text, std::string_view separator,
                                         int64_t limit = -1);
/// Makes at most `limit` replacements, all for a negative limit. An empty `old` is found before every
/// character and at the end.
Result<std::string> replace_text(std::string_view text, std::string_view old, std::string_view with,
                                 int64_t limit = -1, size_t bytes_max = kTextBytesMax);
Result<std::string> join_texts(const std::vector<std::string_view>& parts, std::string_view separator,
                               size_t bytes_max = kTextBytesMax);

/// Removes Unicode's White_Space at both ends.
std::string_view trim_text(std::string_view text);
/// Change ASCII letters only.
std::string lower_ascii(std::string_view text);
std::string upper_ascii(std::string_view text);
/// strings.quote: in double quotes, with CEL's escapes for \a \b \f \n \r \t \v \ and ". Other control
/// characters are unchanged.
std::string quote_text(std::string_view text);

}  // namespace sliced::cel
