#pragma once
// Checks whether the API server keeps the fields of policies. A CRD of the same name from another project may
// have fewer fields, and the server drops the others silently: a policy without its filter or its readiness
// offers more than was written. Log: dropped fields of each kind, and a schema that cannot be read; once
// while it lasts. Only reports: decisions do not wait for it and do not depend on it. Reentry: calls nothing
// back.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kube/client/ports.h"
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

  /// Longest wait from listed() to the request. A schema has about 140 KB, and all nodes of a fleet list their
  /// policies at the same moment: when they start, and when a CRD changes.
  static constexpr Millis kSpread{60'000};

  /// The members of ports outlive this object.
  SchemaCheck(kube::ClusterPorts ports, std::vector<Kind> kinds);

  /// A kind was listed, so its CRD may have changed. The first of a group's kinds reads the group's schema, which
  /// covers all of them, after a random wait.
  void listed(const kube::Resource& kind);

  /// Returns the dropped fields, by kind: "SriovResourcePolicy: spec.allow, spec.readiness.require"; "" if
  /// there are none, or no schema was read yet.
  std::string dropped() const;

 private:
  void read(const std::string& group, const std::string& version);
  // A kind that the schema lacks is not installed, which is reported elsewhere.
  void tell(const Kind& kind, std::string_view schema);

  kube::ClusterPorts ports_;
  const std::vector<Kind> kinds_;
  std::map<std::string, reactor::Ticket> timers_;   // by group
  std::map<std::string, kube::CallPtr> calls_;      // by group
  std::map<std::string, LastMessage> last_logged_;  // by kind
  std::map<std::string, std::string> dropped_;      // by kind: the fields; kinds without dropped fields are
                                                    // missing
  LastMessage failure_log_;
  reactor::Ticket trim_;
};

}  // namespace sliced::daemon
