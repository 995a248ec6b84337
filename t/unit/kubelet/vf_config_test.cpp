#include "kubelet/vf_config.h"

#include <gtest/gtest.h>

#include "t/fixture/golden.h"
#include "t/unit/kubelet/sample_claims.h"

namespace sliced::kubelet {
namespace vf_config_test {
namespace {

using kube::Json;
using sample::config;

Result<VfConfigs> configs_of(Json::Array configs) {
  sample::ClaimText text;
  text.configs = std::move(configs);
  return VfConfigs::decode(text.decoded(), sample::kSriov);
}

VfConfig config_of(Json::Array configs, const std::string& request = "vf") {
  return configs_of(std::move(configs)).value().of(request).value();
}

TEST(VfConfigs, HonourAllFields) {
  const VfConfig all = config_of({config({{"driver", "vfio-pci"},
                                          {"ifName", "net1"},
                                          {"netAttachDefName", "fast"},
                                          {"netAttachDefNamespace", "ns"},
                                          {"addVhostMount", true}})});
  EXPECT_EQ(all, (VfConfig{"vfio-pci", "net1", "ns", "fast", true, false}));
  EXPECT_TRUE(all.requires_vfio());
  EXPECT_EQ(config_of({}), VfConfig{});
}

std::string why_not(Json::Array configs) {
  const auto found = configs_of(std::move(configs)).value().of("vf");
  return found ? "" : found.error().what;
}

TEST(VfConfigs, AClaimOnlyAddsToItsClass) {
  const Json claims = config({{"ifName", "mine"}});
  const Json classes = config({{"addVhostMount", true}, {"driver", "vfio-pci"}}, {}, "FromClass");
  for (const Json::Array& order : {Json::Array{claims, classes}, Json::Array{classes, claims}}) {
    EXPECT_EQ(config_of(order).if_name, "mine");
    EXPECT_TRUE(config_of(order).adds_vhost && config_of(order).requires_vfio());
  }
  EXPECT_EQ(config_of({config({{"ifName", "a"}}), config({{"ifName", "b"}})}).if_name, "b");
  EXPECT_TRUE(config_of({classes, config({{"addVhostMount", true}, {"driver", "vfio-pci"}})}).requires_vfio())
      << "the same value changes nothing";
  const struct {
    const char* field;
    Json by_class, by_claim;
  } cases[] = {{"ifName", "theirs", "mine"},      {"driver", "vfio-pci", "default"},
               {"driver", "default", "vfio-pci"}, {"addVhostMount", false, true},
               {"addVhostMount", true, false},    {"netAttachDefName", "theirs", "mine"}};
  for (const auto& [field, by_class, by_claim] : cases) {
    const Json of_class = config({{field, by_class}}, {}, "FromClass"),
               of_claim = config({{field, by_claim}});
    for (const Json::Array& order : {Json::Array{of_claim, of_class}, Json::Array{of_class, of_claim}}) {
      EXPECT_NE(why_not(order).find(std::string(".opaque.parameters.") + field + " is "), std::string::npos)
          << why_not(order);
      fixture::expect_golden(why_not(order));
    }
  }
}

// Red when a configuration that was meant for the device's driver, and names another one, is ignored without a word; when one that is for
// another driver's device, or another vendor's, is reported.
TEST(VfConfigs, NamesAConfigurationWithAMisspelledDriver) {
  const Json gpu = Json::Object{
      {"source", "FromClaim"},
      {"requests", Json::Array{}},
      {"opaque",
       Json::Object{{"driver", "gpu.example.com"}, {"parameters", Json::Object{{"kind", "GpuConfig"}}}}}};
  const Json plain = Json::Object{
      {"source", "FromClaim"},
      {"requests", Json::Array{}},
      {"opaque",
       Json::Object{{"driver", "dra.net"}, {"parameters", Json::Object{{"interface", Json::Object{}}}}}}};
  const auto ignored = [](Json::Array configs, const std::string& driver,
                          Json::Array results = {sample::result("vf", "0000-03-00-2", sample::kExposure)}) {
    sample::ClaimText text;
    text.results = std::move(results);
    text.configs = std::move(configs);
    return ignored_configs(text.decoded(), driver);
  };
  using sample::kExposure, sample::kSriov;
  const Json wrong = config({{"ifName", "net1"}});
  const auto said = ignored({wrong}, kExposure);
  ASSERT_EQ(said.size(), 1u);
  fixture::expect_golden(said[0]);
  EXPECT_EQ(ignored({config({}, {}, "FromClass")}, kExposure).size(), 1u) << "of a class";
  EXPECT_EQ(ignored({config({}, {}, "FromClaim", "dra.netwrking")}, kExposure).size(), 1u) << "nearly ours";
  EXPECT_EQ(ignored({plain}, kExposure).size(), 1u) << "of a peer";
  EXPECT_TRUE(ignored({gpu}, kExposure).empty()) << "of another vendor";
  EXPECT_TRUE(ignored({wrong}, kSriov).empty()) << "nothing of the claim is that driver's";
  EXPECT_TRUE(ignored({config({}, {"other"})}, kExposure).empty()) << "for another request";
  EXPECT_TRUE(ignored({wrong, config({}, {}, "FromClaim", kExposure)}, kExposure).empty())
      << "it is for both drivers";
  EXPECT_EQ(ignored({wrong, config({}, {}, "FromClass", kExposure)}, kExposure).size(), 1u)
      << "the class has its own, and the claim's is ignored all the same";
  EXPECT_TRUE(
      ignored({wrong}, kExposure,
              {sample::result("nic", "ens1f0", kExposure), sample::result("vf", "0000-03-00-2", kSriov)})
          .empty())
      << "another device of the claim is of that driver";
}

TEST(VfConfigs, SelectRequests) {
  struct Case {
    Json::Array requests;
    const char* request;
    bool is_meant;
  };
  const Case cases[] = {
      {{}, "vf", true},           {{"vf"}, "vf", true},           {{"other"}, "vf", false},
      {{"vf"}, "vf/fast", true},  {{"vf/fast"}, "vf/fast", true}, {{"vf/slow"}, "vf/fast", false},
      {{"vf/fast"}, "vf", false}, {{"other", "vf"}, "vf", true},
  };
  for (const Case& one : cases)
    EXPECT_EQ(config_of({config({{"ifName", "net1"}}, one.requests)}, one.request).if_name == "net1",
              one.is_meant)
        << one.request;
}

TEST(VfConfigs, IgnoreOtherDrivers) {
  Json other = config({{"ifName", "x"}}, {}, "FromClaim", "gpu.example.com");
  other.set("opaque", Json::Object{{"driver", "gpu.example.com"}, {"parameters", Json::Object{{"any", 1}}}});
  EXPECT_EQ(config_of({other}), VfConfig{});
}

TEST(VfConfigs, AClaimSelectsDefinitionsOfItsNamespaceOnly) {
  const Json classes =
      config({{"netAttachDefName", "infra"}, {"netAttachDefNamespace", "kube-system"}}, {}, "FromClass");
  EXPECT_EQ(config_of({classes}).nad_namespace, "kube-system");
  EXPECT_NE(why_not({classes, config({{"netAttachDefName", "mine"}})}), "");
  EXPECT_NE(why_not({classes, config({{"netAttachDefName", "infra"}})}), "")
      << "another definition of that name, in the claim's namespace";
  const Json only_namespace = config({{"netAttachDefNamespace", "kube-system"}}, {}, "FromClass");
  EXPECT_NE(why_not({only_namespace, config({{"netAttachDefName", "mine"}})}), "")
      << "else a claim could choose any of another namespace";
  EXPECT_EQ(config_of({config({{"netAttachDefName", "mine"}})}).nad_namespace, "ns");
  EXPECT_EQ(config_of({config({{"netAttachDefNamespace", "ns"}})}).nad_namespace, "") << "of no definition";
}

// Users of a namespace can write the definitions that are there, whichever name a class gives.
TEST(VfConfigs, OnlyAClassSelectsDefinitionsOfOtherNamespaces) {
  const auto by_class = [](const char* namespace_) {
    return config({{"netAttachDefName", "infra"}, {"netAttachDefNamespace", namespace_}}, {}, "FromClass");
  };
  EXPECT_TRUE(config_of({by_class("kube-system")}).is_nad_administrators);
  EXPECT_FALSE(config_of({by_class("ns")}).is_nad_administrators);
  EXPECT_FALSE(config_of({by_class("")}).is_nad_administrators);
  EXPECT_FALSE(config_of({config({{"netAttachDefName", "infra"}})}).is_nad_administrators);
}

TEST(VfConfigs, AnInvalidConfigurationPreparesNothing) {
  struct Case {
    Json::Object parameters;
    const char* says;
  };
  const Case cases[] = {
      {{{"driverr", "vfio-pci"}}, "driverr is an unknown field; did you mean driver?"},
      {{{"zzzzzzzzzz", 1}}, "zzzzzzzzzz is an unknown field; known are"},
      {{{"driver", "igb_uio"}}, "driver is \"igb_uio\", expected default or vfio-pci"},
      {{{"driver", "mdev"}}, "mediated devices are not prepared"},
      {{{"driver", 7}}, "driver is a number, expected a string"},
      {{{"ifName", "sixteen-bytes-ab"}}, "ifName is \"sixteen-bytes-ab\""},
      {{{"ifName", "a/b"}}, "ifName"},
      {{{"ifName", "eth0"}}, "ifName is \"eth0\", which is the primary interface of the pod"},
      {{{"ifName", "lo"}}, "ifName is \"lo\""},
      {{{"ifName", "all"}}, "ifName is \"all\""},
      {{{"ifName", "default"}}, "ifName is \"default\""},
      {{{"ifName", "all."}}, "ifName is \"all.\", which a CNI plugin may use as another interface"},
      {{{"ifName", ".all"}}, "ifName is \".all\""},
      {{{"ifName", "default."}}, "ifName is \"default.\""},
      {{{"ifName", "eth0."}}, "ifName is \"eth0.\""},
      {{{"ifName", "lo."}}, "ifName is \"lo.\""},
      {{{"ifName", "a..b"}}, "ifName is \"a..b\""},
      {{{"ifName", "a b"}}, "ifName"},
      {{{"ifName", ".."}}, "ifName"},
      {{{"ifName", "a\nb"}}, "ifName"},
      {{{"ifName", "$(x)"}}, "ifName is \"$(x)\", expected at most 15 letters"},
      {{{"ifName", ";x"}}, "ifName is \";x\""},
      {{{"ifName", "-x"}}, "ifName is \"-x\""},
      {{{"ifName", "_x"}}, "ifName is \"_x\""},
      {{{"ifName", "a*"}}, "ifName is \"a*\""},
      {{{"netAttachDefName", "../x"}}, "netAttachDefName"},
      {{{"netAttachDefName", "Upper"}}, "netAttachDefName"},
      {{{"netAttachDefNamespace", "a.b"}}, "netAttachDefNamespace"},
      {{{"netAttachDefNamespace", "kube-system"}}, "a claim names objects of its own namespace (ns)"},
      {{{"addVhostMount", "yes"}}, "addVhostMount is a string, expected true or false"},
  };
  for (const Case& one : cases) {
    const auto found = configs_of({config(one.parameters)});
    ASSERT_FALSE(found) << one.says;
    EXPECT_NE(found.error().what.find(one.says), std::string::npos) << found.error().what;
    fixture::expect_golden(found.error().what);
  }
}

TEST(VfConfigs, CheckInterfaceNames) {
  for (const char* name : {"net1", "Net-1", "1st", "a_b", "eth1.100", "fifteen-bytes-a"})
    EXPECT_TRUE(configs_of({config({{"ifName", name}})})) << name;
}

TEST(VfConfigs, RefuseOtherKinds) {
  const auto refused = [](Json parameters, const char* says) {
    Json one = config({});
    one.set("opaque", Json::Object{{"driver", sample::kSriov}, {"parameters", std::move(parameters)}});
    const auto found = configs_of({one});
    ASSERT_FALSE(found);
    EXPECT_NE(found.error().what.find(says), std::string::npos) << found.error().what;
  };
  refused(Json::Object{{"apiVersion", "v1"}, {"kind", "VfConfig"}}, "apiVersion is \"v1\"");
  refused(Json::Object{{"apiVersion", sample::kVfConfigVersion}, {"kind", "VFConfig"}},
          "kind is \"VFConfig\"");
  refused(Json(), "expected a VfConfig");
  refused(Json("driver: vfio-pci"), "expected a VfConfig");
  Json formless = config({});
  formless = Json::Object{{"source", "FromClaim"}};
  fixture::expect_golden(configs_of({formless}).error().what);
}

TEST(VfConfigs, DecodeConfigurationsForForeignRequests) {
  EXPECT_FALSE(configs_of({config({{"driver", "igb_uio"}}, {"nobody"})}));
}

}  // namespace
}  // namespace vf_config_test
}  // namespace sliced::kubelet
