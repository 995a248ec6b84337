#pragma once
// Why an API server refuses a name, in words for whoever has written it. Pure.
#include <string>
#include <string_view>

namespace sliced::kube {

/// Of metadata.name of an object of ours (a DNS subdomain), and of metadata.namespace (a DNS label): "is "Nics", wants ...";
/// "" it does not.
std::string problem_of_name(std::string_view name);
std::string problem_of_namespace(std::string_view name);

}  // namespace sliced::kube
