#include "policy/prologue.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/objects/name_problems.h"
#include "reactor/base/text.h"

namespace sliced::policy {

void check_names(const kube::Json& object, Problems& problems) {
  for (const auto& [key, problem_of] :
       {std::pair("name", &kube::problem_of_name), std::pair("namespace", &kube::problem_of_namespace)}) {
    const kube::Json* value = object.find({"metadata", key});
    if (value == nullptr || value->string() == nullptr || value->string()->empty()) continue;
    if (std::string what = problem_of(*value->string()); !what.empty())
      problems.push_back({std::string("metadata.") + key, std::move(what),
                          value->line() > 0 ? value->line() : object.line()});
  }
}

kube::ObjectMeta meta_of(const Result<kube::ObjectMeta>& meta, const kube::Json& object, Problems& problems) {
  if (meta) {
    check_names(object, problems);
    return *meta;
  }
  problems.push_back({"metadata", meta.error().what, object.line()});
  return {};
}

bool check_members(const kube::Json& object, Problems& problems) {
  static const std::vector<std::string_view> kMembers = {"apiVersion", "kind", "metadata", "spec", "status"};
  const size_t before = problems.size();
  if (object.object() == nullptr) return true;
  for (const auto& [key, value] : *object.object())
    if (std::find(kMembers.begin(), kMembers.end(), key) == kMembers.end() &&
        nearest(lower(key), kMembers) == "spec")
      problems.push_back({escaped(key, 64), "unknown field; did you mean spec?", value.line()});
  return problems.size() == before;
}

const kube::Json* spec_of(const kube::Json& object, Problems& problems) {
  const kube::Json* spec = object.find("spec");
  if (spec != nullptr && !spec->is_null()) return spec;
  problems.push_back({"spec", "is missing; a policy without spec offers nothing", object.line()});
  return nullptr;
}

}  // namespace sliced::policy
