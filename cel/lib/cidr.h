#pragma once
// Networks as CEL in Kubernetes reads them (cidr(), isCIDR()).
#include <string>
#include <string_view>

#include "cel/lib/ip_address.h"
#include "reactor/base/result.h"

namespace sliced::cel {

/// An address and how many of its first bits name the network. The others may be set: 10.1.2.3/8 is
/// not 10.0.0.0/8, though both contain the same.
struct Cidr {
  IpAddress ip;
  int prefix_length = 0;

  bool contains(const IpAddress& address) const;  // never one of the other family
  bool contains(const Cidr& other) const;         // the whole of it
  Cidr masked() const;                            // the network's own address
  bool operator==(const Cidr&) const = default;
};

/// "10.0.0.0/8", "2001:db8::/32". kInvalid for whatever decode_ip refuses and for leading zeros of the
/// length.
Result<Cidr> decode_cidr(std::string_view text);
/// "10.0.0.0/8"; the bits behind the prefix stay as they are.
std::string encode_cidr(const Cidr& cidr);

}  // namespace sliced::cel
