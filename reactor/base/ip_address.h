#pragma once
// IP addresses and prefixes as values. Texts are read like inet_pton(3) (no zone, no leading zeros) and
// written like inet_ntop(3).
#include <array>
#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace sliced {

/// An IPv4 or IPv6 address. Ordered by value, with an IPv4 address as ::ffff:10.0.0.1, as Go orders net.IP.
class IpAddress {
 public:
  /// Returns nullopt unless the text is one address without prefix length.
  static std::optional<IpAddress> decode(std::string_view text);
  /// In network byte order. Returns nullopt unless there are 4 or 16.
  static std::optional<IpAddress> of_bytes(std::string_view bytes);

  std::string text() const;
  std::string bytes() const;  // 4 or 16, in network byte order
  bool is_ipv6() const { return is_ipv6_; }
  int bits() const { return is_ipv6_ ? 128 : 32; }

  bool is_unspecified() const;      // 0.0.0.0, ::
  bool is_loopback() const;         // 127.0.0.0/8, ::1
  bool is_multicast() const;        // 224.0.0.0/4, ff00::/8
  bool is_link_local_ipv6() const;  // fe80::/10
  bool is_ipv4_mapped() const;      // IPv6, in ::ffff:0:0/96
  IpAddress unmapped() const;       // the IPv4 address in a mapped one; others as they are

  /// Return the next or previous address. After the last IPv4 address follows the first IPv6 address after
  /// ::ffff:0:0/96; after the last IPv6 address the first.
  IpAddress next() const;
  IpAddress previous() const;
  /// Returns the address with all bits after `length` set or cleared. Requires: 0 <= length <= bits().
  IpAddress with_host_bits(int length, bool are_set) const;

  auto operator<=>(const IpAddress&) const = default;

 private:
  using Bytes = std::array<unsigned char, 16>;
  IpAddress(const Bytes& bytes, bool is_ipv6) : bytes_(bytes), is_ipv6_(is_ipv6) {}
  IpAddress stepped(const Bytes& bytes) const;

  Bytes bytes_;  // IPv4: mapped
  bool is_ipv6_;
};

/// "10.0.0.5/24": an address of an interface with the length of its subnet's prefix, or a network.
struct IpPrefix {
  IpAddress address;
  int length = 0;  // 0 to address.bits()

  /// Returns nullopt without a length, and for a length with a sign or a leading zero.
  static std::optional<IpPrefix> decode(std::string_view text);
  std::string text() const;
  IpAddress first() const { return address.with_host_bits(length, false); }
  IpAddress last() const { return address.with_host_bits(length, true); }
  /// An IPv4 address is in no IPv6 prefix.
  bool contains(const IpAddress& other) const;
  /// Returns true if no bit after the prefix is set.
  bool is_network() const { return first() == address; }
  auto operator<=>(const IpPrefix&) const = default;
};

}  // namespace sliced
