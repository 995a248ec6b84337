#pragma once
// What a network interface speaks (/sys/class/net/X/type, ARPHRD_* of linux/if_arp.h), as policies name it.
#include <optional>
#include <string_view>

namespace sliced::policy {

/// The two that policies can name (SriovResourcePolicy linkType). Every other ARPHRD_* number has no name, and a
/// filter that asks for one of these does not match it.
/// arphrd: ARPHRD_ETHER and ARPHRD_INFINIBAND, which the kernel's ABI fixes.
struct LinkType {
  int arphrd;
  std::string_view text;
};
inline constexpr LinkType kLinkTypes[] = {{1, "ethernet"}, {32, "infiniband"}};

/// "" for what is unknown or neither.
inline std::string_view text_of_link_type(std::optional<int> arphrd) {
  for (const LinkType& type : kLinkTypes)
    if (arphrd == type.arphrd) return type.text;
  return "";
}

/// The reverse; nullopt for any other text.
/// For what is read back of published entries.
inline std::optional<int> link_type_of_text(std::string_view text) {
  for (const LinkType& type : kLinkTypes)
    if (text == type.text) return type.arphrd;
  return std::nullopt;
}

}  // namespace sliced::policy
