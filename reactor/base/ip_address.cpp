#include "reactor/base/ip_address.h"

#include <arpa/inet.h>

#include <algorithm>

namespace sliced {
namespace {

constexpr size_t kIpv4At = 12;  // in a mapped address
constexpr std::array<unsigned char, kIpv4At> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool has_ipv4(const std::array<unsigned char, 16>& bytes) {
  return std::equal(kMapped.begin(), kMapped.end(), bytes.begin());
}

}  // namespace

std::optional<IpAddress> IpAddress::decode(std::string_view text) {
  // inet_pton stops at a NUL.
  if (text.size() >= INET6_ADDRSTRLEN || text.find('\0') != std::string_view::npos) return std::nullopt;
  const std::string copy(text);
  Bytes bytes{};
  if (::inet_pton(AF_INET6, copy.c_str(), bytes.data()) == 1) return IpAddress(bytes, true);
  std::copy(kMapped.begin(), kMapped.end(), bytes.begin());
  if (::inet_pton(AF_INET, copy.c_str(), bytes.data() + kIpv4At) == 1) return IpAddress(bytes, false);
  return std::nullopt;
}

std::optional<IpAddress> IpAddress::of_bytes(std::string_view bytes) {
  const bool is_ipv6 = bytes.size() == 16;
  if (!is_ipv6 && bytes.size() != 4) return std::nullopt;
  Bytes out{};
  std::copy(kMapped.begin(), kMapped.end(), out.begin());
  std::copy(bytes.begin(), bytes.end(), out.begin() + (is_ipv6 ? 0 : kIpv4At));
  return IpAddress(out, is_ipv6);
}

std::string IpAddress::text() const {
  std::array<char, INET6_ADDRSTRLEN> out{};
  ::inet_ntop(is_ipv6_ ? AF_INET6 : AF_INET, bytes_.data() + (is_ipv6_ ? 0 : kIpv4At), out.data(),
              out.size());
  return out.data();
}

std::string IpAddress::bytes() const { return {bytes_.begin() + (is_ipv6_ ? 0 : kIpv4At), bytes_.end()}; }

bool IpAddress::is_unspecified() const {
  return std::all_of(bytes_.begin() + (is_ipv6_ ? 0 : kIpv4At), bytes_.end(),
                     [](unsigned char byte) { return byte == 0; });
}

bool IpAddress::is_loopback() const {
  if (!is_ipv6_) return bytes_[kIpv4At] == 127;
  return bytes_.back() == 1 &&
         std::all_of(bytes_.begin(), bytes_.end() - 1, [](unsigned char byte) { return byte == 0; });
}

bool IpAddress::is_multicast() const {
  return is_ipv6_ ? bytes_[0] == 0xff : (bytes_[kIpv4At] & 0xf0) == 0xe0;
}

bool IpAddress::is_link_local_ipv6() const {
  return is_ipv6_ && bytes_[0] == 0xfe && (bytes_[1] & 0xc0) == 0x80;
}

bool IpAddress::is_ipv4_mapped() const { return is_ipv6_ && has_ipv4(bytes_); }

IpAddress IpAddress::unmapped() const { return is_ipv4_mapped() ? IpAddress(bytes_, false) : *this; }

IpAddress IpAddress::stepped(const Bytes& bytes) const { return {bytes, is_ipv6_ || !has_ipv4(bytes)}; }

IpAddress IpAddress::next() const {
  Bytes out = bytes_;
  for (size_t i = out.size(); i > 0; --i)
    if (++out[i - 1] != 0) break;
  return stepped(out);
}

IpAddress IpAddress::previous() const {
  Bytes out = bytes_;
  for (size_t i = out.size(); i > 0; --i)
    if (out[i - 1]-- != 0) break;
  return stepped(out);
}

IpAddress IpAddress::with_host_bits(int length, bool are_set) const {
  IpAddress out = *this;
  for (int bit = 128 - bits() + length; bit < 128; ++bit) {
    const auto byte = static_cast<size_t>(bit / 8);
    const auto mask = static_cast<unsigned char>(0x80u >> (bit % 8));
    if (are_set)
      out.bytes_[byte] |= mask;
    else
      out.bytes_[byte] &= static_cast<unsigned char>(~mask);
  }
  return out;
}

std::optional<IpPrefix> IpPrefix::decode(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto address = IpAddress::decode(text.substr(0, slash));
  const std::string_view digits = text.substr(slash + 1);
  if (!address || digits.empty() || digits.size() > 3 || (digits.size() > 1 && digits.front() == '0') ||
      digits.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  const int length = std::stoi(std::string(digits));
  if (length > address->bits()) return std::nullopt;
  return IpPrefix{*address, length};
}

std::string IpPrefix::text() const { return address.text() + "/" + std::to_string(length); }

bool IpPrefix::contains(const IpAddress& other) const {
  return other.is_ipv6() == address.is_ipv6() && first() <= other && other <= last();
}

}  // namespace sliced
