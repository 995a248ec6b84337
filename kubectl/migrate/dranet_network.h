#pragma once
// dranet's NetworkConfig (opaque parameters for driver dra.net; kubernetes-sigs/dranet at f258477, pkg/apis/types.go) as a VfConfig with `network`.
// Pure.
#include <string>
#include <vector>

#include "kube/objects/json.h"

namespace sliced::migrate {

/// A field that the VfConfig does not have, or not with that value. An error: dranet refuses the field itself, so that no pod ran with it.
struct LostField {
  bool is_error = false;
  int line = 0;
  std::string field;  // "interface.gsoMaxSize", below the parameters
  std::string value;  // for people
  std::string why, remedy;
};

struct ConvertedNetwork {
  kube::Json parameters;  // a VfConfig; `network` is accepted by kubelet/native_network.h
  bool sets_mac = false;  // which a policy must allow
  bool names_interface = false;
  bool has_addresses = false;
  std::vector<LostField> lost;
};

/// parameters: a NetworkConfig; null is an empty one: the interface moves into the pod as it is. only_interface: its name on the host, which dranet
/// keeps where the configuration gives none; "" not known.
ConvertedNetwork convert_network(const kube::Json& parameters, const std::string& only_interface);

}  // namespace sliced::migrate
