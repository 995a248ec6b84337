// SriovNetworkNodeStates in YAML or JSON, and what is said of a host by them. What is not understood is never in sync.
#include "kube/directory/manifest.h"
#include "policy/node_state/drift.h"
#include "t/fixture/vf_host.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::node_state_target {

namespace {

hotplug::InventoryPtr a_host() {
  fixture::VfHost host;
  host.pf("0000:3b:00.0", "ens1f0", 4).pf("0000:5e:00.0", "ib0", 2, "15b3");
  host.at("0000:5e:00.0").netdev->link_type = 32;
  for (const char* vf : {"0000:3b:00.1", "0000:3b:00.2", "0000:5e:00.1"})
    host.at(vf).enforced = hotplug::VfConfig{.mac = "02:00:00:00:00:01", .node_guid = "00:00"};
  return host.inventory();
}

void try_node_state(const kube::Json& object) {
  static const hotplug::InventoryPtr host = a_host();
  const policy::SriovNodeState state = policy::decode_node_state(object);
  fuzz::check_problems(state.problems);
  fuzz::must(!state.is_spec_unknown || !state.problems.empty(), "what is unknown has a problem");
  const auto all = policy::judge_drift({state, *host});
  fuzz::must(all.size() == state.wanted.size(), "each interface is judged");
  for (const policy::InterfaceDrift& drift : all) {
    fuzz::check_problems(drift.problems);
    fuzz::must(drift.problems.empty() || !drift.is_in_sync(), "what is not understood is not in sync");
    fuzz::must(!drift.differs() || !drift.is_in_sync(), "what differs is not in sync");
    for (const policy::DriftFinding& finding : drift.findings) {
      if (finding.is == policy::DriftIs::kDiffers)
        fuzz::must(!finding.wanted.empty() && !finding.found.empty() && finding.wanted != finding.found,
                   "what differs says how", std::string(finding.field));
      else
        fuzz::must(!finding.why.empty(), "what is not judged says why", std::string(finding.field));
      for (const std::string& text : {finding.wanted, finding.found, finding.why, finding.reported})
        fuzz::check_text(text);
    }
  }
}

}  // namespace

FUZZ_TARGET(node_state) {
  const kube::Manifest manifest =
      kube::decode_manifest(std::string_view(reinterpret_cast<const char*>(data), size), "");
  for (const auto& [key, object] : manifest.objects) try_node_state(object);
  return 0;
}

}  // namespace sliced::fuzz::node_state_target
