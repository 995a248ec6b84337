#pragma once
// The forms that Kubernetes' names and versions have (k8s.io/apimachinery pkg/util/validation). Pure.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sliced::kube {

/// RFC 1123 label: [a-z0-9]([-a-z0-9]*[a-z0-9])?, at most 63 bytes.
bool is_dns_label(std::string_view text);
/// RFC 1123 subdomain: labels joined by '.', at most size_max bytes in all. A label in it may be longer than
/// 63 bytes: Kubernetes checks only the whole.
bool is_dns_subdomain(std::string_view text, size_t size_max = 253);
/// Major, minor and patch of a version of Kubernetes: "v1.36.2+k3s1"; nullopt for anything else.
std::optional<std::array<int64_t, 3>> decode_git_version(std::string_view text);

}  // namespace sliced::kube
