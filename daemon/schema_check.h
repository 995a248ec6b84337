#pragma once
// Whether the API server keeps the fields of ours. A foreign CRD of the same name drops what it does not know,
// before we see it; all that can be done is to say so.
//
// Log:     what is dropped, of each kind, and that a schema cannot be read: once while it lasts.
// Reentry: nothing here calls back.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/cluster.h"
#include "reactor/base/log.h"
#include "reactor/base/said_once.h"

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

 private:
  // A kind that the schema does not have is not installed, which others say.
  void tell(const Kind& kind, std::string_view schema);

  kube::Cluster& cluster_;
  Log& log_;
  const std::vector<Kind> kinds_;
  std::map<std::string, kube::CallPtr> calls_;  // by group
  std::map<std::string, SaidLast> said_;        // by kind: what is dropped
  SaidLast said_failure_;
};

}  // namespace sliced::daemon
