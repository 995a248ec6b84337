#pragma once
// Checks whether the API server keeps the fields of policies. A CRD of the same name from another project may
// have fewer fields, and the server drops the others silently: a policy without its filter or its readiness
// offers more than was written. Log: dropped fields of each kind, and a schema that cannot be read; once
// while it lasts. Reentry: calls nothing back.
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

  /// Cluster and log outlive this object. Requires: kinds of one group are adjacent.
  SchemaCheck(kube::Cluster& cluster, Log& log, std::vector<Kind> kinds);

  /// A kind was listed, so its CRD may have changed. Reads the group's schema with the first of the group's
  /// kinds; it covers all of them.
  void listed(const kube::Resource& kind);

  /// Returns the dropped fields, by kind: "SriovResourcePolicy: spec.allow, spec.readiness.require"; "" if
  /// there are none, or no schema was read yet.
  std::string dropped() const;

 private:
  // A kind that the schema lacks is not installed, which is reported elsewhere.
  void tell(const Kind& kind, std::string_view schema);

  kube::Cluster& cluster_;
  Log& log_;
  const std::vector<Kind> kinds_;
  std::map<std::string, kube::CallPtr> calls_;      // by group
  std::map<std::string, LastMessage> last_logged_;  // by kind
  std::map<std::string, std::string> dropped_;      // by kind: the fields; kinds without dropped fields are
                                                    // missing
  LastMessage failure_log_;
};

}  // namespace sliced::daemon
