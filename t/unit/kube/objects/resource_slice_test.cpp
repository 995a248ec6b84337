#include "kube/objects/resource_slice.h"

#include <gtest/gtest.h>

#include <functional>

#include "t/unit/kube/objects/json_print.h"

namespace sliced::kube {
namespace resource_slice_test {

Json parse(std::string_view text) {
  auto json = decode_json(text);
  EXPECT_TRUE(json.ok()) << text;
  return json.ok() ? *json : Json();
}

Quantity q(std::string_view text) { return *Quantity::decode(text); }

Device plain_device() { return {.name = "0000-03-00-2", .attributes = {{"example.com/mtu", int64_t{1500}}}}; }

ResourceSlice plain_slice() {
  return {.meta = {.name = "00000-x"},
          .driver = "dra.networking",
          .pool = {"node/net", 1, 1},
          .node_name = "node",
          .devices = {plain_device()}};
}

/// A slice with every field there is, devices and counters together for the sake of the shape.
ResourceSlice full_slice() {
  ResourceSlice slice = plain_slice();
  slice.meta.owner_references = {{"v1", "Node", "node", "uid", true}};
  slice.devices.push_back(
      Device{.name = "b",
             .attributes = {{"a", int64_t{-1}},
                            {"b", true},
                            {"c", std::string("x")},
                            {"d", Version{"1.2.3"}},
                            {"e", std::vector<int64_t>{1, 2}},
                            {"f", std::vector<bool>{true, false}},
                            {"g", std::vector<std::string>{"x", "y"}},
                            {"h", std::vector<Version>{{"1.0.0"}}}},
             .capacity = {{"shares", {q("1k"), RequestPolicy{q("1"), {q("1"), q("2")}, std::nullopt}}},
                          {"bandwidth",
                           {q("10G"), RequestPolicy{q("1G"), {}, ValidRange{q("1G"), q("10G"), q("1G")}}}}},
             .consumes_counters = {{"set", {{"slots", q("1")}}}},
             .taints = {{"k", "v", "NoSchedule"}},
             .allow_multiple_allocations = true});
  slice.shared_counters = {{"set", {{"slots", q("64")}}}};
  return slice;
}

TEST(ResourceSlice, RoundTrips) {
  for (const auto& slice : {plain_slice(), full_slice()}) {
    const auto back = decode_resource_slice(*decode_json(encode_json(encode_resource_slice(slice))));
    ASSERT_TRUE(back.ok()) << back.error().what;
    EXPECT_EQ(*back, slice);
  }
}

TEST(ResourceSlice, OmitsEmptyFields) {
  ResourceSlice slice = plain_slice();
  EXPECT_EQ(
      encode_json(encode_resource_slice(slice)),
      R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"00000-x"},"spec":{"driver":"dra.networking",)"
      R"("pool":{"name":"node/net","generation":1,"resourceSliceCount":1},"nodeName":"node",)"
      R"("devices":[{"name":"0000-03-00-2","attributes":{"example.com/mtu":{"int":1500}}}]}})");
  slice.skip_node_operations = {"*"};
  EXPECT_EQ(decode_resource_slice(encode_resource_slice(slice)).value(), slice);
  slice.skip_node_operations.clear();
  kube::Device holding = *slice.devices.front();
  holding.binding_conditions = {"d.example/Ready"};
  holding.binding_failure_conditions = {"d.example/Lost"};
  slice.devices = {holding};
  EXPECT_EQ(decode_resource_slice(encode_resource_slice(slice)).value(), slice);
  EXPECT_TRUE(validate_device(holding).empty());
  holding.binding_failure_conditions = {"d.example/Ready"};
  EXPECT_EQ(validate_device(holding).at(0).what, "\"d.example/Ready\" is named twice");
  holding.binding_failure_conditions.clear();
  EXPECT_EQ(validate_device(holding).at(0).what, "and bindingFailureConditions must both be set, or neither");
  slice.devices.clear();
  EXPECT_EQ(encode_resource_slice(slice).find({"spec", "devices"}), nullptr);
  slice.shared_counters = {{"set", {{"slots", q("64")}}}};
  EXPECT_EQ(encode_json(*encode_resource_slice(slice).find({"spec", "sharedCounters"})),
            R"([{"name":"set","counters":{"slots":{"value":"64"}}}])");
  EXPECT_EQ(encode_resource_slice(slice).find({"spec", "devices"}), nullptr)
      << "an explicit empty list is refused beside counters";
}

TEST(ResourceSlice, AcceptsNullsAndCanonicalQuantities) {
  const auto slice = decode_resource_slice(parse(
      R"({"metadata":{"name":"s"},"spec":{"driver":"d","pool":{"name":"p","generation":1,"resourceSliceCount":1},"nodeName":"n","nodeSelector":null,
      "sharedCounters":null,"devices":[{"name":"x","capacity":{"c":{"value":"100k","requestPolicy":{"default":null}}},"taints":
      [{"key":"k","effect":"None","timeAdded":"2024-01-01T00:00:00Z"}],"consumesCounters":null}]}})"));
  ASSERT_TRUE(slice.ok()) << slice.error().what;
  EXPECT_EQ(
      slice->devices,
      (std::vector<DevicePtr>{Device{
          .name = "x", .capacity = {{"c", {q("100000"), RequestPolicy{}}}}, .taints = {{"k", "", "None"}}}}));
  EXPECT_TRUE(slice->unknown_fields.empty());
  EXPECT_TRUE(decode_resource_slice(
                  parse(R"({"metadata":{"name":"s"},"spec":{"driver":"d","pool":{},"devices":null}})"))
                  .ok());
}

