#include "daemon/prepared_page.h"

#include "kube/objects/json.h"
#include "kubelet/checkpoint.h"

namespace sliced::daemon {

std::string checkpoint_path(const config::Options& options) {
  return options.kubelet_plugins_directory + "/" + options.sriov_driver_name + "/sliced-checkpoint.json";
}

std::string prepared_page(const std::string& boot_id, const kubelet::PreparedClaims& claims,
                          const config::Options& options, const policy::NotReturnedDevices& unrestored) {
  kubelet::Checkpoint record{boot_id, {}};
  for (const auto& [key, claim] : claims) {
    kubelet::PreparedClaim& one = record.claims[key];
    one.driver = claim.driver;
    one.namespace_ = claim.namespace_;
    one.name = claim.name;
    one.uid = claim.uid;
    one.is_complete = claim.is_complete;
    one.not_returned = claim.not_returned;
    one.is_claim_gone = claim.is_claim_gone;
    one.user = claim.user;
    for (const kubelet::PreparedDevice& device : claim.devices) {
      kubelet::PreparedDevice& its = one.devices.emplace_back();
      its.request = device.request;
      its.pool = device.pool;
      its.device = device.device;
      its.is_admin = device.is_admin;
      its.pci = device.pci;
      its.pf = device.pf;
      its.holding = device.holding;
      its.held = device.held;
    }
  }
  kube::Json::Array devices;
  for (const policy::NotReturned& one : unrestored)
    devices.push_back(kube::Json::Object{{"device", one.holding.device}, {"pf", one.pf}, {"why", one.why}});
  return kube::encode_json(kube::Json::Object{{"node", options.node_name},
                                              {"sriovDriver", options.sriov_driver_name},
                                              {"exposureDriver", options.exposure_driver_name},
                                              {"record", kubelet::encode_checkpoint(record)},
                                              {"unrestored", std::move(devices)}}) +
         "\n";
}

std::string original_macs_path(const config::Options& options) {
  return options.kubelet_plugins_directory + "/" + options.sriov_driver_name + "/sliced-original-macs";
}

std::string original_settings_path(const config::Options& options) {
  return options.kubelet_plugins_directory + "/" + options.sriov_driver_name + "/sliced-original-settings";
}

}  // namespace sliced::daemon
