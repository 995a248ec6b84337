// Writes specs as preparing claims does, for CDI's own library to read; and says what it reads of a checkpoint of
// dra-driver-sriov.
//   cdi_specs write DIRECTORY
//   cdi_specs read-peer FILE
#include <cstdio>
#include <string>

#include "kubelet/cdi/store.h"
#include "kubelet/device_metadata.h"
#include "kubelet/peer_checkpoint.h"
#include "kubelet/plan.h"
#include "reactor/durable_file.h"

using namespace sliced;

namespace {

int fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.what.c_str());
  return 1;
}

kubelet::PreparedDevice device(const std::string& name, const std::string& pci) {
  return {.request = "vf", .pool = "node-a", .device = name, .pci = pci, .multus_resource = "intel.com/vf"};
}

kubelet::PreparedClaim claim(const std::string& driver, const std::string& uid) {
  kubelet::PreparedClaim out{.driver = driver,
                             .namespace_ = "ns",
                             .name = "claim",
                             .uid = uid,
                             .pods = {{"pod", "8f1c2d3e-0000-4000-8000-000000000002"}},
                             .cdi_pod_id = "8f1c2d3e-0000-4000-8000-000000000002"};
  kubelet::PreparedDevice plain = device("0000-03-00-2", "0000:03:00.2"),
                          vfio = device("0000-03-00-3", "0000:03:00.3"), shared = device("br0-macvlan", "");
  vfio.vfio = kubelet::VfioBinding{"igbvf", "7"};
  vfio.config.adds_vhost = true;
  shared.share_id = "01234567-89ab-cdef-0123-456789abcdef";
  const kubelet::DeviceSnapshot rdma{.rdma_device = "mlx5_3", .rdma_nodes = {"/dev/infiniband/uverbs3"}},
      group{.vfio_group = "7"};
  plain.edits = kubelet::edits_of(plain, rdma);
  vfio.edits = kubelet::edits_of(vfio, group);
  shared.edits = kubelet::edits_of(shared, {});
  out.devices = {plain, vfio, shared};
  add_resource_names(out);
  return out;
}

Result<Unit> write_metadata(const kubelet::PreparedClaim& claim, const std::string& directory) {
  const cdi::Store store(directory, &cdi::metadata_file);
  const auto requests = metadata_of(claim);
  if (!requests) return Error(requests.error());
  for (const auto& one : *requests) {
    const cdi::Spec spec = metadata_spec(one, directory + "/metadata.json");
    if (auto written = store.write(spec, metadata_id(file_of(one))); !written) return written;
  }
  return Unit{};
}

int write(const std::string& directory) {
  const cdi::Store store(directory);
  kubelet::PreparedClaims all;
  for (const char* driver : {"sriovnetwork.k8snetworkplumbingwg.io", "dra.networking"}) {
    // Ids that begin with a digit and with a letter take different versions of the format.
    for (const char* uid : {"1a2b3c4d-0000-4000-8000-000000000001", "a1b2c3d4-0000-4000-8000-000000000001"}) {
      const kubelet::PreparedClaim one = claim(driver, uid);
      all.emplace(key_of(one), one);
      if (auto written = store.write(claim_spec(one), uid); !written) return fail(written.error());
      if (auto written = write_metadata(one, directory); !written) return fail(written.error());
      std::printf("%s %s %s\n", kubelet::cdi_kind(driver).c_str(), uid,
                  cdi::transient_file(kubelet::cdi_kind(driver), uid).c_str());
      for (const auto& device : answer_of(one, true).devices)
        for (const std::string& id : device.cdi_ids) std::printf("device %s\n", id.c_str());
    }
    const std::string pod = all.begin()->second.cdi_pod_id;
    if (auto written = store.write(*pod_spec(driver, pod, all), pod); !written) return fail(written.error());
  }
  return 0;
}

int read_peer(const std::string& path) {
  const auto text = reactor::read_whole(path, 1u << 20);
  if (!text) return fail(text.error());
  const auto claims = kubelet::decode_peer_checkpoint(*text);
  if (!claims) return fail(claims.error());
  for (const auto& [key, claim] : *claims)
    for (const auto& device : claim.devices)
      std::printf("%s %s/%s %s %s %s\n", claim.uid.c_str(), claim.namespace_.c_str(), claim.name.c_str(),
                  device.device.c_str(), device.pci.c_str(),
                  device.vfio ? device.vfio->original_driver.c_str() : "-");
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count == 3 ? arguments[1] : "";
  if (what == "write") return write(arguments[2]);
  if (what == "read-peer") return read_peer(arguments[2]);
  std::fputs("cdi_specs write DIRECTORY | read-peer FILE\n", stderr);
  return 2;
}
