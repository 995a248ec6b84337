#pragma once
// IPv4 and IPv6 addresses of Kubernetes' CEL library (ip(), isIP(), ip.isCanonical()).
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "reactor/base/result.h"

namespace sliced::cel {

/// A value. Kubernetes refuses zones and IPv4-mapped IPv6 addresses, so each address has one text.
struct IpAddress {
  int family = 4;                       // 4 or 6
  std::array<uint8_t, 16> octets = {};  // in network order; IPv4 uses the first four, the others are 0

  int bits() const { return family == 4 ? 32 : 128; }
  bool is_unspecified() const;
  bool is_loopback() const;              // 127.0.0.0/8, ::1
  bool is_link_local_multicast() const;  // 224.0.0.0/24, ff02:: with any flags
  bool is_link_local_unicast() const;    // 169.254.0.0/16, fe80::/10
  bool is_global_unicast() const;        // none of these, not multicast, not broadcast; includes private ones
  bool operator==(const IpAddress&) const = default;
};

/// Errors: kInvalid for zones, leading zeros and IPv4-mapped IPv6 addresses (::ffff:1.2.3.4), as for any
/// other text.
Result<IpAddress> decode_ip(std::string_view text);
/// Returns whether the text is an IPv6 address without a zone; IPv4-mapped ones are allowed here.
bool is_ipv6(std::string_view text);
/// Returns RFC 5952: "2001:db8::1". ip.isCanonical(text) is true if decoding and encoding returns the text.
/// The longest run of at least two groups of zeros is "::", the first of equal ones; digits are lower case.
std::string encode_ip(const IpAddress& address);

}  // namespace sliced::cel
