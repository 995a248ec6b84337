#include "kubectl/migrate/networks.h"

#include <algorithm>

#include "reactor/base/text.h"

namespace sliced::migrate {

bool is_network(const kube::Json& object) {
  return object.text("kind") == "NetworkAttachmentDefinition" &&
         object.text("apiVersion").starts_with("k8s.cni.cncf.io/");
}

void read_network(const kube::Json& object, const std::string& file, std::vector<Network>& out,
                  Complaints& complaints) {
  Network one{.place = {file, object.line()}};
  const kube::Json* meta = object.find("metadata");
  if (meta != nullptr) {
    one.namespace_ = meta->text("namespace");
    one.name = meta->text("name");
  }
  const kube::Json* annotation = object.find({"metadata", "annotations", kNetworkResource});
  if (annotation != nullptr && annotation->string() != nullptr) one.resource = *annotation->string();
  if (one.name.empty())
    return complaints.warning(one.place, "NetworkAttachmentDefinition without metadata.name is ignored");
  if (one.resource.empty())
    return complaints.warning(one.place, "NetworkAttachmentDefinition " + escaped(one.text()) +
                                             " is ignored: it names no resource (annotation " +
                                             kNetworkResource + ")");
  out.push_back(std::move(one));
}

NamedNetwork network_of(const std::vector<Network>& networks, const std::string& resource) {
  NamedNetwork out;
  for (const Network& one : networks)
    if (one.resource == resource) out.candidates.push_back(&one);
  if (out.candidates.empty()) return out;
  const Network& first = *out.candidates.front();
  if (out.candidates.size() == 1) {
    out.name = first.name;
    out.namespace_ = first.namespace_;
    return out;
  }
  if (std::all_of(out.candidates.begin(), out.candidates.end(),
                  [&](const Network* one) { return one->name == first.name && !one->namespace_.empty(); }))
    out.name = first.name;
  return out;
}

}  // namespace sliced::migrate
