// What `migrate` reads: the device plugin's JSON, alone and in a ConfigMap, the operator's policies, dra-driver-sriov's objects.
#include "kubectl/migrate/comparing.h"
#include "kubectl/migrate/dra_driver.h"
#include "kubectl/migrate/node_policies.h"
#include "kubectl/migrate/node_states.h"
#include "kubectl/migrate/objects.h"
#include "kubectl/migrate/plugin_config.h"
#include "t/fixture/vf_host.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::migrate_target {

namespace {

constexpr const char* kFile = "f.yaml";

hotplug::InventoryPtr a_host() {
  fixture::VfHost host;
  host.pf("0000:3b:00.0", "ens1f0", 4).pf("0000:5e:00.0", "ens2f0", 2, "15b3");
  host.at("0000:3b:00.2").driver = "vfio-pci";
  return host.inventory();
}

void check_all(const migrate::Complaints& complaints) {
  for (const migrate::Complaint& complaint : complaints.all()) fuzz::check_text(text_of(complaint));
}

// What is made offers no device that was not offered before, but for VFs without a driver.
void try_configs(const std::vector<migrate::Config>& configs, bool are_operators,
                 migrate::Complaints complaints) {
  if (complaints.has_errors() || configs.empty()) return check_all(complaints);
  const auto objects = objects_of(configs, {}, complaints);
  check_all(complaints);
  if (complaints.has_errors()) return;
  static const hotplug::InventoryPtr host = a_host();
  const kube::NodeView node{"n1", {{"zone", "a"}}};
  const auto asked = are_operators ? std::vector{operators_config(configs, node)} : configs;
  for (const migrate::ComparedDevice& row : compare(by_plugin(asked, node), objects, host, node, {}))
    fuzz::must(row.is_same() || !row.why.empty(), "what differs says why", row.device);
}

struct Sources {
  std::vector<migrate::Config> plugin, node_policies;
  std::vector<migrate::ConvertedObject> dra;
  migrate::OperatorFacts facts;
};

void read_one(const kube::Json& object, std::string_view text, Sources& out,
              migrate::Complaints& complaints) {
  if (object.object() == nullptr) return;
  if (migrate::is_plugin_config_map(object))
    read_plugin_config_map(object, kFile, split(text, '\n'), {}, out.plugin, complaints);
  if (migrate::is_nic_ids(object)) read_nic_ids(object, kFile, out.facts.ids, complaints);
  if (migrate::is_node_state(object)) read_node_state(object, kFile, out.facts.states, complaints);
  if (migrate::is_of_dra_driver(object)) read_dra_object(object, kFile, {}, out.dra, complaints);
}

// Once all facts are read, wherever in the file they are.
void read_policy(const kube::Json& object, Sources& out, migrate::Complaints& complaints) {
  if (object.object() != nullptr && migrate::is_node_policy(object))
    read_node_policy(object, kFile, "openshift.io", out.facts, out.node_policies, complaints);
}

}  // namespace

FUZZ_TARGET(migrate) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  migrate::Complaints complaints, of_plain;
  Sources sources;
  const std::vector<kube::Json> documents = fuzz::documents_of(text);
  for (const kube::Json& object : documents) read_one(object, text, sources, complaints);
  take_ids_of_states(sources.facts);
  for (const kube::Json& object : documents) read_policy(object, sources, complaints);
  order_node_policies(sources.node_policies, complaints);
  check_one_config_a_node(sources.plugin, complaints);
  check_filters(sources.dra, complaints);
  try_configs(sources.plugin, /*are_operators=*/false, complaints);
  try_configs(sources.node_policies, /*are_operators=*/true, complaints);
  std::vector<migrate::Config> plain;
  read_plugin_config(kFile, text, {}, plain, of_plain);
  try_configs(plain, /*are_operators=*/false, of_plain);
  return 0;
}

}  // namespace sliced::fuzz::migrate_target
