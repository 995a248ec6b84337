#include "kubelet/claim_files.h"

#include <algorithm>
#include <utility>

#include "kubelet/plan.h"

namespace sliced::kubelet {
namespace {

void put_pod_specs(const std::string& pod_id, const PreparedClaims& prepared, const FileSettings& settings,
                   FileChange& change) {
  for (const std::string& driver : settings.drivers) {
    if (auto spec = pod_spec(driver, pod_id, prepared))
      change.specs.push_back({std::move(*spec), pod_id});
    else
      change.removed_specs.push_back({cdi_kind(driver), pod_id});
  }
}

// Another claim's share of the device has the same device info.
bool is_shared(const PreparedDevice& device, const PreparedKey& own, const PreparedClaims& prepared) {
  const auto has_same = [&](const PreparedDevice& other) {
    return !other.is_admin && other.pci == device.pci && other.multus_resource == device.multus_resource;
  };
  return std::any_of(prepared.begin(), prepared.end(), [&](const auto& one) {
    const auto& [key, claim] = one;
    return key != own && std::any_of(claim.devices.begin(), claim.devices.end(), has_same);
  });
}

}  // namespace

FileChange files_of(const PreparedClaim& claim, const PreparedClaims& prepared,
                    const FileSettings& settings) {
  FileChange change = metadata_change(claim, settings);
  cdi::Spec spec = claim_spec(claim);
  if (claim.cdi_pod_id == claim.uid) {
    if (const auto own = pod_spec(claim.driver, claim.uid, prepared))
      spec.devices.push_back(own->devices.front());
  } else {
    put_pod_specs(claim.cdi_pod_id, prepared, settings, change);
  }
  change.specs.push_back({std::move(spec), claim.uid});
  if (settings.device_info_directory.empty() || !settings.writes_device_infos) return change;
  for (const PreparedDevice& device : claim.devices)
    if (auto info = device_info(device, settings.device_info_directory))
      change.infos.push_back(std::move(*info));
  return change;
}

FileChange files_of(const PreparedClaim& claim, const PreparedClaim& before, const PreparedClaims& prepared,
                    const FileSettings& settings) {
  FileChange change = files_of(claim, prepared, settings);
  PreparedClaims others = prepared;
  others.erase(key_of(claim));
  FileChange old = removal_of(before, others, settings);
  for (FileChange::SpecName& name : old.removed_specs)
    if (std::none_of(change.specs.begin(), change.specs.end(),
                     [&](const auto& one) { return one.spec.kind == name.kind && one.id == name.id; }))
      change.removed_specs.push_back(std::move(name));
  // The pod of the old record may have other claims. Its spec is written again without this one.
  for (FileChange::SpecFile& file : old.specs)
    if (std::none_of(change.specs.begin(), change.specs.end(),
                     [&](const auto& one) { return one.spec.kind == file.spec.kind && one.id == file.id; }))
      change.specs.push_back(std::move(file));
  for (std::string& path : old.removed_infos)
    if (std::none_of(change.infos.begin(), change.infos.end(),
                     [&](const DeviceInfo& one) { return one.path == path; }))
      change.removed_infos.push_back(std::move(path));
  for (MetadataFile& file : old.removed_metadata)
    if (std::none_of(change.metadata.begin(), change.metadata.end(),
                     [&](const RequestMetadata& one) { return file_of(one) == file; }))
      change.removed_metadata.push_back(std::move(file));
  return change;
}

FileChange metadata_change(const PreparedClaim& claim, const FileSettings& settings) {
  FileChange change;
  if (!settings.writes_metadata) return change;
  if (auto all = metadata_of(claim)) change.metadata = std::move(*all);
  return change;
}

FileChange removal_of(const PreparedClaim& claim, const PreparedClaims& prepared,
                      const FileSettings& settings) {
  FileChange change;
  change.removed_specs.push_back({cdi_kind(claim.driver), claim.uid});
  change.removed_metadata = metadata_files_of(claim);  // regardless of the mode in which they were written
  if (!claim.cdi_pod_id.empty() && claim.cdi_pod_id != claim.uid)
    put_pod_specs(claim.cdi_pod_id, prepared, settings, change);
  if (settings.device_info_directory.empty()) return change;
  for (const PreparedDevice& device : claim.devices)
    if (const auto info = device_info(device, settings.device_info_directory);
        info && !is_shared(device, key_of(claim), prepared))
      change.removed_infos.push_back(info->path);
  return change;
}

}  // namespace sliced::kubelet
