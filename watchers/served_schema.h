#pragma once
// What the served schema of a kind keeps of our fields. Where another CRD of the same name is installed, the
// server drops what that one does not name, and a policy that loses a filter would offer more than was asked.
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/cluster.h"
#include "reactor/base/result.h"

namespace sliced::watchers {

/// Those of `paths` ("spec.configs[].resourceFilters[].drivers") that the kind's schema in an OpenAPI v3
/// document (/openapi/v3/apis/GROUP/VERSION) has no place for, in the order given. Counted as kept: named
/// properties, additionalProperties, and everything below x-kubernetes-preserve-unknown-fields that is not
/// named there. An empty text (a cluster without schemas) drops nothing.
/// Errors: kInvalid when the document cannot be read, kNotFound when it has no schema for the kind.
/// Bounds: a document of 16 MiB and 2,000,000 values; $ref and allOf nested 16 deep, and what is behind that
/// counts as dropped.
Result<std::vector<std::string>> fields_dropped_by_schema(std::string_view openapi,
                                                          const kube::Resource& kind,
                                                          const std::vector<std::string>& paths);

/// What an administrator can do where these fields are dropped; nothing else keeps a policy from offering more than it says.
std::string remedy_for_dropped(const std::vector<std::string>& dropped);

}  // namespace sliced::watchers
