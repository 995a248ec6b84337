#include "kube/objects/cluster.h"

namespace sliced::kube {

std::string api_version(const Resource& resource) {
  return resource.group.empty() ? resource.version : resource.group + "/" + resource.version;
}

}  // namespace sliced::kube
