#include "kubectl/why/claim.h"

#include "t/fixture/golden.h"
#include "t/unit/kubectl/why/objects.h"

namespace sliced::why {
namespace {

TEST(Claim, ReadsRequestsAndAllocation) {
  const auto claim = decode_claim(object_of(R"(
metadata: {name: c, namespace: ns}
spec:
  devices:
    requests:
    - name: one
      exactly: {deviceClassName: vf, adminAccess: true, selectors: [{cel: {expression: "true"}}],
                tolerations: [{key: k, operator: Exists}], capacity: {requests: {bandwidth: 5G}}}
    - name: either
      firstAvailable: [{name: a, deviceClassName: all, allocationMode: All}, {name: b, deviceClassName: two, count: 2}]
    constraints: [{matchAttribute: a/b}, {requests: [one], distinctAttribute: c/d}]
status:
  allocation:
    devices: {results: [{request: one, driver: d, pool: p, device: x, shareID: s, consumedCapacity: {bandwidth: 5G}}]}
    nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [w]}]}]}
  reservedFor: [{resource: pods, name: q, uid: u}, {resource: podgroups, name: g, uid: v}]
)"));
  ASSERT_TRUE(claim) << claim.error().what;
  EXPECT_EQ(claim->id(), "ns/c");
  ASSERT_EQ(claim->requests.size(), 2u);
  const Request& one = claim->requests[0].alternatives.at(0);
  EXPECT_EQ(one.count, 1) << "the server's default";
  EXPECT_TRUE(one.admin_access);
  EXPECT_EQ(one.capacity.at("bandwidth").text(), "5G");
  EXPECT_EQ(request_id(claim->requests[1], claim->requests[1].alternatives.at(1)), "either/b");
  EXPECT_TRUE(claim->requests[1].alternatives.at(0).all);
  EXPECT_EQ(claim->constraints.at(1), (Constraint{{"one"}, true, "c/d"}));
  EXPECT_TRUE(claim->allocation->devices.at(0).is_share);
  EXPECT_EQ(claim->users, (std::vector<std::string>{"q", "podgroups/g"}));
  EXPECT_TRUE(claim->unknown.empty());
}

// Red when something of a later release is passed over, and the answer is as if it were not there.
TEST(Claim, NamesUnknownFields) {
  const auto claim = decode_claim(object_of(R"(
metadata: {name: c}
spec: {devices: {requests: [{name: r, someday: {}}], constraints: [{someAttribute: a/b}]}}
)"));
  ASSERT_TRUE(claim);
  EXPECT_EQ(claim->unknown.size(), 2u);
  EXPECT_FALSE(decode_claim(object_of("metadata: {name: c}\nspec: {devices: {requests: 7}}")));
  fixture::expect_golden(
      decode_claim(object_of("metadata: {name: c}\nspec: {devices: {requests: [{name: [x]}]}}"))
          .error()
          .what);
}

TEST(Toleration, IsReadLikeInKubernetes) {
  const kube::Taint taint{"k", "v", "NoSchedule"};
  const struct {
    Toleration toleration;
    bool tolerates_it;
  } rows[] = {{{"", "Exists", "", ""}, true},
              {{"k", "Exists", "", "NoExecute"}, false},
              {{"k", "Equal", "v", "NoSchedule"}, true},
              {{"k", "", "v", ""}, true},
              {{"k", "Equal", "w", ""}, false},
              {{"k", "Later", "v", ""}, false}};
  for (const auto& row : rows)
    EXPECT_EQ(tolerates(row.toleration, taint), row.tolerates_it) << row.toleration.op;
}

}  // namespace
}  // namespace sliced::why
