#pragma once
// What an object of every policy kind begins with: who it is, and its spec. What is wrong with them are the first
// of its problems.
#include <string_view>

#include "kube/json.h"
#include "kube/name_problems.h"
#include "kube/object_meta.h"
#include "policy/problem.h"
#include "reactor/base/result.h"

namespace sliced::policy {

/// Names that no API server takes: a file may have them.
inline void check_names(const kube::ObjectMeta& meta, const kube::Json& object, Problems& problems) {
  const auto add = [&](std::string_view key, std::string what) {
    if (what.empty()) return;
    const kube::Json* value = object.find({"metadata", key});
    problems.push_back({"metadata." + std::string(key), std::move(what),
                        value != nullptr && value->line() > 0 ? value->line() : object.line()});
  };
  add("name", kube::problem_of_name(meta.name));
  if (!meta.namespace_.empty()) add("namespace", kube::problem_of_namespace(meta.namespace_));
}

/// meta: of the object (kube::decode_object_meta), decoded once by whoever has the object first. Empty where it
/// cannot be read: the policy then offers nothing, and is told of under the line of the object.
/// A copy: the object goes when it is decoded.
inline kube::ObjectMeta meta_of(const Result<kube::ObjectMeta>& meta, const kube::Json& object,
                                Problems& problems) {
  if (meta) return check_names(*meta, object, problems), *meta;
  problems.push_back({"metadata", meta.error().what, object.line()});
  return {};
}

/// nullptr where there is none, which is a problem: a policy without spec is not one that selects everything.
inline const kube::Json* spec_of(const kube::Json& object, Problems& problems) {
  const kube::Json* spec = object.find("spec");
  if (spec != nullptr && !spec->is_null()) return spec;
  problems.push_back({"spec", "is missing; a policy without spec offers nothing", object.line()});
  return nullptr;
}

}  // namespace sliced::policy
