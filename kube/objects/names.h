#pragma once
// Syntax of Kubernetes' names and versions (k8s.io/apimachinery pkg/util/validation). Pure.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sliced::kube {

/// RFC 1123 label: [a-z0-9]([-a-z0-9]*[a-z0-9])?, at most 63 bytes.
bool is_dns_label(std::string_view text);
/// RFC 1123 subdomain: labels joined by '.', at most size_max bytes in total. A single label may exceed 63
/// bytes: Kubernetes checks only the total.
bool is_dns_subdomain(std::string_view text, size_t size_max = 253);
/// Returns major, minor and patch of a Kubernetes version, "v1.36.2+k3s1"; nullopt if invalid.
std::optional<std::array<int64_t, 3>> decode_git_version(std::string_view text);

}  // namespace sliced::kube