TEST(ResourceSlice, NamesUnknownFields) {
  const auto slice = decode_resource_slice(parse(
      R"({"status":{},"metadata":{"name":"s"},"spec":{"driver":"d","pool":{"name":"p","x":1},"allNodes":true,"devices":[{"name":"x","bindsToNode":true,
      "basic":{},"attributes":{"a":{"int":1},"b":{"quantities":["1"]}},"consumesCounters":[{"counterSet":"s","compatibilityGroups":["g"],
      "counters":{"c":{"value":"1","valueFrom":{}}}}]}]}})"));
  ASSERT_TRUE(slice.ok()) << slice.error().what;
  EXPECT_EQ(slice->unknown_fields,
            (std::vector<std::string>{"spec.allNodes", "spec.devices[0].attributes[b].quantities",
                                      "spec.devices[0].basic", "spec.devices[0].bindsToNode",
                                      "spec.devices[0].consumesCounters[0].counters[c].valueFrom",
                                      "spec.pool.x", "status"}));
  EXPECT_EQ(slice->devices[0]->attributes.size(), 1u);
  EXPECT_EQ(slice->devices[0]->consumes_counters[0].compatibility_groups, std::vector<std::string>{"g"});
}

TEST(ResourceSlice, WritesAndValidatesCompatibilityGroups) {
  Device device{.name = "x", .consumes_counters = {{"s", {{"c", q("1")}}, {"whole", "parts"}}}};
  EXPECT_TRUE(validate_device(device).empty());
  ResourceSlice slice = plain_slice();
  slice.devices = {device};
  EXPECT_EQ(decode_resource_slice(encode_resource_slice(slice)).value(), slice);
  const auto problems = [&](std::vector<std::string> groups) {
    device.consumes_counters[0].compatibility_groups = std::move(groups);
    return validate_device(device).size();
  };
  EXPECT_EQ(problems({"a", "b", "c"}), 1u) << "at most 2";
  EXPECT_EQ(problems({"a", "a"}), 1u) << "twice";
  EXPECT_EQ(problems({"A"}), 1u) << "no DNS label";
}

