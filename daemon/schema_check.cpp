#include "daemon/schema_check.h"

#include <malloc.h>

#include <algorithm>
#include <utility>

#include "reactor/base/text.h"
#include "watchers/served_schema.h"

namespace sliced::daemon {
namespace {

constexpr Millis kSchemaTrimAfter{1'000};

}  // namespace

SchemaCheck::SchemaCheck(kube::ClusterPorts ports, std::vector<Kind> kinds)
    : ports_(std::move(ports)), kinds_(std::move(kinds)) {}

void SchemaCheck::listed(const kube::Resource& kind) {
  const std::string& group = kind.group;
  const auto first = std::find_if(kinds_.begin(), kinds_.end(),
                                  [&](const Kind& one) { return one.resource.group == group; });
  if (first == kinds_.end() || first->resource.kind != kind.kind) return;
  if (timers_.contains(group)) return;
  const Millis wait{static_cast<int64_t>(ports_.random() * static_cast<double>(kSpread.count()))};
  timers_[group] = ports_.scheduler.after(wait, [this, group, version = kind.version] {
    timers_.erase(group);
    read(group, version);
  });
}

void SchemaCheck::read(const std::string& group, const std::string& version) {
  calls_[group] = ports_.cluster.schema(
      group, version,
      [this, group](std::string_view schema) {
        for (const Kind& one : kinds_)
          if (one.resource.group == group) tell(one, schema);
        // Reading leaves 0.4 MiB of free memory behind, and no decision follows that would return it.
        if (!schema.empty()) trim_ = ports_.scheduler.after(kSchemaTrimAfter, [] { malloc_trim(0); });
      },
      [this](const kube::Failure& failure) {
        if (failure_log_.is_new(failure.what))
          ports_.log.info("schema of the installed CRDs not readable", {{"problem", failure.what}});
      });
}

void SchemaCheck::tell(const Kind& kind, std::string_view schema) {
  const auto dropped = watchers::fields_dropped_by_schema(schema, kind.resource, kind.fields);
  std::string text, remedy;
  dropped_.erase(kind.resource.kind);
  if (!dropped && dropped.error().code !=
                      Errc::kNotFound) {  // kNotFound: the kind is not installed, which is reported elsewhere
    text = dropped.error().what;
  } else if (dropped && !dropped->empty()) {
    text = "drops " + join(*dropped, ", ");
    remedy = watchers::remedy_for_dropped(*dropped);
    dropped_[kind.resource.kind] = join(*dropped, ", ");
  }
  if (last_logged_[kind.resource.kind].is_new(text))
    ports_.log.warning(
        "installed CRD drops fields of this version: policies that use them may expose more devices than intended",
        {{"kind", kind.resource.kind}, {"schema", text}, {"remedy", remedy}});
}

std::string SchemaCheck::dropped() const {
  std::vector<std::string> out;
  for (const auto& [kind, fields] : dropped_) out.push_back(kind + ": " + fields);
  return join(out, "; ");
}

}  // namespace sliced::daemon
