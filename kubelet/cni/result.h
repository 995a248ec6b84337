#pragma once
// A CNI plugin's standard output: a result (specification 0.3.0 to 1.1.0, section 5) or an error.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/json.h"
#include "reactor/base/result.h"

namespace sliced::cni {

// Members have the names of the specification's fields. "" and 0 are omitted by the encoder.

/// An interface that the plugin created or moved. sandbox: path of its network namespace; "" for the host's.
struct Interface {
  std::string name, mac, sandbox;
  int64_t mtu = 0;                  // 1.1.0; 0: not set
  std::string socket_path, pci_id;  // 1.1.0
  bool operator==(const Interface&) const = default;
};
/// An address with its prefix length, and its interface.
struct Ip {
  std::optional<int64_t> interface;  // index into the interfaces
  std::string address;               // "10.1.0.7/24"
  std::string gateway;
  bool operator==(const Ip&) const = default;
};
/// destination: "0.0.0.0/0" is the default route. gateway "": that of the address.
struct Route {
  std::string destination, gateway;
  int64_t mtu = 0, advertised_mss = 0, priority = 0;  // 1.1.0; 0: not set
  std::optional<int64_t> table, scope;                // 1.1.0
  bool operator==(const Route&) const = default;
};
/// At most 64 of each. They are stored and passed on, and not used.
struct Dns {
  std::vector<std::string> nameservers, search, options;
  std::string domain;
  bool operator==(const Dns&) const = default;
};

/// The result of an ADD. At most 64 interfaces and addresses, 1,024 routes.
struct Attached {
  std::string cni_version;
  std::vector<Interface> interfaces;
  std::vector<Ip> ips;
  std::vector<Route> routes;
  Dns dns;
  bool operator==(const Attached&) const = default;
};

/// Returns the supported versions of the specification, oldest first.
const std::vector<std::string_view>& known_versions();

inline constexpr size_t kResultBytesMax = 256u << 10;

/// config_version: for a result without a version. Drops unknown fields, as libcni does. Addresses are
/// written as Go's net package writes them, so that a passed-on result compares equal to the plugin's.
/// Errors: kInvalid, kTooLarge; each names the field and the value.
Result<Attached> decode_result(std::string_view text, std::string_view config_version);
/// Encodes it for `prevResult` and for records, in the form of its own version.
kube::Json encode_result(const Attached& result);

/// Returns the message, details and code of a plugin's error (section 5, "Error"), for people; nullopt if the
/// text is not an error.
std::optional<std::string> decode_plugin_error(std::string_view text);

}  // namespace sliced::cni