TEST(ResourceSlice, ReadsPartsOfAnInvalidSlice) {
  const Json broken =
      parse(R"({"metadata":{"name":"s","annotations":{"a":"b"}},"spec":{"driver":"d","nodeName":"n",
      "pool":{"name":"p","generation":"x"},"sharedCounters":3,"devices":[{"name":"one","attributes":5},7,{"name":"two"}]}})");
  ASSERT_FALSE(decode_resource_slice(broken).ok());
  const auto slice = salvage_resource_slice(broken);
  ASSERT_TRUE(slice.ok());
  EXPECT_EQ(slice->meta.annotations.at("a"), "b");
  EXPECT_EQ(slice->driver + slice->node_name + slice->pool.name, "dnp");
  ASSERT_EQ(slice->devices.size(), 2u);
  EXPECT_EQ(slice->devices[0]->name + slice->devices[1]->name, "onetwo");
  EXPECT_EQ(slice->unknown_fields.front(), kUnreadable);
  EXPECT_FALSE(salvage_resource_slice(parse("{}")).ok());
}

TEST(ResourceSlice, WrongShapesNameObjectAndField) {
  const struct {
    std::string_view spec, what;
  } rows[] = {
      {R"(3)", "spec: must be a map"},
      {R"({"driver":3})", "spec.driver: must be a string, not number"},
      {R"({"pool":[]})", "spec.pool: must be a map, not list"},
      {R"({"pool":{"generation":"1"}})", "spec.pool.generation: must be a whole number, not string"},
      {R"({"pool":{"generation":1.5}})", "spec.pool.generation: must be a whole number, not number"},
      {R"({"devices":{}})", "spec.devices: must be a list, not map"},
      {R"({"devices":[7]})", "spec.devices[0]: must be a map, not number"},
      {R"({"devices":[{},{"attributes":{"a/b":{"int":"1"}}}]})",
       "spec.devices[1].attributes[a/b].int: must be a whole number, not string"},
      {R"({"devices":[{"attributes":{"a":{"int":1,"string":"x"}}}]})",
       "spec.devices[0].attributes[a]: exactly one value must be set"},
      {R"({"devices":[{"attributes":{"a":{"strings":["x",1]}}}]})",
       "spec.devices[0].attributes[a].strings[1]: must be a string, not number"},
      {R"({"devices":[{"capacity":{"c":{"value":"1 Gi"}}}]})",
       "spec.devices[0].capacity[c].value: quantity \"1 Gi\""},
      {R"({"sharedCounters":[{"counters":{"c":{"value":true}}}]})",
       "spec.sharedCounters[0].counters[c].value: a quantity must be"},
      {R"({"devices":[{"allowMultipleAllocations":"yes"}]})",
       "spec.devices[0].allowMultipleAllocations: must be a boolean, not string"},
  };
  for (const auto& row : rows) {
    const auto slice = decode_resource_slice(
        parse(R"({"kind":"ResourceSlice","metadata":{"name":"s"},"spec":)" + std::string(row.spec) + "}"));
    ASSERT_FALSE(slice.ok()) << row.spec;
    EXPECT_EQ(slice.error().code, Errc::kInvalid);
    EXPECT_TRUE(slice.error().what.starts_with("ResourceSlice s: " + std::string(row.what)))
        << slice.error().what;
  }
}

TEST(Attribute, DecodesAndDescribesOne) {
  EXPECT_EQ(*decode_attribute(parse(R"({"string":"x"})")), AttributeValue(std::string("x")));
  EXPECT_EQ(*decode_attribute(parse(R"({"string":null,"int":4})")), AttributeValue(int64_t{4}));
  EXPECT_FALSE(decode_attribute(parse("{}")).ok());
  EXPECT_FALSE(decode_attribute(parse(R"({"int":1,"bool":true})")).ok());
  EXPECT_EQ(decode_attribute(parse(R"({"int":"x"})")).error().what,
            "int: must be a whole number, not string");
  EXPECT_EQ(describe_attribute(std::string("x")), "\"x\"");
  EXPECT_EQ(describe_attribute(int64_t{5}), "5");
  EXPECT_EQ(describe_attribute(true), "true");
  EXPECT_EQ(describe_attribute(std::vector<std::string>{"a", "b"}), "[\"a\", \"b\"]");
}

struct DeviceRow {
  std::string field;  // "" when all is well
  std::string what;
  bool descriptive;
  std::function<void(Device&)> change;
};

