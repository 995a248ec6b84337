#pragma once
// Finds fields that the served schema of a kind drops: with another CRD of the same name, the server drops
// unknown fields, and a policy without one of its filters offers more than intended.
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/cluster.h"
#include "reactor/base/result.h"

namespace sliced::watchers {

/// Returns those of `paths` ("spec.configs[].resourceFilters[].drivers") that the kind's schema in an OpenAPI
/// v3 document (/openapi/v3/apis/GROUP/VERSION) drops, in the given order. Kept are named properties,
/// additionalProperties, and fields below x-kubernetes-preserve-unknown-fields. An empty text (a cluster
/// without schemas) drops nothing. Errors: kInvalid for an invalid document, kNotFound without a schema of
/// the kind. Limits: 16 MiB, 2,000,000 values, $ref and allOf nested 16 deep; deeper fields count as dropped.
Result<std::vector<std::string>> fields_dropped_by_schema(std::string_view openapi,
                                                          const kube::Resource& kind,
                                                          const std::vector<std::string>& paths);

/// Returns the remedy for an administrator, for a log line.
std::string remedy_for_dropped(const std::vector<std::string>& dropped);

}  // namespace sliced::watchers
