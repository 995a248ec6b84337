#pragma once
// SriovNetworkNodeStates of sriov-network-operator: which functions of a node the operator's device plugin is given for fields
// of a SriovNetworkNodePolicy that name none (netFilter), or name them otherwise (alternative names of interfaces). Pure.
// Source: api/v1/helper.go (NetFilterMatch, ResolveInterfaceName) and controllers/sriovnetworknodepolicy_controller.go
// (249e20012).
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/json.h"
#include "kubectl/migrate/pool.h"

namespace sliced::migrate {

/// VF device ids by PF device id; "": the functions with this id have no PF, so that no id of VFs is asked for.
using VfIds = std::map<std::string, std::string>;

/// status.interfaces of one node, as far as policies are read with it.
struct NodeInterfaces {
  struct Interface {
    std::string name, pci_address, device_id, net_filter;
    std::vector<std::string> alternative_names;
    std::vector<std::string> vf_ids;  // each once
    bool is_own_vf = false;  // a function without a PF, as in a VM: the operator lists it as its own VF
  };
  Place place;
  std::string node;
  std::vector<Interface> interfaces;

  /// Returns the addresses of the interfaces whose netFilter is that one, in order.
  std::vector<std::string> addresses_of(std::string_view net_filter) const;
  /// Returns whether an interface has that name or alternative name.
  bool has_name(const std::string& name) const;
  /// Returns the name of the interface with that name or alternative name; `name` where there is none.
  std::string resolved(const std::string& name) const;
};

bool is_node_state(const kube::Json& object);
/// Adds to `out`. Errors: two of one node, a list or text of another type, more than 1,024 interfaces, an address that is none.
void read_node_state(const kube::Json& object, const std::string& file, std::vector<NodeInterfaces>& out,
                     Complaints& complaints);
/// Returns the VF ids that the nodes report. Without those of PFs whose VFs have several.
VfIds ids_of(const std::vector<NodeInterfaces>& states);

/// Returns true where both begin with the same "KEY:VALUE", as the operator compares them.
bool is_same_net_filter(std::string_view a, std::string_view b);

}  // namespace sliced::migrate
