#include "snapshot/aliases.h"

#include <algorithm>
#include <cstdint>

#include "reactor/base/text.h"

namespace sliced::snapshot {
namespace {

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_word(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

constexpr size_t kPairsMin = 6;  // a MAC's; an InfiniBand address has 20, a GUID 8

// The length of "aa:bb:..." at the beginning, of six pairs at least; 0 for anything else. A pair stands alone: what has more
// digits between colons is an IPv6 address or a PCI one.
size_t address_length(std::string_view text) {
  size_t pairs = 0, at = 0;
  while (at + 2 <= text.size() && is_hex(text[at]) && is_hex(text[at + 1])) {
    ++pairs;
    at += 2;
    if (at < text.size() && is_word(text[at])) return 0;
    if (at + 2 >= text.size() || text[at] != ':' || !is_hex(text[at + 1]) || !is_hex(text[at + 2])) break;
    ++at;
  }
  return pairs >= kPairsMin ? pairs * 3 - 1 : 0;
}

bool means_nobody(std::string_view address) {
  const auto all = [&](char digit) {
    return std::all_of(address.begin(), address.end(), [digit](char c) { return c == ':' || c == digit; });
  };
  return all('0') || all('f') || all('F');
}

}  // namespace

void Aliases::add_word(const std::string& word, std::string alias) {
  if (!std::all_of(word.begin(), word.end(), is_hex)) add(word, std::move(alias));
}

void Aliases::add(const std::string& word, std::string alias) {
  if (std::any_of(words_.begin(), words_.end(), [&](const auto& one) { return one.first == word; })) return;
  words_.emplace_back(word, std::move(alias));
  std::stable_sort(words_.begin(), words_.end(),
                   [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
}

void Aliases::add_digits(const std::string& digits) {
  if (digits.size() < 6 || !std::all_of(digits.begin(), digits.end(), is_hex)) return;
  if (digits.find_first_not_of('0') == std::string::npos) return;
  const auto known =
      std::find_if(words_.begin(), words_.end(), [&](const auto& one) { return one.first == digits; });
  if (known != words_.end()) return;
  std::string alias = hex(++digits_, static_cast<int>(std::min<size_t>(digits.size(), 16)));
  alias.insert(0, digits.size() - alias.size(), '0');
  add(digits, std::move(alias));
}

// The vendor's three bytes stay: of a GUID they are the first, of an InfiniBand address those of the GUID at its end.
std::string Aliases::address_alias(std::string_view address) {
  const std::string key = lower(address);
  const auto known = addresses_.find(key);
  std::string alias;
  if (known != addresses_.end()) {
    alias = known->second;
  } else {
    const size_t pairs = (address.size() + 1) / 3;
    const size_t own = pairs == kPairsMin ? 3 : 5;  // bytes that are the device's own
    alias = key;
    uint64_t number = addresses_.size() + 1;
    for (size_t i = 0; i < own; ++i, number >>= 8)
      alias.replace((pairs - 1 - i) * 3, 2, hex(number & 0xff, 2));
    addresses_.emplace(key, alias);
  }
  if (std::any_of(address.begin(), address.end(), [](char c) { return c >= 'A' && c <= 'F'; }))
    std::transform(alias.begin(), alias.end(), alias.begin(),
                   [](char c) { return c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c; });
  return alias;
}

std::string Aliases::replaced(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const bool begins = at == 0 || !is_word(text[at - 1]);
    const std::string_view rest = text.substr(at);
    if (begins) {
      const auto word = std::find_if(words_.begin(), words_.end(), [&](const auto& one) {
        const size_t end = one.first.size();
        return rest.starts_with(one.first) && (end == rest.size() || !is_word(rest[end]));
      });
      if (word != words_.end()) {
        out += word->second;
        at += word->first.size();
        continue;
      }
      const bool may_begin = at == 0 || text[at - 1] != ':';
      if (const size_t length = may_begin ? address_length(rest) : 0; length > 0) {
        const std::string_view address = rest.substr(0, length);
        out += means_nobody(address) ? std::string(address) : address_alias(address);
        at += length;
        continue;
      }
    }
    out += text[at++];
  }
  return out;
}

}  // namespace sliced::snapshot