TEST(ValidateDevice, AppliesTheServersRules) {
  const std::string long_text(65, 'x');
  const auto shared = [](Device& d, Capacity capacity) {
    d.allow_multiple_allocations = true;
    d.capacity["shares"] = std::move(capacity);
  };
  const auto range = [&](std::string_view value, std::string_view default_, ValidRange valid) {
    return [=](Device& d) { shared(d, {q(value), RequestPolicy{q(default_), {}, valid}}); };
  };
  const auto values = [&](std::optional<Quantity> default_, std::vector<Quantity> all) {
    return [=](Device& d) { shared(d, {q("100"), RequestPolicy{default_, all, std::nullopt}}); };
  };
  const DeviceRow rows[] = {
      {"", "", false, [](Device&) {}},
      {"", "", false, [](Device& d) { d.name = std::string(63, 'a'); }},
      {"name", "not a DNS label", false, [](Device& d) { d.name = std::string(64, 'a'); }},
      {"name", "not a DNS label", false, [](Device& d) { d.name = "eth0.100"; }},
      {"name", "not a DNS label", false, [](Device& d) { d.name = ""; }},
      {"", "", false, [](Device& d) { d.attributes["a"] = std::string(64, 'x'); }},
      {"attributes[a].string", "65 bytes, at most 64", true, [=](Device& d) { d.attributes["a"] = long_text; }},
      {"attributes[a].string", "65 bytes", true, [](Device& d) { d.attributes["a"] = std::string(62, 'x') + "\xE2\x82\xAC"; }},
      {"attributes[a].string", "not UTF-8", true, [](Device& d) { d.attributes["a"] = std::string("\xff"); }},
      {"attributes[a].strings[1]", "65 bytes", true, [=](Device& d) { d.attributes["a"] = std::vector<std::string>{"x", long_text}; }},
      {"attributes[a]", "must not be empty", true, [](Device& d) { d.attributes["a"] = std::vector<bool>{}; }},
      {"attributes[a].version", "not a semantic version", true, [](Device& d) { d.attributes["a"] = Version{"v1.2.3"}; }},
      {"attributes[a].versions[0]", "not a semantic version", true, [](Device& d) { d.attributes["a"] = std::vector<Version>{{"1.2"}}; }},
      {"attributes[a-b]", "not an attribute name", true, [](Device& d) { d.attributes["a-b"] = true; }},
      {"attributes[x.io/resourceName].string", "65 bytes", false, [=](Device& d) { d.attributes["x.io/resourceName"] = long_text; }},
      {"", "", false, [](Device& d) { for (int i = 0; i < 31; ++i) d.attributes["a" + std::to_string(i)] = true; }},
      {"attributes[example.com/mtu]", "33 attributes", true, [](Device& d) { for (int i = 0; i < 32; ++i) d.attributes["a" + std::to_string(i)] = true; }},
      {"attributes", "33 attributes", false, [](Device& d) { for (int i = 0; i < 33; ++i) d.capacity["c" + std::to_string(i)] = {}; d.attributes = {}; }},
      {"", "", false, [](Device& d) { d.attributes["z"] = std::vector<int64_t>(47); }},
      {"attributes[z]", "49 values", true, [](Device& d) { d.attributes["z"] = std::vector<int64_t>(48); }},
      {"", "", false, [](Device& d) { d.capacity["c"] = {q("1")}; }},
      {"capacity[c d]", "not a capacity name", false, [](Device& d) { d.capacity["c d"] = {q("1")}; }},
      {"capacity[c].requestPolicy", "only allowed where allowMultipleAllocations", false,
       [](Device& d) { d.capacity["c"] = {q("1"), RequestPolicy{q("1"), {}, {}}}; }},
      {"", "", false, [=](Device& d) { shared(d, {q("10"), RequestPolicy{}}); }},
      {"", "", false, values(q("2"), {q("1"), q("2"), q("100")})},
      {"capacity[shares].requestPolicy.default", "is required", false, values(std::nullopt, {q("1")})},
      {"capacity[shares].requestPolicy.validValues", "default 3 is not among", false, values(q("3"), {q("1"), q("2")})},
      {"capacity[shares].requestPolicy.validValues[1]", "must ascend", false, values(q("2"), {q("2"), q("1")})},
      {"capacity[shares].requestPolicy.validValues[1]", "must ascend", false, values(q("2"), {q("2"), q("2000m")})},
      {"capacity[shares].requestPolicy.validValues[1]", "larger than the capacity 100", false, values(q("2"), {q("2"), q("101")})},
      {"capacity[shares].requestPolicy.validValues", "11 values, at most 10", false,
       values(q("1"), {q("1"), q("2"), q("3"), q("4"), q("5"), q("6"), q("7"), q("8"), q("9"), q("10"), q("11")})},
      {"capacity[shares].requestPolicy", "cannot both be set", false,
       [=](Device& d) { shared(d, {q("9"), RequestPolicy{q("1"), {q("1")}, ValidRange{q("1"), {}, {}}}}); }},
      {"", "", false, range("100", "10", {q("10"), q("100"), q("10")})},
      {"", "", false, range("100", "10", {q("10"), {}, {}})},
      {"", "", false, range("10", "1.5", {q("0.5"), q("10"), q("500m")})},
      {"capacity[shares].requestPolicy.validRange", "min 10 is larger than the default 5", false, range("100", "5", {q("10"), {}, {}})},
      {"capacity[shares].requestPolicy.validRange", "min 200 is larger than the capacity 100", false, range("100", "200", {q("200"), {}, {}})},
      {"capacity[shares].requestPolicy.validRange", "max 200 is larger than the capacity", false, range("100", "1", {q("1"), q("200"), {}})},
      {"capacity[shares].requestPolicy.validRange", "min 20 is larger than max 10", false, range("100", "20", {q("20"), q("10"), {}})},
      {"capacity[shares].requestPolicy.validRange", "the default 20 is larger than max 10", false, range("100", "20", {q("1"), q("10"), {}})},
      {"capacity[shares].requestPolicy.validRange.step", "must be greater than zero", false, range("100", "1", {q("1"), {}, q("0")})},
      {"capacity[shares].requestPolicy.validRange.step", "default 5 is not min plus a multiple of 3", false, range("100", "5", {q("1"), {}, q("3")})},
      {"capacity[shares].requestPolicy.validRange.step", "max 9 is not min plus", false, range("100", "4", {q("1"), q("9"), q("3")})},
      {"capacity[shares].requestPolicy.validRange.step", "larger than the capacity 10", false, range("10", "8", {q("8"), {}, q("3")})},
      {"", "", false, [](Device& d) { d.consumes_counters = {{"a", {{"c", q("1")}}}, {"b", {{"c", q("0")}}}}; }},
      {"consumesCounters", "3 entries, at most 2", false,
       [](Device& d) { d.consumes_counters = {{"a", {{"c", q("1")}}}, {"b", {{"c", q("1")}}}, {"d", {{"c", q("1")}}}}; }},
      {"consumesCounters[1].counterSet", "named twice", false,
       [](Device& d) { d.consumes_counters = {{"a", {{"c", q("1")}}}, {"a", {{"c", q("1")}}}}; }},
      {"consumesCounters[0].counterSet", "not a DNS label", false, [](Device& d) { d.consumes_counters = {{"A", {{"c", q("1")}}}}; }},
      {"consumesCounters[0].counters", "must not be empty", false, [](Device& d) { d.consumes_counters = {{"a", {}}}; }},
      {"consumesCounters[0].counters", "\"C\" is not a DNS label", false, [](Device& d) { d.consumes_counters = {{"a", {{"C", q("1")}}}}; }},
      {"consumesCounters[0].counters", "33 counters", false,
       [](Device& d) { d.consumes_counters = {{"a", {}}}; for (int i = 0; i < 33; ++i) d.consumes_counters[0].counters["c" + std::to_string(i)] = q("1"); }},
      {"", "", false, [](Device& d) { d.taints = {{"a.b/c", "", "None"}, {"k", "v", "NoExecute"}}; }},
      {"taints", "17 taints", false, [](Device& d) { d.taints.assign(17, {"k", "", "None"}); }},
      {"taints[0].key", "not a label key", false, [](Device& d) { d.taints = {{"", "", "None"}}; }},
      {"taints[0].value", "not a label value", false, [](Device& d) { d.taints = {{"k", "a b", "None"}}; }},
      {"taints[0].effect", "expected None, NoSchedule or NoExecute", false, [](Device& d) { d.taints = {{"k", "", ""}}; }},
  };
  int index = 0;
  for (const auto& row : rows) {
    Device device = plain_device();
    row.change(device);
    const auto problems = validate_device(device);
    const std::string at = "row " + std::to_string(index++) + " " + row.field + " " + row.what;
    if (row.field.empty()) {
      EXPECT_TRUE(problems.empty()) << at << " "
                                    << (problems.empty() ? "" : problems[0].field + ": " + problems[0].what);
      continue;
    }
    bool found = false;
    for (const auto& one : problems) {
      found = found || (one.field == row.field && one.what.find(row.what) != std::string::npos &&
                        one.descriptive == row.descriptive);
    }
    EXPECT_TRUE(found) << at
                       << (problems.empty() ? "" : " got " + problems[0].field + ": " + problems[0].what);
  }
}

