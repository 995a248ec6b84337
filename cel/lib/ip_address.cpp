#include "cel/lib/ip_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "reactor/base/text.h"

namespace sliced::cel {
namespace {

constexpr int kGroups = 8;

unsigned group(const IpAddress& address, int i) {
  const size_t at = 2 * static_cast<size_t>(i);
  return address.octets[at] * 256u + address.octets[at + 1];
}

bool is_ipv4_in_ipv6(const IpAddress& address) {
  for (int i = 0; i < 5; ++i)
    if (group(address, i) != 0) return false;
  return address.family == 6 && group(address, 5) == 0xffff;
}

bool is_multicast(const IpAddress& address) {
  return address.family == 4 ? address.octets[0] >> 4 == 14 : address.octets[0] == 0xff;
}

bool is_broadcast(const IpAddress& address) {
  return address.family == 4 && std::all_of(address.octets.begin(), address.octets.begin() + 4,
                                            [](uint8_t octet) { return octet == 255; });
}

// The longest run of zero groups, the first of equal ones: [begin, end). A single group does not count.
std::pair<int, int> longest_gap(const IpAddress& address) {
  std::pair<int, int> best = {kGroups, kGroups};
  for (int begin = 0, end = 0; begin < kGroups; begin = end + 1) {
    for (end = begin; end < kGroups && group(address, end) == 0;) ++end;
    if (end - begin >= 2 && end - begin > best.second - best.first) best = {begin, end};
  }
  return best;
}

std::optional<IpAddress> read_ip(std::string_view text) {
  IpAddress address;
  address.family = text.find(':') == std::string_view::npos ? 4 : 6;
  // inet_pton stops at a NUL.
  if (text.size() >= INET6_ADDRSTRLEN || text.find('\0') != std::string_view::npos) return std::nullopt;
  const int family = address.family == 4 ? AF_INET : AF_INET6;
  if (inet_pton(family, std::string(text).c_str(), address.octets.data()) != 1) return std::nullopt;
  return address;
}

Error refused_ip(std::string_view text, std::string_view why) {
  return {Errc::kInvalid, "IP address " + in_quotes(text) + ": " + std::string(why)};
}

}  // namespace

bool IpAddress::is_unspecified() const { return octets == IpAddress{}.octets; }

bool IpAddress::is_loopback() const {
  if (family == 4) return octets[0] == 127;
  return std::all_of(octets.begin(), octets.end() - 1, [](uint8_t octet) { return octet == 0; }) &&
         octets[15] == 1;
}

bool IpAddress::is_link_local_multicast() const {
  if (family == 4) return octets[0] == 224 && octets[1] == 0 && octets[2] == 0;
  return octets[0] == 0xff && (octets[1] & 0x0f) == 2;
}

bool IpAddress::is_link_local_unicast() const {
  if (family == 4) return octets[0] == 169 && octets[1] == 254;
  return octets[0] == 0xfe && (octets[1] & 0xc0) == 0x80;
}

bool IpAddress::is_global_unicast() const {
  return !is_unspecified() && !is_loopback() && !is_multicast(*this) && !is_link_local_unicast() &&
         !is_broadcast(*this);
}

Result<IpAddress> decode_ip(std::string_view text) {
  if (text.find('%') != std::string_view::npos) return refused_ip(text, "a zone is not allowed");
  const auto address = read_ip(text);
  if (!address) return refused_ip(text, "not an IPv4 or IPv6 address");
  if (is_ipv4_in_ipv6(*address)) return refused_ip(text, "IPv4 within IPv6 is not allowed");
  return *address;
}

bool is_ipv6(std::string_view text) {
  const auto address = read_ip(text);
  return address && address->family == 6;
}

std::string encode_ip(const IpAddress& address) {
  std::string text;
  if (address.family == 4) {
    for (size_t i = 0; i < 4; ++i) text += (i == 0 ? "" : ".") + std::to_string(address.octets[i]);
    return text;
  }
  const auto [begin, end] = longest_gap(address);
  for (int i = 0; i < kGroups; ++i) {
    if (i == begin) {
      text += "::";
      i = end;
      if (i == kGroups) break;
    } else if (i > 0) {
      text += ':';
    }
    const std::string digits = hex(group(address, i), 4);
    text += digits.substr(std::min<size_t>(digits.find_first_not_of('0'), 3));
  }
  return text;
}

}  // namespace sliced::cel
