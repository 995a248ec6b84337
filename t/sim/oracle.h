#pragma once
// A second, plain opinion on "offered = allowed ∩ present": policies as they were generated (not as they are
// decoded), the machine as it is (not as it was read), and the API's objects as JSON. Shares no code with
// policy/, publishers/ or hotplug/'s readers. Slow and obvious on purpose.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kube/objects/json.h"
#include "t/sim/machine.h"

namespace sliced::sim {

/// "PF" or "PF#1-3,5".
struct PfChoice {
  std::string pf;
  std::vector<std::pair<int, int>> ranges;
};
struct Filter {
  std::vector<std::string> vendors, devices, drivers, addresses;
  std::vector<PfChoice> pf_names, pf_addresses, root_devices;
  std::vector<int> numa_nodes;
  std::string link_type;
};
struct Config {
  std::string resource_name;
  std::map<std::string, std::string> attributes_of;  // matchLabels; empty: none
  std::vector<Filter> filters;
  bool is_broken = false;  // has a field that nobody knows
};
struct Policy {
  std::string name;
  int priority = 0;
  bool allow_host_use = false, is_broken = false;
  std::optional<Millis> wants_mac_for;       // an admin MAC, for so long
  bool keeps = false;                        // what stands, though it has lost that MAC
  std::map<std::string, std::string> nodes;  // matchLabels; empty: every node
  std::vector<Config> configs;
};
struct Attributes {
  std::string name;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> texts;
};
kube::Json object_of(const Policy& policy, const std::string& namespace_);
kube::Json object_of(const Attributes& attributes, const std::string& namespace_);

using Policies = std::map<std::string, Policy>;  // by name
using AttributeObjects = std::map<std::string, Attributes>;
using Labels = std::map<std::string, std::string>;

/// Which policy and config take the VF; nullptr: none does, or the host uses it. pf_name: "" its PF's interface, which may
/// have any, is elsewhere.
struct Taken {
  const Policy* policy = nullptr;
  const Config* config = nullptr;
  std::string why_not;  // "absent", "no-policy", "no-match", "in-use-by-host"
  /// A config asks for what nobody can tell, so that it may have the VF before this one, or none, takes it.
  bool is_unknown = false;
  std::vector<std::pair<const Policy*, const Config*>> may_be = {};  // with that: who may have it
};
Taken taken_by(const VfFacts& vf, const PfFacts& pf, const std::string& vf_address,
               const std::string& pf_name, const Policies& policies, const Labels& node);

/// A device entry as "name" and its attributes as text: {"vendor": "string 8086"}.
using Entry = std::map<std::string, std::string>;
Entry entry_of(const VfFacts& vf, const PfFacts& pf, const std::string& vf_address,
               const std::string& pf_name, bool has_rdma, const Config& config,
               const AttributeObjects& attributes);
std::string name_of_entry(const std::string& vf_address);

/// What a consumer of slices sees of one pool: its highest generation, if that is whole.
struct PoolView {
  int64_t generation = 0;
  size_t slices = 0;
  bool is_complete = false;
  std::map<std::string, Entry> devices;
  std::vector<std::string> flaws;  // a device twice, counts that differ
};
struct StoredSlice {
  std::string name, driver, node, pool, owner_uid, boot_id, resource_version;
  int64_t generation = 0, slice_count = 0;
  bool is_terminating = false;
  std::vector<std::pair<std::string, Entry>> devices;
  /// What a finalizer holds after its driver has given it up; it counts for no pool.
  bool is_given_up() const { return generation == 0 && devices.empty(); }
};
StoredSlice stored_slice(const kube::Json& object);
/// By "driver/pool".
std::map<std::string, PoolView> pools_of(const std::vector<StoredSlice>& slices);

/// Would two of the visible entries hand out one function twice? Counters, when there are some, are to be
/// asked here.
std::vector<std::string> exclusion_flaws(const std::map<std::string, PoolView>& pools);

}  // namespace sliced::sim
