#pragma once
// Addresses of IPv4 and IPv6 as CEL in Kubernetes reads them (ip(), isIP(), ip.isCanonical()).
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "reactor/base/result.h"

namespace sliced::cel {

/// A value. Kubernetes refuses zones and IPv4 written as IPv6, so that there is one text for each address.
struct IpAddress {
  int family = 4;                       // 4 or 6
  std::array<uint8_t, 16> octets = {};  // in network order; of IPv4 the first four, the others 0

  int bits() const { return family == 4 ? 32 : 128; }
  bool is_unspecified() const;
  bool is_loopback() const;              // 127.0.0.0/8, ::1
  bool is_link_local_multicast() const;  // 224.0.0.0/24, ff02:: of any flags
  bool is_link_local_unicast() const;    // 169.254.0.0/16, fe80::/10
  bool is_global_unicast() const;        // none of these, no multicast, no broadcast: private ones too
  bool operator==(const IpAddress&) const = default;
};

/// kInvalid for zones, leading zeros and IPv4 within IPv6 (::ffff:1.2.3.4), as for any other text.
Result<IpAddress> decode_ip(std::string_view text);
/// Whether the text is an address of IPv6 without a zone; here IPv4 within it is allowed.
bool is_ipv6(std::string_view text);
/// RFC 5952: "2001:db8::1". ip.isCanonical(text) holds when decoding and encoding give the text again.
/// The longest run of two or more groups of zeros is "::", the first of equal ones; digits are lower case.
std::string encode_ip(const IpAddress& address);

}  // namespace sliced::cel
