#include "kubectl/migrate/dranet_selector.h"

#include <gtest/gtest.h>

#include "cel/program.h"
#include "cel/published_device.h"
#include "policy/exposure/selector.h"

namespace sliced::migrate {
namespace dranet_selector_test {
namespace {

constexpr const char* kOurs = "dra.networking";

std::string selector(const std::string& text) {
  const auto out = translate_selector(text, kOurs);
  if (!out) return out.error().what;
  const auto program = cel::Program::compile(out->text, cel::selector_environment());
  EXPECT_TRUE(program) << out->text << ": " << program.error().what;
  return out->text;
}
std::string filter(const std::string& text) {
  const auto out = translate_filter(text, kOurs);
  if (!out) return out.error().what;
  const auto program = policy::compile_selector(out->text, kOurs);
  EXPECT_TRUE(program || !out->untranslated.empty()) << out->text << ": " << program.error().what;
  return out->text;
}
std::vector<std::string> untranslated(const std::string& text) {
  std::vector<std::string> out;
  const auto translated = translate_selector(text, kOurs);
  for (const Untranslated& one : translated->untranslated) {
    out.push_back(one.part);
    EXPECT_FALSE(one.why.empty() || one.remedy.empty()) << one.part;
  }
  return out;
}

bool matches(const std::string& text, const kube::Device& entry) {
  const auto program =
      cel::Program::compile(translate_selector(text, kOurs)->text, cel::selector_environment());
  cel::Evaluator evaluator;
  return evaluator.select(*program, cel::PublishedDevice(kOurs, entry)) == cel::Answer::Is::kTrue;
}

TEST(DranetSelector, RenamesAttributes) {
  EXPECT_EQ(selector(R"(device.driver == "dra.net")"), R"(device.driver == "dra.networking")");
  EXPECT_EQ(selector(R"(device.driver in ['gpu.example.com', 'dra.net'])"),
            R"(device.driver in ['gpu.example.com', "dra.networking"])");
  EXPECT_EQ(selector(R"(device.attributes["dra.net"].ifName.startsWith("rail"))"),
            R"(device.attributes["dra.networking"].ifName.startsWith("rail"))");
  EXPECT_EQ(selector(R"(device.attributes['dra.net']['pciSubsystem'] == '0041')"),
            R"(device.attributes["dra.networking"].subsystemProduct == '0041')");
  EXPECT_EQ(selector(R"(device.attributes["dra.net"].?sriovVfs.orValue(0) > 3)"),
            R"(device.attributes["dra.networking"].?numVFs.orValue(0) > 3)");
}

TEST(DranetSelector, KeepsOtherExpressionsUnchanged) {
  const std::string other = R"(device.attributes["gpu.example.com"].index < 2 && // dra.net
 "dra.network" in device.attributes)";
  EXPECT_EQ(selector(other), other);
  EXPECT_FALSE(translate_selector(other, kOurs)->names_dranet);
  EXPECT_TRUE(translate_selector(R"("dra.net" in device.attributes)", kOurs)->names_dranet);
}

// dranet publishes rdma of each device, and sliced only where it is known: an absent one would end the scheduler's attempt.
TEST(DranetSelector, AnAbsentAttributeDoesNotEndTheConversion) {
  const kube::Device bare{.name = "d", .attributes = {{"dra.networking/type", std::string("bridge")}}};
  EXPECT_TRUE(matches(R"(device.attributes["dra.net"].rdma == false)", bare));
  EXPECT_TRUE(matches(R"(!device.attributes["dra.net"].sriov)", bare));
  EXPECT_TRUE(matches(R"(device.attributes["dra.net"].virtual)", bare));
  EXPECT_FALSE(matches(R"(device.attributes["dra.net"].?virtual.orValue(true) == false)", bare));
  EXPECT_TRUE(matches(R"(device.attributes["dra.net"].type == "bridge")", bare));
  EXPECT_TRUE(matches(R"(device.attributes["dra.net"].type != "vlan")", bare));
  EXPECT_FALSE(matches(R"(device.attributes["dra.net"].encapsulation == "infiniband")", bare));
}

TEST(DranetSelector, TranslatesConditionsOverOtherAttributes) {
  const kube::Device vf{.name = "d",
                        .attributes = {{"dra.networking/type", std::string("vf")},
                                       {"dra.networking/ifName", std::string("p0v1")},
                                       {"dra.networking/linkType", std::string("ethernet")},
                                       {"dra.networking/vendor", std::string("15b3")},
                                       {"dra.networking/product", std::string("101e")}}};
  for (
      const char* text :
      {R"(device.attributes["dra.net"].isSriovVf)", R"("isSriovVf" in device.attributes["dra.net"])",
       R"(has(device.attributes["dra.net"].isSriovVf) && device.attributes["dra.net"].isSriovVf)",
       R"(device.attributes["dra.net"]["virtual"] == false)", R"(has(device.attributes["dra.net"].rdma))",
       R"("virtual" in device.attributes["dra.net"])", R"(device.attributes["dra.net"].type == "device")",
       R"(device.attributes["dra.net"].type in ["device", "vlan"])",
       R"(device.attributes["dra.net"].encapsulation == "ether")",
       R"("Mellanox Technologies" == device.attributes["dra.net"].pciVendor || device.attributes["dra.net"].pciVendor == "Mellanox Technologies")",
       R"(device.attributes["dra.net"].pciVendor != "Intel Corporation")"})
    EXPECT_TRUE(matches(text, vf)) << translate_selector(text, kOurs)->text;
  EXPECT_FALSE(matches(R"(device.attributes["dra.net"].type == "bond")", vf));
}

TEST(DranetSelector, KeepsAndNamesPartsWithoutACounterpart) {
  const std::string address = R"(device.attributes["dra.net"].ipv4.startsWith("192.0.2."))";
  EXPECT_EQ(selector(address), address);
  EXPECT_EQ(untranslated(address), std::vector<std::string>{"device.attributes['dra.net'].ipv4"});
  EXPECT_EQ(untranslated(R"(device.attributes["dra.net"].type == "dummy")"),
            std::vector<std::string>{"device.attributes['dra.net'].type == 'dummy'"});
  EXPECT_EQ(untranslated(R"(device.attributes["oke.dra.net"].rackId == "r1")"),
            std::vector<std::string>{"device.attributes['oke.dra.net'].rackId"});
  EXPECT_EQ(untranslated(R"(device.attributes["dra.net"].pciDevice.contains("ConnectX-7"))"),
            std::vector<std::string>{"device.attributes['dra.net'].pciDevice"});
  EXPECT_EQ(untranslated(R"(device.attributes["dra.net"].pciVendor == "A Small Company")").size(), 1u);
  EXPECT_EQ(untranslated(R"(device.attributes["dra.net"].exists(k, k == "ifName"))"),
            std::vector<std::string>{"device.attributes['dra.net']"});
  EXPECT_EQ(
      untranslated(R"(device.attributes["dra.net"].rack == 3 || device.attributes["dra.net"].rack == 4)"),
      std::vector<std::string>{"device.attributes['dra.net'].rack"});
}

TEST(DranetSelector, FindsTheOnlyMatchingInterface) {
  const auto only = [](const std::string& text) { return translate_selector(text, kOurs)->only_interface; };
  EXPECT_EQ(
      only(R"(has(device.attributes["dra.net"].ifName) && device.attributes["dra.net"].ifName == "rail0")"),
      "rail0");
  EXPECT_EQ(only(R"(device.attributes["dra.net"].ifName == "rail0" || device.attributes["dra.net"].rdma)"),
            "");
  EXPECT_EQ(
      only(R"(device.attributes["dra.net"].rdma ? device.attributes["dra.net"].ifName == "rail0" : true)"),
      "");
  EXPECT_EQ(only(R"(!(device.attributes["dra.net"].ifName == "rail0"))"), "");
  const auto names = translate_selector(
      R"(device.attributes["dra.net"].ifName in ["a0", "a1"] || device.attributes["dra.net"].ifName == "b")",
      kOurs);
  EXPECT_EQ(names->interfaces, (std::vector<std::string>{"a0", "a1", "b"}));
}

TEST(DranetSelector, RecognizesDevicesWithoutAnInterface) {
  const auto out = translate_selector(
      R"(device.attributes["dra.net"].pciDevice == 'Elastic Fabric Adapter (EFA)')", kOurs);
  EXPECT_TRUE(out->selects_without_interface && out->untranslated.empty()) << out->text;
  EXPECT_FALSE(
      translate_selector(R"(device.attributes["dra.net"].pciDevice != 'Elastic Fabric Adapter (EFA)')", kOurs)
          ->selects_without_interface);
  EXPECT_TRUE(translate_selector(R"(device.attributes["dra.net"].rdma)", kOurs)->selects_rdma);
}

TEST(DranetSelector, RefusesTextsThatAreNotCel) {
  EXPECT_FALSE(translate_selector(R"(device.attributes["dra.net"].rdma = true)", kOurs));
  EXPECT_FALSE(translate_filter("attributes[", kOurs));
}

TEST(DranetFilter, ReadsTheAttributesOfTheHost) {
  EXPECT_EQ(filter(R"(attributes["dra.net/rdma"].BoolValue == true)"),
            R"(device.attributes["dra.networking"].rdma == true)");
  EXPECT_EQ(filter(R"(attributes["dra.net/virtual"].BoolValue == false)"),
            R"((!(device.attributes["dra.networking"].type in ["pf", "vf", "nic"])) == false)");
  EXPECT_EQ(
      filter(R"("dra.net/numaNode" in attributes && attributes["dra.net/numaNode"].IntValue == 1)"),
      R"(has(device.attributes["dra.networking"].numaNode) && device.attributes["dra.networking"].numaNode == 1)");
  EXPECT_EQ(filter(R"(attributes["resource.kubernetes.io/numaNode"].IntValue == 1)"),
            R"(device.attributes["resource.kubernetes.io"].numaNode == 1)");
  EXPECT_EQ(filter(R"(attributes["dra.net/state"].StringValue == "up")"),
            R"(device.attributes["dra.networking"].operState == "up")");
  EXPECT_NE(
      filter(R"(attributes["dra.net/ifName"].StringValue.matches("^rail[0-9]+$"))").find(".ifName.matches("),
      std::string::npos);
}

// dranet's default. No virtual interface is offered by itself, so that none is a veth.
TEST(DranetFilter, TypesOfVirtualInterfacesAreFalse) {
  const auto out = translate_filter(
      R"(!("dra.net/type" in attributes) || attributes["dra.net/type"].StringValue != "veth")", kOurs);
  EXPECT_EQ(out->text, R"(!(has(device.attributes["dra.networking"].ifName)) || !(false))");
  EXPECT_TRUE(out->untranslated.empty());
  EXPECT_EQ(
      translate_filter(R"(attributes["dra.net/type"].StringValue == "macvlan")", kOurs)->untranslated.size(),
      1u);
}

TEST(DranetFilter, NamesAnAttributeWithoutACounterpart) {
  for (const char* text :
       {R"(attributes["dra.net/ipv4"].StringValue != "")",
        R"(attributes["gce.dra.net/block"].StringValue == "b")",
        R"(has(attributes["dra.net/ebpf"].BoolValue))", R"(attributes["dra.net/rdma"] != null)"})
    EXPECT_EQ(translate_filter(text, kOurs)->untranslated.size(), 1u) << text;
}

TEST(DranetAttribute, OfConstraints) {
  EXPECT_EQ(translate_attribute("dra.net/numaNode", kOurs), "dra.networking/numaNode");
  EXPECT_EQ(translate_attribute("dra.net/pciVendor", kOurs), "dra.networking/vendor");
  EXPECT_EQ(translate_attribute("resource.kubernetes.io/pcieRoot", kOurs), "resource.kubernetes.io/pcieRoot");
  EXPECT_EQ(translate_attribute("dra.net/virtual", kOurs), std::nullopt);
  EXPECT_EQ(translate_attribute("azure.dra.net/vmSize", kOurs), std::nullopt);
  EXPECT_EQ(why_no_attribute("azure.dra.net/vmSize").part, "azure.dra.net/vmSize");
}

}  // namespace
}  // namespace dranet_selector_test
}  // namespace sliced::migrate
