#include "cli/snapshot/aliases.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "reactor/base/text.h"

namespace sliced::snapshot {
namespace {

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_word(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_all_hex(std::string_view text) { return std::all_of(text.begin(), text.end(), is_hex); }

// For a partial address: four pairs are more than a vendor's three bytes.
constexpr size_t kPairsMin = 4, kDashedPairsMin = 6;
constexpr size_t kWholePairs = 6;  // of a MAC
constexpr size_t kVendorDigits = 6;
constexpr size_t kGuidDigits = 16, kInfiniBandDigits = 40;
constexpr size_t kBareDigits[] = {kGuidDigits, 12};
constexpr size_t kNumberMax = 5;  // digits of a possible number

struct Groups {
  size_t count = 0, length = 0;  // length: in bytes, without a separator at the end
};

// Returns groups of that width with that separator in between; none if the last one is longer, because it is
// not an address.
Groups groups_of(std::string_view text, size_t width, char separator) {
  Groups out;
  for (size_t at = 0;; ++at) {
    if (at + width > text.size() || !is_all_hex(text.substr(at, width))) return out;
    at += width;
    if (at < text.size() && is_word(text[at])) return out.count >= kWholePairs ? out : Groups{};
    out = {out.count + 1, at};
    if (at + 1 >= text.size() || text[at] != separator || !is_hex(text[at + 1])) return out;
    const bool is_half = at + 2 == text.size() || !is_word(text[at + 2]);
    if (width == 2 && is_half) return {out.count, at + 2};  // prefix of an address: "aa:bb:cc:dd:e"
  }
}

// Returns the length of an address, or of an address prefix, at the beginning of a text; 0 for other texts.
size_t address_length(std::string_view text) {
  if (const Groups pairs = groups_of(text, 2, ':'); pairs.count >= kPairsMin) return pairs.length;
  if (const Groups pairs = groups_of(text, 2, '-'); pairs.count >= kDashedPairsMin) return pairs.length;
  if (const Groups guid = groups_of(text, 4, ':'); guid.count == 4) return guid.length;
  if (const Groups dotted = groups_of(text, 4, '.'); dotted.count == 3) return dotted.length;
  return 0;
}

std::string digits_of(std::string_view address) {
  std::string out;
  std::copy_if(address.begin(), address.end(), std::back_inserter(out), is_hex);
  return lower(out);
}

bool means_nobody(std::string_view digits) {
  return digits.find_first_not_of('0') == std::string_view::npos ||
         digits.find_first_not_of('f') == std::string_view::npos;
}

// A letter after a backslash belongs to the escape: "\nworker-1" in a text within a text.
bool begins_at(std::string_view text, size_t at) {
  return at == 0 || !is_word(text[at - 1]) || (at >= 2 && text[at - 2] == '\\');
}

size_t run_length(std::string_view text) {
  return static_cast<size_t>(std::find_if_not(text.begin(), text.end(), is_word) - text.begin());
}

}  // namespace

void Aliases::add_word(const std::string& word, const std::string& alias) {
  const bool is_hexadecimal = is_all_hex(word);
  if (is_hexadecimal && word.size() <= kNumberMax) {
    if (!word.empty()) numbers_.emplace(word, alias);
    return;
  }
  const bool is_nobody_elses = is_hexadecimal || word.find_first_of("-.") != std::string::npos;
  add(word, alias, is_nobody_elses ? Place::kNames : Place::kText);
}

void Aliases::add(const std::string& word, const std::string& alias, Place place) {
  if (!word.empty()) words_[word.size()].try_emplace(lower(word), Word{alias, place});
}

void Aliases::add_digits(const std::string& digits) {
  if (digits.size() < 6 || !is_all_hex(digits) || means_nobody(lower(digits))) return;
  if (const auto known = words_.find(digits.size());
      known != words_.end() && known->second.contains(lower(digits)))
    return;
  std::string alias = hex(++digits_, static_cast<int>(std::min<size_t>(digits.size(), 16)));
  alias.insert(0, digits.size() - alias.size(), '0');
  add(digits, alias, Place::kNames);
}

void Aliases::note(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = begins_at(text, at) ? address_length(text.substr(at)) : 0;
    if (length > 0) {
      const std::string digits = digits_of(text.substr(at, length));
      if (!means_nobody(digits)) addresses_.insert(digits);
    }
    at += std::max<size_t>(length, 1);
  }
}

// Replaces each digit depending on all digits before it: by 1 to f, then 0, in the order of their appearance.
// In an InfiniBand address only the GUID at its end is replaced.
std::string Aliases::alias_of(std::string_view address) {
  const std::string digits = digits_of(address);
  const size_t begin = digits.size() == kInfiniBandDigits ? digits.size() - kGuidDigits : 0;
  const bool is_upper =
      std::any_of(address.begin(), address.end(), [](char c) { return c >= 'A' && c <= 'F'; });
  std::string out(address);
  size_t number = 0;
  for (char& c : out) {
    if (!is_hex(c) || number++ < begin + kVendorDigits) continue;
    const std::string before = digits.substr(begin, number - 1 - begin), whole = before + digits[number - 1];
    auto alias = nibbles_.find(whole);
    if (alias == nibbles_.end()) {
      const size_t next = ++siblings_[before] % 16;
      alias = nibbles_.emplace(whole, "0123456789abcdef"[next]).first;
    }
    const char its = alias->second;
    c = is_upper && its >= 'a' ? static_cast<char>(its - 'a' + 'A') : its;
  }
  return out;
}

// Letters and digits without separators, which may contain a known address.
void Aliases::replace_run(std::string_view run, std::string& out) {
  const std::string small = lower(run);
  for (size_t at = 0; at < run.size();) {
    size_t length = 0;
    for (const size_t digits : kBareDigits)
      if (length == 0 && at + digits <= run.size() && addresses_.contains(small.substr(at, digits)))
        length = digits;
    out += length > 0 ? alias_of(run.substr(at, length)) : std::string(1, run[at]);
    at += std::max<size_t>(length, 1);
  }
}

auto Aliases::word_at(std::string_view rest, Place place) const -> const Words::value_type* {
  for (const auto& [length, words] : words_) {
    if (rest.size() < length || (length < rest.size() && is_word(rest[length]))) continue;
    const auto found = words.find(lower(rest.substr(0, length)));
    if (found != words.end() && (place == Place::kText || found->second.place == Place::kNames))
      return &*found;
  }
  return nullptr;
}

std::string Aliases::replaced(std::string_view text, Place place) {
  const auto number = numbers_.find(lower(text));
  if (place == Place::kText && number != numbers_.end()) return number->second;
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    if (!is_word(text[at])) {
      out += text[at++];
      continue;
    }
    if (const auto* word = begins_at(text, at) ? word_at(rest, place) : nullptr) {
      out += word->second.alias;
      at += word->first.size();
    } else if (const size_t length = begins_at(text, at) ? address_length(rest) : 0; length > 0) {
      const std::string_view address = rest.substr(0, length);
      out += means_nobody(digits_of(address)) ? std::string(address) : alias_of(address);
      at += length;
    } else {
      // A letter after a backslash is an escape, so the text after it may begin a word.
      const bool is_escape = at > 0 && text[at - 1] == '\\';
      const size_t run = is_escape ? 1 : run_length(rest);
      replace_run(rest.substr(0, run), out);
      at += run;
    }
  }
  return out;
}

}  // namespace sliced::snapshot
