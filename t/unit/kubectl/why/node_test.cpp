#include "kubectl/why/node.h"

#include "kubectl/why/extended.h"
#include "t/unit/kubectl/why/objects.h"

namespace sliced::why {
namespace {

TEST(NodeAffinity, ReportsThePodsRequirementAndTheNodesValue) {
  const auto node = decode_node(object_of(
      "metadata: {name: w, labels: {zone: a}}\nspec: {unschedulable: true, taints: [{key: t, effect: PreferNoSchedule}]}"));
  ASSERT_TRUE(node);
  const struct {
    const char* spec;
    const char* said;  // "" nothing keeps it away
  } rows[] = {
      {"{}", "node.kubernetes.io/unschedulable:NoSchedule"},
      {"{tolerations: [{operator: Exists}]}", ""},
      {"{tolerations: [{operator: Exists}], nodeSelector: {zone: b}}", "label zone=b; the node has zone=a"},
      {"{tolerations: [{operator: Exists}], nodeSelector: {rack: b}}", "label rack=b; the node has none"},
      {"{tolerations: [{operator: Exists}], affinity: {nodeAffinity: "
       "{requiredDuringSchedulingIgnoredDuringExecution: "
       "{nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [b, c]}]}]}}}}",
       "node affinity"}};
  for (const auto& row : rows) {
    const std::string why = scheduling_obstacle(pod_of(row.spec), *node);
    EXPECT_EQ(why.empty(), *row.said == 0) << row.spec << ": " << why;
    EXPECT_NE(why.find(row.said), std::string::npos) << row.spec << ": " << why;
  }
}

TEST(Pod, ListsExistingAndFutureClaims) {
  const auto pod = decode_pod(object_of(R"(
metadata: {name: p, namespace: ns}
spec:
  resourceClaims:
  - {name: own, resourceClaimName: c}
  - {name: made, resourceClaimTemplateName: t}
  - {name: later, resourceClaimTemplateName: t}
  - {name: none, resourceClaimTemplateName: t}
  containers: [{name: c, resources: {requests: {example.com/x: 1, cpu: 1}}}]
status: {resourceClaimStatuses: [{name: made, resourceClaimName: p-made-x1}, {name: none}]}
)"));
  ASSERT_TRUE(pod) << pod.error().what;
  EXPECT_EQ(pod->claims,
            (std::vector<PodClaim>{{"own", "c", ""}, {"made", "p-made-x1", "t"}, {"later", "", "t"}}));
  EXPECT_EQ(extended_requests(*pod), (std::map<std::string, int64_t>{{"example.com/x", 1}}));
}

}  // namespace
}  // namespace sliced::why
