#include "kubectl/why/extended.h"

#include <algorithm>
#include <optional>

namespace sliced::why {
namespace {

// Returns the remaining request of a container, after it uses the devices of containers that do not run at
// the same time.
std::optional<Request> request_of_container(const Pod& pod, size_t index, const std::string& resource,
                                            const DeviceClass& of,
                                            const std::vector<std::optional<Request>>& reusable) {
  const Container& container = pod.containers[index];
  const auto asked = container.resources.find(resource);
  if (asked == container.resources.end() || asked->second <= 0) return std::nullopt;
  int64_t left = asked->second;
  for (const auto& one : reusable) {
    if (one) left -= one->count;
    if (left <= 0) return std::nullopt;
  }
  const auto place = std::distance(container.resources.begin(), asked);  // among all of its requests, by name
  Request out;
  out.name = "container-" + std::to_string(index) + "-request-" + std::to_string(place);
  out.device_class = of.name;
  out.count = left;
  out.source =
      "container " + container.name + " asks for " + std::to_string(asked->second) + " of " + resource;
  return out;
}

void add_requests(const Pod& pod, const std::string& resource, const DeviceClass& of,
                  std::vector<Request>& out) {
  std::vector<std::optional<Request>> long_lived(pod.containers.size());
  for (size_t i = 0; i < pod.containers.size(); ++i)
    if (!pod.containers[i].ends()) long_lived[i] = request_of_container(pod, i, resource, of, {});
  std::optional<Request> short_lived;  // one after the other: the largest serves them all
  for (size_t i = 0; i < pod.containers.size(); ++i) {
    if (!pod.containers[i].ends()) continue;
    auto one = request_of_container(pod, i, resource, of,
                                    {long_lived.begin() + static_cast<std::ptrdiff_t>(i), long_lived.end()});
    if (one && (!short_lived || short_lived->count < one->count)) short_lived = std::move(one);
  }
  if (short_lived) out.push_back(*std::move(short_lived));
  for (auto& one : long_lived)
    if (one) out.push_back(*std::move(one));
}

// v1helper.IsExtendedResourceName and the default names of classes.
bool is_extended(const std::string& resource) {
  if (resource.starts_with(kClassResourcePrefix)) return true;
  return resource.find('/') != std::string::npos && resource.find("kubernetes.io/") == std::string::npos &&
         !resource.starts_with("requests.");
}

}  // namespace

ResourceClasses::ResourceClasses(const std::vector<DeviceClass>& classes) {
  for (const DeviceClass& one : classes) {
    by_resource_[std::string(kClassResourcePrefix) + one.name] = &one;
    if (one.extended_resource.empty()) continue;
    const DeviceClass*& best = by_resource_[one.extended_resource];
    if (best == nullptr || one.created > best->created ||
        (one.created == best->created && one.name < best->name))
      best = &one;
  }
}

const DeviceClass* ResourceClasses::find(const std::string& resource) const {
  const auto found = by_resource_.find(resource);
  return found == by_resource_.end() ? nullptr : found->second;
}

std::map<std::string, int64_t> extended_requests(const Pod& pod) {
  std::map<std::string, int64_t> together, sidecars, most;
  for (const Container& container : pod.containers)
    for (const auto& [resource, count] : container.resources) {
      if (!is_extended(resource) || count <= 0) continue;
      if (container.ends()) {
        most[resource] = std::max(most[resource], count + sidecars[resource]);
      } else {
        together[resource] += count;
        if (container.is_init) sidecars[resource] += count;
      }
    }
  for (const auto& [resource, count] : together) most[resource] = std::max(most[resource], count);
  return most;
}

Claim extended_claim(const Pod& pod, const std::set<std::string>& resources, const ResourceClasses& classes) {
  Claim out;
  out.namespace_ = pod.namespace_;
  out.name = pod.name + "-extended-resources";
  out.is_made = false;
  out.is_extended = true;
  std::vector<Request> requests;
  for (const std::string& resource : resources)
    if (const DeviceClass* one = classes.find(resource)) add_requests(pod, resource, *one, requests);
  std::sort(requests.begin(), requests.end(),
            [](const Request& a, const Request& b) { return a.name < b.name; });
  for (Request& one : requests) out.requests.push_back({one.name, false, {one}});
  return out;
}

}  // namespace sliced::why
