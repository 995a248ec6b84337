#include "cel/lib/cidr.h"

#include <algorithm>

#include "reactor/base/text.h"

namespace sliced::cel {
namespace {

IpAddress masked_to(IpAddress address, int bits) {
  for (uint8_t& octet : address.octets) {
    const int mask_bits = std::clamp(bits, 0, 8);
    octet = static_cast<uint8_t>(octet & (0xff00 >> mask_bits));
    bits -= mask_bits;
  }
  return address;
}

Error refused_cidr(std::string_view text, std::string_view why) {
  return {Errc::kInvalid, "network address " + in_quotes(text) + ": " + std::string(why)};
}

}  // namespace

bool Cidr::contains(const IpAddress& address) const {
  return masked_to(address, prefix_length) == masked_to(ip, prefix_length);
}

bool Cidr::contains(const Cidr& other) const {
  return prefix_length <= other.prefix_length && contains(other.ip);
}

Cidr Cidr::masked() const { return {masked_to(ip, prefix_length), prefix_length}; }

Result<Cidr> decode_cidr(std::string_view text) {
  const size_t slash = text.rfind('/');
  if (slash == std::string_view::npos) return refused_cidr(text, "expected ADDRESS/LENGTH");
  const auto ip = decode_ip(text.substr(0, slash));
  if (!ip) return refused_cidr(text, ip.error().what);
  const std::string_view digits = text.substr(slash + 1);
  const auto length = parse_int(digits);
  const bool canonical = length && std::to_string(*length) == digits;
  if (!canonical || *length < 0 || *length > ip->bits())
    return refused_cidr(text, "the length must be between 0 and " + std::to_string(ip->bits()));
  return Cidr{*ip, static_cast<int>(*length)};
}

std::string encode_cidr(const Cidr& cidr) {
  return encode_ip(cidr.ip) + "/" + std::to_string(cidr.prefix_length);
}

}  // namespace sliced::cel
