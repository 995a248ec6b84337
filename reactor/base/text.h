#pragma once
// Small text helpers shared by all rooms: escaping of foreign bytes, numbers, stable hashes.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sliced {

/// Views into `text` live as long as what it views.
std::string_view trim(std::string_view text);  // ASCII white space and NUL at both ends
std::vector<std::string_view> split(std::string_view text,
                                    char separator);  // keeps empty parts; views into text
/// No separator before the first and behind the last; "" for none. With one part that is empty, "" too.
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string lower(std::string_view text);  // ASCII only
/// An ASCII digit; false for "".
bool starts_with_digit(std::string_view text);

/// Well-formed throughout (RFC 3629); "" is.
bool is_utf8(std::string_view bytes);
/// Bytes of the well-formed UTF-8 sequence that `bytes` starts with (RFC 3629); 0 when it starts with none.
size_t utf8_length(std::string_view bytes);

/// Foreign bytes made fit for a terminal, a log line or an error text: control bytes, quotes, backslash,
/// invalid UTF-8, and what is not seen or turns the direction of a line (U+202E) become \xHH; cut at size_max
/// bytes with "...".
/// size_max bounds what is written and not what is read, so that an escape may exceed it by three bytes, and
/// the three dots come on top.
std::string escaped(std::string_view bytes, size_t size_max = 256);
/// escaped(), but quotes and backslashes stay: fit for a terminal where nobody reads it back, also when parts
/// of it are escaped already.
std::string printable(std::string_view bytes, size_t size_max = 256);
/// printable(), but line ends stay: of what another program has said, which people read as it said it.
std::string printable_lines(std::string_view bytes, size_t size_max);
/// The longest prefix of whole UTF-8 sequences within size_max bytes, "..." included; the text itself where
/// it fits.
std::string cut(std::string text, size_t size_max);
/// escaped() between double quotes. (Not "quoted": std::quoted would be found for a std::string.)
std::string in_quotes(std::string_view bytes, size_t size_max = 256);

/// FNV-1a, 64 bits: stable over runs, machines and versions (names of slices are made of it). Not for
/// security.
uint64_t stable_hash(std::string_view bytes);
/// The last `digits` lower-case hexadecimal digits of value, zero-padded.
std::string hex(uint64_t value, int digits);

/// Whole text as a decimal number; no sign for unsigned, no white space. nullopt on junk or overflow.
std::optional<int64_t> parse_int(std::string_view text);
std::optional<uint64_t> parse_hex(std::string_view text);  // without 0x

/// The candidate nearest to `word` for a "did you mean" remark; empty when none is near. Nothing is near a
/// word, and no candidate is, of more than 128 bytes: comparing costs the product of the lengths.
/// Near is at most a third of the word's length in edits (insert, remove, replace), at least one; upper and
/// lower case count as the same. Of several equally near the first.
std::string nearest(std::string_view word, const std::vector<std::string_view>& candidates);

/// As people sort: runs of digits by their value, so that "worker-2" comes before "worker-10". A strict order of texts: equal ones
/// alone are equivalent.
bool natural_less(std::string_view one, std::string_view other);

}  // namespace sliced
