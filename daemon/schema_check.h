#pragma once
// Whether the API server keeps the fields of policies. Another project's CRD of the same name has fewer fields, and the server drops
// the others before the daemon sees them: a policy without its filter or its readiness offers more than was written.
//
// Log:     what is dropped, of each kind, and that a schema cannot be read: once while it lasts.
// Reentry: nothing here calls back.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/cluster.h"
#include "reactor/base/log.h"
#include "reactor/base/rate_limited_log.h"

namespace sliced::daemon {

class SchemaCheck {
 public:
  struct Kind {
    kube::Resource resource;
    std::vector<std::string> fields;  // "spec.configs[].resourceName"
  };

  /// Cluster and log outlive this. Kinds of one group stand together.
  SchemaCheck(kube::Cluster& cluster, Log& log, std::vector<Kind> kinds);

  /// A kind was listed, so its CRD may be another one. Its group's schema is asked for with the first of the
  /// group's kinds, and tells of all.
  void listed(const kube::Resource& kind);

  /// Returns which fields are dropped, by kind: "SriovResourcePolicy: spec.allow, spec.readiness.require". "": none, or no schema has
  /// been read yet.
  std::string dropped() const;

 private:
  // A kind that the schema does not have is not installed, which others say.
  void tell(const Kind& kind, std::string_view schema);

  kube::Cluster& cluster_;
  Log& log_;
  const std::vector<Kind> kinds_;
  std::map<std::string, kube::CallPtr> calls_;  // by group
  std::map<std::string, LastMessage> said_;     // by kind
  std::map<std::string, std::string> dropped_;  // by kind: the fields; kinds that keep all are not in it
  LastMessage failure_log_;
};

}  // namespace sliced::daemon
