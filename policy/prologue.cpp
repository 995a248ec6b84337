#include "policy/prologue.h"

#include <string>
#include <utility>

#include "kube/name_problems.h"
#include "policy/field_reader.h"

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
  if (meta) return check_names(object, problems), *meta;
  problems.push_back({"metadata", meta.error().what, object.line()});
  return {};
}

const kube::Json* spec_of(const kube::Json& object, Problems& problems) {
  FieldReader(&object, "", problems).only({"apiVersion", "kind", "metadata", "spec", "status"});
  const kube::Json* spec = object.find("spec");
  if (spec != nullptr && !spec->is_null()) return spec;
  problems.push_back({"spec", "is missing; a policy without spec offers nothing", object.line()});
  return nullptr;
}

}  // namespace sliced::policy
