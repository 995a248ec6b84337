#pragma once
// Netlink requests and answers, in this network namespace or in a pod's. For the netlink users in this
// folder.
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/network_namespace.h"
#include "reactor/base/result.h"
#include "reactor/descriptor.h"

namespace sliced::kubelet {

/// Sends one request of encode_link_change() and waits for its acknowledgement. Returns the kernel's errno; 0
/// on success.
int send_link_request(int network_namespace, const std::string& request);

/// Appends a padded netlink attribute.
void put_attribute(std::string& out, int type, std::string_view value);

namespace netlink {

template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

inline size_t aligned(size_t size) { return (size + 3) & ~size_t{3}; }

/// Returns a socket in that namespace with a read timeout of 10 s. On failure it is empty and `error` is the
/// errno.
reactor::Descriptor open_socket(int network_namespace, int& error, int protocol = NETLINK_ROUTE);
/// Returns errno; 0 on success.
int send_to_kernel(const reactor::Descriptor& socket, const std::string& request);
/// As send_link_request(), for any netlink protocol.
int send_request(int network_namespace, const std::string& request, int protocol = NETLINK_ROUTE);
/// Returns kDenied, kConflict (EEXIST), kTimeout, kNotFound (ENODEV) or kIo.
Error error_of(const std::string& what, int error);

/// Decodes "aa:bb:cc:dd:ee:ff".
std::string mac_bytes(std::string_view mac);
/// Encodes bytes of any length as "aa:bb:...".
std::string mac_text(std::string_view bytes);

/// Calls visit(type, value) for each attribute. Returns whether the list is complete.
template <class Visit>
bool each_attribute(std::string_view list, const Visit& visit) {
  while (list.size() >= sizeof(nlattr)) {
    nlattr head{};
    std::memcpy(&head, list.data(), sizeof head);
    if (head.nla_len < sizeof head || head.nla_len > list.size()) return false;
    visit(head.nla_type & NLA_TYPE_MASK, list.substr(sizeof head, head.nla_len - sizeof head));
    list.remove_prefix(std::min(list.size(), aligned(head.nla_len)));
  }
  return true;
}

/// Returns the text up to the first NUL.
std::string text_in(std::string_view value);
/// Decodes an attribute of 4 bytes.
std::optional<uint32_t> number_in(std::string_view value);

/// A dump request and the type of the messages that answer it.
struct DumpTypes {
  uint16_t get, made;
  const char *get_name, *reply_name;
};
// All members of Info are zero: any family and interface.
template <class Info>
std::string encode_dump(const DumpTypes& what) {
  struct {
    nlmsghdr header;
    Info info;
  } request{};
  request.header = {.nlmsg_len = sizeof request,
                    .nlmsg_type = what.get,
                    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
                    .nlmsg_seq = 1};
  return std::string(bytes_of(request));
}

// Calls visit(payload) for each message, which returns whether it is complete. Returns whether this was the
// last datagram of the dump.
template <class Visit>
Result<bool> decode_dump(std::string_view datagram, const DumpTypes& what, const Visit& visit) {
  const std::string name = what.get_name;
  while (datagram.size() >= sizeof(nlmsghdr)) {
    nlmsghdr header{};
    std::memcpy(&header, datagram.data(), sizeof header);
    if (header.nlmsg_len < sizeof header || header.nlmsg_len > datagram.size())
      return Error{Errc::kInvalid, name + ": a message's length leads outside its datagram"};
    const std::string_view payload = datagram.substr(sizeof header, header.nlmsg_len - sizeof header);
    datagram.remove_prefix(std::min(datagram.size(), aligned(header.nlmsg_len)));
    if (header.nlmsg_type == NLMSG_DONE) return true;
    if (header.nlmsg_type == NLMSG_ERROR) {
      int error = -EPROTO;
      if (payload.size() >= sizeof error) std::memcpy(&error, payload.data(), sizeof error);
      return error_of(name, -error);
    }
    if ((header.nlmsg_flags & NLM_F_DUMP_INTR) != 0)
      return Error{Errc::kBusy, name + ": the interfaces changed while they were read"};
    if (header.nlmsg_type == what.made && !visit(payload))
      return Error{Errc::kInvalid, std::string(what.reply_name) + " is cut"};
  }
  return false;
}

// begin: called before the first datagram of each attempt. A dump is repeated if a change interrupted it.
template <class Begin, class Decode>
Result<Unit> read_dump(int network_namespace, const DumpTypes& what, const std::string& request,
                       const Begin& begin, const Decode& decode, int protocol = NETLINK_ROUTE) {
  constexpr size_t kDatagramMax = 256u << 10;
  constexpr int kTriesMax = 8;
  int error = 0;
  std::string datagram(kDatagramMax, '\0');
  for (int tries = 1;; ++tries) {
    const reactor::Descriptor socket = open_socket(network_namespace, error, protocol);
    if (!socket) return error_of("enter the pod's network namespace", error);
    if (const int failed = send_to_kernel(socket, request); failed != 0)
      return error_of(what.get_name, failed);
    begin();
    for (;;) {
      const ssize_t size = ::recv(socket.get(), datagram.data(), datagram.size(), 0);
      if (size < 0) return error_of(what.get_name, errno);
      auto is_last = decode(std::string_view{datagram.data(), static_cast<size_t>(size)});
      if (!is_last && is_last.error().code == Errc::kBusy && tries < kTriesMax) break;
      if (!is_last) return std::move(is_last.error());
      if (*is_last) return Unit{};
    }
  }
}

/// Encodes a request to create or remove an object, with an acknowledgement.
template <class Info>
std::string encode_request(uint16_t type, const Info& info, const std::string& attributes,
                           int flags = NLM_F_CREATE | NLM_F_EXCL) {
  nlmsghdr header{.nlmsg_len = static_cast<uint32_t>(sizeof(nlmsghdr) + sizeof info + attributes.size()),
                  .nlmsg_type = type,
                  .nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags),
                  .nlmsg_seq = 1,
                  .nlmsg_pid = 0};
  return std::string(bytes_of(header)) + std::string(bytes_of(info)) + attributes;
}

// Returns the items of a dump for which `counts` is true. decode(payload, item) returns false for a truncated
// one.
template <class Info, class Item, class Decode, class Counts>
Result<std::vector<Item>> read_items(int network_namespace, const DumpTypes& dumped, Decode decode,
                                     Counts counts) {
  std::vector<Item> items;
  auto read = read_dump(
      network_namespace, dumped, encode_dump<Info>(dumped), [&] { items.clear(); },
      [&](std::string_view datagram) {
        return decode_dump(datagram, dumped, [&](std::string_view payload) {
          Item one;
          const bool is_whole = decode(payload, one);
          if (is_whole && counts(one)) items.push_back(std::move(one));
          return is_whole;
        });
      });
  if (!read) return std::move(read.error());
  return items;
}

}  // namespace netlink
}  // namespace sliced::kubelet
