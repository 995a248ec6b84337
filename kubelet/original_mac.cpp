#include "kubelet/original_mac.h"

#include <utility>

#include "hotplug/facts.h"
#include "kube/objects/json.h"
#include "kubelet/mac_requests.h"
#include "kubelet/prepared.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

using kube::Json;

constexpr std::string_view kOriginalMacKind = "sliced-original-mac-1";
constexpr std::string_view kEnd = ".json";
constexpr size_t kBytesMax = 4'096;
constexpr kube::JsonLimits kOriginalMacLimits{.size_max = kBytesMax, .depth_max = 4, .nodes_max = 32};

std::string sum_of(const Json& state) { return hex(stable_hash(kube::encode_json(state)), 16); }

bool is_mac(const std::string& text) { return text.empty() || text == kNoMac || decode_mac(text).ok(); }

}  // namespace

std::string encode_original_mac(const OriginalMac& value) {
  Json state =
      Json::Object{{"pci", value.pci}, {"pf", value.pf}, {"bootID", value.boot_id}, {"mac", value.mac}};
  if (!value.left.empty()) state.set("left", Json(value.left));
  Json out = Json::Object{{"kind", kOriginalMacKind}, {"checksum", sum_of(state)}};
  out.set("state", std::move(state));
  return kube::encode_json(out) + "\n";
}

Result<OriginalMac> decode_original_mac(std::string_view text) {
  const auto json = kube::decode_json(text, kOriginalMacLimits);
  if (!json) return Error(json.error());
  const Json* state = json->find("state");
  if (json->text("kind") != kOriginalMacKind || state == nullptr || json->text("checksum") != sum_of(*state))
    return Error{Errc::kInvalid, "it was cut short, edited, or written by another version"};
  OriginalMac out{.pci = std::string(state->text("pci")),
                  .pf = std::string(state->text("pf")),
                  .boot_id = std::string(state->text("bootID")),
                  .mac = std::string(state->text("mac")),
                  .left = std::string(state->text("left"))};
  if (!is_mac(out.mac))
    return Error{Errc::kInvalid, "mac is " + in_quotes(out.mac, 64) + ", expected an address"};
  return out;
}

std::string original_mac(const OriginalMac* kept, const std::string& now) {
  if (kept == nullptr) return is_mac(now) ? now : "";
  if (!kept->mac.empty()) return kept->mac;
  const bool is_set_since = !kept->left.empty() && !now.empty() && now != kept->left;
  return is_set_since ? now : "";
}

std::map<std::string, std::string> unknown_macs(
    const OriginalMacs& all, const std::function<std::string(const std::string& pci)>& now) {
  std::map<std::string, std::string> out;
  for (const auto& [pci, one] : all)
    if (original_mac(&one, now(pci)).empty()) out.emplace(pci, unknown_mac_text(one));
  return out;
}

std::string unknown_mac_text(const OriginalMac& one) {
  return one.pci + ": original MAC address unknown: " +
         (one.left.empty() ? "the VF keeps its pod's address when the pod ends. Once it has ended: "
                           : "the VF keeps " + one.left + ", which may be a pod's. ") +
         "ip link set PF vf NUMBER mac ADDRESS" + (one.pf.empty() ? "" : " (PF: " + one.pf + ")");
}

Result<std::string> OriginalMacFiles::path_of(const std::string& pci) const {
  if (hotplug::PciAddress::decode(pci)) return directory_ + "/" + pci + std::string(kEnd);
  return Error{Errc::kInvalid, in_quotes(pci, 64) + " is not a PCI address"};
}

Result<std::vector<OriginalMac>> OriginalMacFiles::read() const {
  const auto names = reactor::list_names(directory_, kFilesMax);
  if (!names) return names.error();
  std::vector<OriginalMac> out;
  for (const std::string& name : *names) {
    const std::string pci = name.substr(0, name.size() - std::min(name.size(), kEnd.size()));
    if (!name.ends_with(kEnd) || !hotplug::PciAddress::decode(pci)) continue;
    const auto text = reactor::read_whole(directory_ + "/" + name, kBytesMax);
    auto one = text ? decode_original_mac(*text) : Result<OriginalMac>(text.error());
    out.push_back(one && one->pci == pci ? *std::move(one) : OriginalMac{.pci = pci});
  }
  return out;
}

Result<Unit> OriginalMacFiles::write(const OriginalMac& value) const {
  auto file = file_of(value);
  if (!file) return std::move(file.error());
  return reactor::write_durably({*std::move(file)});
}

Result<reactor::DurableFile> OriginalMacFiles::file_of(const OriginalMac& value) const {
  auto path = path_of(value.pci);
  if (!path) return std::move(path.error());
  return reactor::DurableFile{*std::move(path), encode_original_mac(value), 0600};
}

Result<Unit> OriginalMacFiles::remove(const std::string& pci) const {
  const auto path = path_of(pci);
  if (!path) return path.error();
  return reactor::remove_durably(*path);
}

Result<Unit> OriginalMacFiles::remove_temporaries() const {
  const auto removed = reactor::remove_temporaries(directory_, [](std::string_view) { return true; });
  return removed ? Result<Unit>(Unit{}) : Result<Unit>(removed.error());
}

}  // namespace sliced::kubelet
