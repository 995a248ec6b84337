#include "kubectl/migrate/dra_driver.h"

#include <gtest/gtest.h>

#include "kube/objects/yaml.h"
#include "t/fixture/golden.h"
#include "t/fixture/vf_host.h"

namespace sliced::migrate {
namespace dra_driver_test {
namespace {

struct Read {
  std::vector<ConvertedObject> objects;
  Complaints complaints;
  std::string texts() const {
    std::string out;
    for (const Complaint& complaint : complaints.all()) out += text_of(complaint) + "\n";
    return out;
  }
};

Read read(const std::string& kind, const std::vector<std::string>& specs) {
  Read out;
  int number = 0;
  for (const std::string& spec : specs) {
    const auto yaml = kube::decode_yaml(
        "apiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1\nkind: " + kind + "\nmetadata: {name: p" +
        std::to_string(++number) +
        ", namespace: dra-driver-sriov, uid: u, resourceVersion: '7', generation: 3}\nspec: " + spec + "\n");
    EXPECT_TRUE(is_of_dra_driver(yaml.documents.at(0)));
    read_dra_object(yaml.documents.at(0), "p.yaml", {}, out.objects, out.complaints);
  }
  check_filters(out.objects, out.complaints);
  return out;
}

std::string compared(const std::vector<ConvertedObject>& objects,
                     const kube::NodeView& node = {"node-a", {}}) {
  fixture::VfHost host;
  host.pf("0000:3b:00.0", "ens1f0", 3);
  host.at("0000:3b:00.3").driver = "vfio-pci";
  const auto inventory = host.inventory();
  std::string out;
  for (const ComparedDevice& row :
       compare(by_dra_driver(objects, inventory, node, {}), objects, inventory, node, {}))
    out += row.device.substr(5) + " " +
           (row.is_same() ? row.before : "(" + row.before + ")->(" + row.after + ")") + "\n";
  return out;
}

TEST(DraDriver, KeepsAPolicyUnchanged) {
  const Read got = read("SriovResourcePolicy", {"{configs: [{resourceFilters: [{vendors: ['8086']}]}]}"});
  EXPECT_EQ(got.texts(), "");
  EXPECT_EQ(
      kube::encode_yaml(got.objects.at(0).object),
      "apiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1\nkind: SriovResourcePolicy\nmetadata:\n  name: p1\n"
      "  namespace: dra-driver-sriov\nspec:\n  configs:\n  - resourceFilters:\n    - vendors:\n      - \"8086\"\n");
  EXPECT_EQ(compared(got.objects),
            "3b:00.1 (no resource name)\n3b:00.2 (no resource name)\n3b:00.3 (no resource name)\n");
}

TEST(DraDriver, ReportsAndShowsPoliciesThatTheDriverIgnores) {
  const Read drivers =
      read("SriovResourcePolicy", {"{configs: [{resourceFilters: [{drivers: [vfio-pci]}]}]}"});
  fixture::expect_golden(drivers.texts());
  EXPECT_EQ(compared(drivers.objects),
            "3b:00.1 ((no resource name))->()\n3b:00.2 ((no resource name))->()\n"
            "3b:00.3 (no resource name)\n");
  const Read nodes = read(
      "SriovResourcePolicy",
      {"{nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [node-b]}]}]}, "
       "configs: [{resourceFilters: [{pfNames: [ens1f0]}]}]}"});
  fixture::expect_golden(nodes.texts());
  EXPECT_EQ(compared(nodes.objects, {"node-a", {}}).substr(0, 34), "3b:00.1 ((no resource name))->()\n3");
  const Read ranges =
      read("SriovResourcePolicy", {"{configs: [{resourceFilters: [{pfNames: ['ens1f0#1']}]}]}"});
  fixture::expect_golden(ranges.texts());
  EXPECT_EQ(compared(ranges.objects), "3b:00.2 ()->((no resource name))\n");
}

TEST(DraDriver, ConvertsAnOldFilterToAPolicy) {
  const Read got =
      read("SriovResourceFilter",
           {"{nodeSelector: {}, configs: [{resourceName: r, resourceFilters: [{pfNames: [ens1f0], "
            "numaNodes: ['1'], pciAddresses: ['0000:3b:00.1']}]}]}"});
  EXPECT_EQ(got.objects.at(0).object.text("kind"), "SriovResourcePolicy");
  EXPECT_EQ(got.texts().rfind("SriovResourceFilter: warning: it named devices that were all offered", 0), 0u)
      << got.texts();
  EXPECT_EQ(compared(got.objects),
            "3b:00.1 r\n3b:00.2 ((no resource name))->()\n3b:00.3 ((no resource name))->()\n");
}

TEST(DraDriver, SeveralFiltersForANodeOfferNothing) {
  const Read got =
      read("SriovResourceFilter", {"{configs: [{resourceName: a, resourceFilters: [{vendors: ['8086']}]}]}",
                                   "{configs: [{resourceName: b, resourceFilters: [{vendors: ['8086']}]}]}"});
  fixture::expect_golden(got.texts());
  EXPECT_EQ(compared(got.objects).substr(0, 34), "3b:00.1 ((no resource name))->(a)\n");
}

TEST(DraDriver, ReportsErrorsOfValidate) {
  const Read got = read("SriovResourcePolicy", {"{configs: [{resourceFilters: [{vendor: ['8086']}]}]}"});
  EXPECT_TRUE(got.complaints.has_errors());
  fixture::expect_golden(got.texts());
}

}  // namespace
}  // namespace dra_driver_test
}  // namespace sliced::migrate
