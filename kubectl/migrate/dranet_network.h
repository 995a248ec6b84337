#pragma once
// Converts dranet's NetworkConfig (opaque parameters for driver dra.net; kubernetes-sigs/dranet at f258477,
// pkg/apis/types.go) to a VfConfig with `network`. Pure.
#include <string>
#include <vector>

#include "kube/objects/json.h"

namespace sliced::migrate {

/// A field, or a value of a field, that the VfConfig does not have. is_error: dranet refuses the field too,
/// so no pod has run with it.
struct LostField {
  bool is_error = false;
  int line = 0;
  std::string field;  // "interface.gsoMaxSize", below the parameters
  std::string value;  // for messages
  std::string why, remedy;
};

struct ConvertedNetwork {
  kube::Json parameters;  // a VfConfig; `network` is accepted by kubelet/native_network.h
  bool sets_mac = false;  // a policy must allow this
  bool names_interface = false;
  bool has_addresses = false;
  std::vector<LostField> lost;
};

/// parameters: a NetworkConfig; null stands for an empty one, which moves the interface into the pod
/// unchanged. only_interface: the interface's name on the host, which dranet keeps if the configuration gives
/// none; "": unknown.
ConvertedNetwork convert_network(const kube::Json& parameters, const std::string& only_interface);

}  // namespace sliced::migrate
