#pragma once
// What a CNI plugin says on standard output: a result (specification 0.3.0 to 1.1.0, section 5) or an error.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/json.h"
#include "reactor/base/result.h"

namespace sliced::cni {

// Members have the names of the specification's fields in our spelling. "" and 0 are left out when it is encoded.

/// One that the plugin has made or moved. sandbox: path of the network namespace that it is in; "" the host's.
struct Interface {
  std::string name, mac, sandbox;
  int64_t mtu = 0;                  // 1.1.0; 0: not said
  std::string socket_path, pci_id;  // 1.1.0
  bool operator==(const Interface&) const = default;
};
/// An address with its prefix length, and which of the interfaces has it.
struct Ip {
  std::optional<int64_t> interface;  // index into the interfaces
  std::string address;               // "10.1.0.7/24"
  std::string gateway;
  bool operator==(const Ip&) const = default;
};
/// destination: "0.0.0.0/0" is the default route. gateway "": the address' own.
struct Route {
  std::string destination, gateway;
  int64_t mtu = 0, advertised_mss = 0, priority = 0;  // 1.1.0; 0: not said
  std::optional<int64_t> table, scope;                // 1.1.0
  bool operator==(const Route&) const = default;
};
/// At most 64 of each; kept and passed on, and nothing here asks a name server.
struct Dns {
  std::vector<std::string> nameservers, search, options;
  std::string domain;
  bool operator==(const Dns&) const = default;
};

/// What an ADD has made. At most 64 interfaces and addresses, 1,024 routes.
struct Attached {
  std::string cni_version;
  std::vector<Interface> interfaces;
  std::vector<Ip> ips;
  std::vector<Route> routes;
  Dns dns;
  bool operator==(const Attached&) const = default;
};

/// The versions of the specification whose results are understood, oldest first.
const std::vector<std::string_view>& known_versions();

inline constexpr size_t kResultBytesMax = 256u << 10;

/// config_version: of a result that does not say its own. What is unknown is dropped, as libcni does.
/// Errors: kInvalid, kTooLarge; name the field and the value.
/// Addresses are written as Go's net package writes them, so that what is passed on compares equal to what
/// the plugin said.
Result<Attached> decode_result(std::string_view text, std::string_view config_version);
/// As it is passed on (`prevResult`) and kept; in its own version's form.
kube::Json encode_result(const Attached& result);

/// A plugin's error (section 5, "Error"): what people are told of it: message, details, code; nullopt where
/// the text is no such thing.
std::optional<std::string> decode_plugin_error(std::string_view text);

}  // namespace sliced::cni
