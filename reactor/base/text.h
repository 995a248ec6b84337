#pragma once
// Text helpers: escaping of foreign bytes, numbers, stable hashes. Returned views refer to the argument.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sliced {

std::string_view trim(std::string_view text);  // ASCII white space and NUL at both ends
std::vector<std::string_view> split(std::string_view text,
                                    char separator);  // keeps empty parts; views into text
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string lower(std::string_view text);  // ASCII only
bool starts_with_digit(std::string_view text);

/// Returns true for well-formed UTF-8 (RFC 3629) and "".
bool is_utf8(std::string_view bytes);
/// Returns the length of the UTF-8 sequence at the start of `bytes`; 0 if it is invalid.
size_t utf8_length(std::string_view bytes);

/// Escapes foreign bytes for terminals, log lines and errors: control bytes, quotes, backslash, invalid
/// UTF-8, and invisible or direction-changing characters (U+202E) become \xHH. Cuts the result at about
/// size_max bytes and appends "...".
std::string escaped(std::string_view bytes, size_t size_max = 256);
/// As escaped(), but keeps quotes and backslashes; for text that is not parsed again or is partly escaped
/// already.
std::string printable(std::string_view bytes, size_t size_max = 256);
/// As printable(), but keeps line ends; for the output of other programs.
std::string printable_lines(std::string_view bytes, size_t size_max);
/// Shortens the text to whole UTF-8 sequences within size_max bytes, "..." included.
std::string cut(std::string text, size_t size_max);
/// escaped() between double quotes. (Not "quoted": std::quoted would be found for a std::string.)
std::string in_quotes(std::string_view bytes, size_t size_max = 256);

/// Returns the FNV-1a hash, 64 bits: stable over runs, machines and versions (used in names of slices). Not
/// cryptographic.
uint64_t stable_hash(std::string_view bytes);
/// Returns the last `digits` lower-case hexadecimal digits, zero-padded.
std::string hex(uint64_t value, int digits);

/// Parses the whole text as a decimal number; nullopt on white space, invalid text or overflow.
std::optional<int64_t> parse_int(std::string_view text);
std::optional<uint64_t> parse_hex(std::string_view text);  // without 0x

/// Returns the candidate nearest to `word` for "did you mean"; "" if none is near: at most a third of the
/// word's length in edits (insert, remove, replace; at least one), without regard to case. The first of
/// equally near ones. Words of more than 128 bytes match nothing, because the cost is the product of the
/// lengths.
std::string nearest(std::string_view word, const std::vector<std::string_view>& candidates);

/// Natural order: digits are compared by value, so that "worker-2" precedes "worker-10". A strict total order
/// of texts.
bool natural_less(std::string_view one, std::string_view other);

}  // namespace sliced
