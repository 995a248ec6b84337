// The annotation by which a pod asks for MAC addresses, and the pod around it: whoever may make a pod writes both.
#include <set>

#include "kube/objects/json.h"
#include "kubelet/mac_requests.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::mac_annotation_target {

namespace {

constexpr const char* kKey = "kubevirt.io/dra-networks";

// Two devices of one request, one of another.
kubelet::Claim claim() {
  kubelet::Claim out{.namespace_ = "ns", .name = "pod-net", .uid = "u"};
  out.pod_claim_name = "net";
  for (const char* request : {"vf", "vf", "other/sub"}) {
    kubelet::AllocatedDevice device;
    device.request = request;
    out.devices.push_back(std::move(device));
  }
  out.pods = {{"pod", "pod-uid"}};
  return out;
}

void try_pod(std::string_view pod) {
  const kubelet::Claim before = claim();
  kubelet::Claim after = before;
  if (const auto read = kubelet::read_macs(pod, before.pods.front(), kKey, after); !read) {
    fuzz::must(after == before, "what is not understood changes nothing");
    return fuzz::check(read.error());
  }
  std::set<std::string> macs;
  for (const kubelet::AllocatedDevice& device : after.devices) {
    if (device.mac.empty()) continue;
    const auto mac = kubelet::decode_mac(device.mac);
    fuzz::must(mac.ok() && *mac == device.mac, "an address is one interface's", device.mac);
    fuzz::must(macs.insert(device.mac).second, "no two devices get one address", device.mac);
  }
}

}  // namespace

FUZZ_TARGET(mac_annotation) {
  fuzz::Input input(data, size);
  if (input.byte() % 2 == 0) return try_pod(input.rest), 0;
  using kube::Json;
  const Json net = Json::Object{{"name", "net"}, {"resourceClaimTemplateName", "t"}};
  const Json beside = Json::Object{{"name", "beside"}, {"resourceClaimName", "b"}};
  const Json meta =
      Json::Object{{"uid", "pod-uid"}, {"annotations", Json::Object{{kKey, std::string(input.rest)}}}};
  try_pod(kube::encode_json(Json::Object{
      {"metadata", meta}, {"spec", Json::Object{{"resourceClaims", Json::Array{net, beside}}}}}));
  return 0;
}

}  // namespace sliced::fuzz::mac_annotation_target
