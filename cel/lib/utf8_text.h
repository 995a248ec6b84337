#pragma once
// CEL's strings: sequences of code points, kept as UTF-8. The strings extension in version 2, as Kubernetes
// has it.
// Shapes: every text given is valid UTF-8; positions and lengths count code points; views that come back
//         lie in the text that was given.
// Errors: kInvalid for a position outside of the text, kTooLarge for a result beyond bytes_max.
// Time:   linear, but for searching, which takes the product of both lengths at worst.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reactor/base/result.h"

namespace sliced::cel {

/// The room for one made string.
constexpr size_t kTextBytesMax = size_t{1} << 20;

/// size(text).
int64_t code_points(std::string_view text);
/// One character; "" exactly at the end.
Result<std::string_view> char_at(std::string_view text, int64_t at);
/// From `begin` to the end, or up to before `end`.
Result<std::string_view> substring(std::string_view text, int64_t begin,
                                   std::optional<int64_t> end = std::nullopt);

/// Where `part` is first found, not before `from`; -1 when nowhere, also for a `from` past the end. An empty
/// part is found at `from`, wherever that is (upstream's).
Result<int64_t> index_of(std::string_view text, std::string_view part, int64_t from = 0);
/// Where `part` is last found, not after `from`; otherwise as index_of.
Result<int64_t> last_index_of(std::string_view text, std::string_view part,
                              std::optional<int64_t> from = std::nullopt);

/// At most `limit` parts, the last of them uncut; all for a negative limit, none for 0. An empty separator
/// cuts between all characters.
std::vector<std::string_view> split_text(std::string_view text, std::string_view separator,
                                         int64_t limit = -1);
/// At most `limit` replacements, all for a negative limit. An empty `old` is found before every character and
/// at the end.
Result<std::string> replace_text(std::string_view text, std::string_view old, std::string_view with,
                                 int64_t limit = -1, size_t bytes_max = kTextBytesMax);
Result<std::string> join_texts(const std::vector<std::string_view>& parts, std::string_view separator,
                               size_t bytes_max = kTextBytesMax);

/// Without Unicode's White_Space at both ends.
std::string_view trim_text(std::string_view text);
/// Letters of ASCII alone change.
std::string lower_ascii(std::string_view text);
std::string upper_ascii(std::string_view text);
/// strings.quote: between double quotes, with CEL's escapes for \a \b \f \n \r \t \v \ and ". Other control
/// characters stay as they are.
std::string quote_text(std::string_view text);

}  // namespace sliced::cel
