#pragma once
// Networks of Kubernetes' CEL library (cidr(), isCIDR()).
#include <string>
#include <string_view>

#include "cel/lib/ip_address.h"
#include "reactor/base/result.h"

namespace sliced::cel {

/// An address and the length of its network prefix. The other bits may be set: 10.1.2.3/8 is not equal to
/// 10.0.0.0/8, although both contain the same addresses.
struct Cidr {
  IpAddress ip;
  int prefix_length = 0;

  bool contains(const IpAddress& address) const;  // false for the other family
  bool contains(const Cidr& other) const;         // completely
  Cidr masked() const;                            // with the network's address
  bool operator==(const Cidr&) const = default;
};

/// Decodes "10.0.0.0/8", "2001:db8::/32". Errors: kInvalid for texts that decode_ip refuses and for leading
/// zeros of the length.
Result<Cidr> decode_cidr(std::string_view text);
/// Returns "10.0.0.0/8"; the bits after the prefix are kept.
std::string encode_cidr(const Cidr& cidr);

}  // namespace sliced::cel
