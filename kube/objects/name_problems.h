#pragma once
// Reasons for which an API server refuses a name, for people. Pure.
#include <string>
#include <string_view>

namespace sliced::kube {

/// Check metadata.name (a DNS subdomain) and metadata.namespace (a DNS label). Return "is "Nics", wants ...";
/// "" if valid.
std::string problem_of_name(std::string_view name);
std::string problem_of_namespace(std::string_view name);

}  // namespace sliced::kube
