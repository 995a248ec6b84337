#pragma once
// Reads SriovNetworkNodeStates of sriov-network-operator. They resolve the fields of a SriovNetworkNodePolicy
// that do not name functions directly: netFilter, and alternative names of interfaces. Pure.
// Source: api/v1/helper.go (NetFilterMatch, ResolveInterfaceName) and
// controllers/sriovnetworknodepolicy_controller.go (249e20012).
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/json.h"
#include "kubectl/migrate/pool.h"

namespace sliced::migrate {

/// VF device ids by PF device id. "": functions with this id have no PF, so no VF id is compared.
using VfIds = std::map<std::string, std::string>;

/// The part of one node's status.interfaces that policies need.
struct NodeInterfaces {
  struct Interface {
    std::string name, pci_address, device_id, net_filter;
    std::vector<std::string> alternative_names;
    std::vector<std::string> vf_ids;  // each once
    bool is_own_vf = false;           // no PF, as in a VM: the operator lists the function as its own VF
  };
  Place place;
  std::string node;
  std::vector<Interface> interfaces;

  /// Returns the addresses of the interfaces with that netFilter, in order.
  std::vector<std::string> addresses_of(std::string_view net_filter) const;
  /// Returns true if an interface has that name or alternative name.
  bool has_name(const std::string& name) const;
  /// Returns the name of the interface with that name or alternative name, or `name` if there is none.
  std::string resolved(const std::string& name) const;
};

bool is_node_state(const kube::Json& object);
/// Adds the state to `out`. Errors: a second state of a node, a list or text of another type, more than 1,024
/// interfaces, an invalid address.
void read_node_state(const kube::Json& object, const std::string& file, std::vector<NodeInterfaces>& out,
                     Complaints& complaints);
/// Returns the VF ids that the nodes report. PFs whose VFs have different ids are left out.
VfIds ids_of(const std::vector<NodeInterfaces>& states);

/// Returns true if both begin with the same "KEY:VALUE", as the operator compares them.
bool is_same_net_filter(std::string_view a, std::string_view b);

}  // namespace sliced::migrate