TEST(ValidateDevice, NamesTheAttributesToDrop) {
  Device device = plain_device();
  for (int i = 0; i < 40; ++i)
    device.attributes["a" + std::to_string(i)] = std::string(i % 9 == 0 ? 70 : 3, 'x');
  device.attributes["resource.kubernetes.io/numaNode"] = int64_t{0};
  device.attributes["z.io/resourceName"] = std::string("x");
  device.attributes["zz"] = std::vector<int64_t>(40);
  device.capacity["c"] = {q("1")};
  for (const auto& problem : validate_device(device)) {
    ASSERT_TRUE(problem.descriptive) << problem.field;
    device.attributes.erase(problem.attribute);
  }
  EXPECT_TRUE(validate_device(device).empty());
  EXPECT_TRUE(device.attributes.contains("resource.kubernetes.io/numaNode")) << "standard attributes go last";
  EXPECT_TRUE(device.attributes.contains("z.io/resourceName"));
}

TEST(ValidateSlice, AppliesTheServersRules) {
  const auto devices = [](size_t count) {
    return [=](ResourceSlice& s) {
      s.devices.clear();
      for (size_t i = 0; i < count; ++i) s.devices.push_back(Device{.name = "d" + std::to_string(i)});
    };
  };
  const struct {
    std::string what;
    std::function<void(ResourceSlice&)> change;
  } rows[] = {
      {"", [](ResourceSlice&) {}},
      {"", [](ResourceSlice& s) { s.devices.clear(); }},
      {"",
       [](ResourceSlice& s) {
         s.pool.generation = 0;
         s.pool.name = "a.b/c/d-e";
       }},
      {"metadata.name", [](ResourceSlice& s) { s.meta.name = "A"; }},
      {"spec.driver", [](ResourceSlice& s) { s.driver = std::string(64, 'a'); }},
      {"spec.driver", [](ResourceSlice& s) { s.driver = "Dra.networking"; }},
      {"spec.pool.name", [](ResourceSlice& s) { s.pool.name = "a//b"; }},
      {"spec.pool.name", [](ResourceSlice& s) { s.pool.name = ""; }},
      {"spec.pool.name",
       [](ResourceSlice& s) { s.pool.name = std::string(200, 'a') + "/" + std::string(60, 'b'); }},
      {"spec.pool.generation", [](ResourceSlice& s) { s.pool.generation = -1; }},
      {"spec.pool.resourceSliceCount", [](ResourceSlice& s) { s.pool.slice_count = 0; }},
      {"spec.nodeName", [](ResourceSlice& s) { s.node_name = ""; }},
      {"", devices(128)},
      {"129 devices, at most 128", devices(129)},
      {"",
       [&](ResourceSlice& s) {
         devices(64)(s);
         s.devices[3].edit([&](Device& d) { d.taints = {{"k", "", "None"}}; });
       }},
      {"65 devices, at most 64",
       [&](ResourceSlice& s) {
         devices(65)(s);
         s.devices[3].edit([&](Device& d) { d.taints = {{"k", "", "None"}}; });
       }},
      {"65 devices, at most 64",
       [&](ResourceSlice& s) {
         devices(65)(s);
         s.devices[3].edit([&](Device& d) { d.consumes_counters = {{"a", {{"c", q("1")}}}}; });
       }},
      {"65 devices, at most 64",
       [&](ResourceSlice& s) {
         devices(65)(s);
         s.devices[64].edit([&](Device& d) { d.attributes["l"] = std::vector<bool>{true}; });
       }},
      {"\"d1\" is there twice",
       [&](ResourceSlice& s) {
         devices(3)(s);
         s.devices[2].edit([&](Device& d) { d.name = "d1"; });
       }},
      {"",
       [](ResourceSlice& s) {
         s.devices.clear();
         s.shared_counters = {{"a", {{"c", q("1")}}}};
       }},
      {"only one of sharedCounters and devices",
       [](ResourceSlice& s) { s.shared_counters = {{"a", {{"c", q("1")}}}}; }},
      {"9 counter sets, at most 8",
       [](ResourceSlice& s) {
         s.devices.clear();
         for (int i = 0; i < 9; ++i) s.shared_counters.push_back({"s" + std::to_string(i), {{"c", q("1")}}});
       }},
      {"\"a\" is there twice",
       [](ResourceSlice& s) {
         s.devices.clear();
         s.shared_counters.assign(2, {"a", {{"c", q("1")}}});
       }},
      {"sharedCounters[0].name",
       [](ResourceSlice& s) {
         s.devices.clear();
         s.shared_counters = {{"a.b", {{"c", q("1")}}}};
       }},
      {"sharedCounters[0].counters: must not be empty",
       [](ResourceSlice& s) {
         s.devices.clear();
         s.shared_counters = {{"a", {}}};
       }},
  };
  int index = 0;
  for (const auto& row : rows) {
    ResourceSlice slice = plain_slice();
    row.change(slice);
    const auto problems = validate_slice(slice);
    const std::string at =
        "row " + std::to_string(index++) + " " + row.what + (problems.empty() ? "" : " got " + problems[0]);
    if (row.what.empty()) {
      EXPECT_TRUE(problems.empty()) << at;
    } else {
      ASSERT_EQ(problems.size(), 1u) << at;
      EXPECT_NE(problems[0].find(row.what), std::string::npos) << at;
    }
  }
}

