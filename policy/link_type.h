#pragma once
// Link types of network interfaces (/sys/class/net/X/type, ARPHRD_* of linux/if_arp.h) and their names in
// policies.
#include <optional>
#include <string_view>

namespace sliced::policy {

/// The two types that policies can name (SriovResourcePolicy linkType). Other ARPHRD_* numbers match no
/// filter with a linkType. arphrd: ARPHRD_ETHER and ARPHRD_INFINIBAND, constants of the kernel's ABI.
struct LinkType {
  int arphrd;
  std::string_view text;
};
inline constexpr LinkType kLinkTypes[] = {{1, "ethernet"}, {32, "infiniband"}};

/// Returns "" for an unknown or other type.
inline std::string_view text_of_link_type(std::optional<int> arphrd) {
  for (const LinkType& type : kLinkTypes)
    if (arphrd == type.arphrd) return type.text;
  return "";
}

/// The reverse, for attributes of published entries; nullopt for any other text.
inline std::optional<int> link_type_of_text(std::string_view text) {
  for (const LinkType& type : kLinkTypes)
    if (text == type.text) return type.arphrd;
  return std::nullopt;
}

}  // namespace sliced::policy