TEST(QualifiedName, FollowsTheApi) {
  const std::string id32(32, 'a'), domain63(63, 'a');
  for (const auto& good : {std::string("a"), std::string("_x9"), std::string("A_b"), std::string("a.b-c/D"),
                           id32, domain63 + "/" + id32}) {
    EXPECT_TRUE(is_qualified_name(good)) << good;
  }
  for (const auto& bad : {std::string(), std::string("9a"), std::string("a-b"), std::string("/a"),
                          std::string("a/"), std::string("a/b/c"), std::string("A.b/c"), id32 + "a",
                          domain63 + "a/b", std::string("a.b"), std::string("\xC3\xA9")}) {
    EXPECT_FALSE(is_qualified_name(bad)) << bad;
  }
}

TEST(Semver, FollowsTheSpecification) {
  for (const std::string_view good : {"0.0.0", "1.2.3", "10.20.30", "1.0.0-alpha", "1.0.0-alpha.1",
                                      "1.0.0-0a.x-y", "1.0.0+001", "1.0.0-a+b.c", "1.0.0--1", "1.0.0+a-b"}) {
    EXPECT_TRUE(is_semver(good)) << good;
  }
  for (const std::string_view bad :
       {"", "1", "1.2", "1.2.3.4", "v1.2.3", "01.2.3", "1.02.3", "1.2.3-", "1.2.3-01", "1.2.3-a..b", "1.2.3+",
        "1.2.3+a+b", "1.2.3-a_b", "1.2.x", "1.2.3 "}) {
    EXPECT_FALSE(is_semver(bad)) << bad;
  }
}

}  // namespace resource_slice_test
}  // namespace sliced::kube
