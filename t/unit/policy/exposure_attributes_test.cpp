#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "policy/exposure/attributes.h"
#include "policy/exposure/dranet_attributes.h"

namespace sliced::policy {
namespace exposure_attributes_test {

using hotplug::DeviceType;
using hotplug::HostDevice;
using hotplug::Netdev;
using hotplug::PciAddress;

constexpr DeviceType kTypes[] = {DeviceType::kPf,      DeviceType::kVf,   DeviceType::kNic,
                                 DeviceType::kBridge,  DeviceType::kVlan, DeviceType::kBond,
                                 DeviceType::kVirtual, DeviceType::kSf};
const std::string kDriver = "dra.networking";

Netdev netdev(const std::string& name) {
  return {.name = name,
          .mac = "02:00:00:00:00:01",
          .mtu = 9000,
          .link_type = 1,
          .oper_state = "up",
          .speed_mbps = 100000};
}

// Every fact, regardless of the type: facts that a type cannot have must not be published.
HostDevice everything(DeviceType type) {
  HostDevice device;
  device.id = {"0000:03:00.1"};
  device.type = type;
  device.pci = PciAddress::decode("0000:03:00.1");
  device.vendor = "15b3";
  device.product = "101d";
  device.subsystem_vendor = "15b4";
  device.subsystem_product = "0001";
  device.driver = "mlx5_core";
  device.iommu_group = 75;
  device.iommu_partners = {*PciAddress::decode("0000:03:00.0")};
  device.numa_node = 0;
  device.pcie_root = "pci0000:00";
  device.total_vfs = 16;
  device.num_vfs = 8;
  device.eswitch_mode = "legacy";
  device.pf = PciAddress::decode("0000:03:00.0");
  device.vf_index = 3;
  device.sf_number = 88;
  device.pf_name = "enp3s0f0";
  device.admin_mac = "02:00:00:00:00:02";
  device.representor = "pf0vf3";
  device.bridge_type = "linux";
  device.vlan_filtering = true;
  device.vlan_id = 100;
  device.parent_name = "eno1";
  device.representor_of = "0000:03:00.5";
  device.netdev = netdev("enp3s0f1");
  device.netdev->phys_port_name = "p1";
  device.netdev->master = "br0";
  device.rdma_device = "mlx5_1";
  device.pkeys = {"0x7fff", "0x8001"};
  device.vdpa = {"vdpa0", "vhost", "/dev/vhost-vdpa-0"};
  return device;
}

kube::Attributes attributes_of(const HostDevice& device, const Exposure& exposure = {},
                               const hotplug::Inventory& inventory = {},
                               std::vector<std::string>* notes = nullptr,
                               const std::string& driver = kDriver) {
  const EntryAttributes entries(driver);
  const PersonaAttributes persona = entries.persona_of(exposure, device.type, /*takes_lists=*/true);
  std::vector<std::string> found = persona.notes;
  const kube::Attributes out = entries.of(facts_of(device, inventory), persona, found);
  if (notes != nullptr)
    *notes = found;
  else
    EXPECT_EQ(found, std::vector<std::string>{});
  return out;
}

// The driver's own, without its domain, as text.
std::map<std::string, std::string> own_of(const HostDevice& device,
                                          const hotplug::Inventory& inventory = {}) {
  std::map<std::string, std::string> out;
  for (const auto& [key, value] : attributes_of(device, {}, inventory))
    out[key.str().starts_with(kDriver + "/") ? key.str().substr(kDriver.size() + 1) : key.str()] =
        kube::describe_attribute(value);
  return out;
}

using Texts = std::map<std::string, std::string>;

// Turns red when a fact is lost, published as another, under another name or with another type.
TEST(ExposureAttributes, ContainThoseOfTheDeviceType) {
  const Texts function{{"resource.kubernetes.io/numaNode", "0"},
                       {"resource.kubernetes.io/pciBusID", "\"0000:03:00.1\""},
                       {"resource.kubernetes.io/pcieRoot", "\"pci0000:00\""},
                       {"driver", "\"mlx5_core\""},
                       {"iommuGroup", "75"},
                       {"iommuGroupShared", "true"},
                       {"numaNode", "0"},
                       {"pKeys", "\",0x7fff,0x8001,\""},
                       {"pciAddress", "\"0000:03:00.1\""},
                       {"physPortName", "\"p1\""},
                       {"product", "\"101d\""},
                       {"sriovCapable", "false"},
                       {"subsystemProduct", "\"0001\""},
                       {"subsystemVendor", "\"15b4\""},
                       {"vdpa", "\"vhost\""},
                       {"vendor", "\"15b3\""}};
  const Texts any{{"ifName", "\"enp3s0f1\""},
                  {"linkType", "\"ethernet\""},
                  {"mac", "\"02:00:00:00:00:01\""},
                  {"masterBridge", "\"br0\""},
                  {"mtu", "9000"},
                  {"rdma", "true"},
                  {"rdmaDevice", "\"mlx5_1\""}};
  const Texts bridge{{"bridgeName", "\"enp3s0f1\""}, {"bridgeType", "\"linux\""}, {"vlanFiltering", "true"}};
  const auto with = [&](std::initializer_list<Texts> parts) {
    Texts out = any;
    for (const Texts& part : parts)
      for (const auto& [key, value] : part) out[key] = value;
    return out;
  };
  const struct {
    DeviceType type;
    Texts wanted;
  } rows[] = {
      {DeviceType::kPf, with({function,
                              {{"type", "\"pf\""},
                               {"sriovCapable", "true"},
                               {"numVFs", "8"},
                               {"totalVFs", "16"},
                               {"eswitchMode", "\"legacy\""}}})},
      {DeviceType::kVf, with({function,
                              {{"type", "\"vf\""},
                               {"pfName", "\"enp3s0f0\""},
                               {"pfPciAddress", "\"0000:03:00.0\""},
                               {"representor", "\"pf0vf3\""},
                               {"vfIndex", "3"}}})},
      {DeviceType::kNic, with({function, {{"type", "\"nic\""}}})},
      {DeviceType::kBridge, with({bridge, {{"type", "\"bridge\""}}})},
      {DeviceType::kVlan, with({{{"type", "\"vlan\""}, {"vlanId", "100"}, {"parentIfName", "\"eno1\""}}})},
      {DeviceType::kBond, with({{{"type", "\"bond\""}}})},
      {DeviceType::kVirtual,
       with({bridge,
             {{"type", "\"virtual\""}, {"physPortName", "\"p1\""}, {"representorOf", "\"0000:03:00.5\""}}})},
      {DeviceType::kSf, with({{{"type", "\"sf\""},
                               {"resource.kubernetes.io/numaNode", "0"},
                               {"numaNode", "0"},
                               {"pfName", "\"enp3s0f0\""},
                               {"pfPciAddress", "\"0000:03:00.0\""},
                               {"representor", "\"pf0vf3\""},
                               {"product", "\"101d\""},
                               {"sfNumber", "88"},
                               {"vdpa", "\"vhost\""},
                               {"vendor", "\"15b3\""}}})},
  };
  for (const auto& row : rows)
    EXPECT_EQ(own_of(everything(row.type)), row.wanted) << hotplug::name_of(row.type);
}

TEST(ExposureAttributes, OmitUnknownValues) {
  HostDevice link{.type = DeviceType::kBond};
  EXPECT_EQ(own_of(link), (Texts{{"type", "\"bond\""}, {"rdma", "false"}}));
  HostDevice vf{.type = DeviceType::kVf, .numa_node = -1, .admin_mac = "00:00:00:00:00:00"};
  vf.netdev = Netdev{.name = "bad\xff", .link_type = 772};
  EXPECT_EQ(own_of(vf), (Texts{{"type", "\"vf\""}, {"rdma", "false"}, {"sriovCapable", "false"}}));
  vf.pci = PciAddress::decode("10000:03:00.2");
  vf.pcie_root = "pci10000:00";
  EXPECT_EQ(own_of(vf), (Texts{{"type", "\"vf\""},
                               {"rdma", "false"},
                               {"sriovCapable", "false"},
                               {"pciAddress", "\"10000:03:00.2\""}}))
      << "the standard attributes know domains of four digits only";
}

TEST(ExposureAttributes, AVfInheritsMissingValuesOfItsPf) {
  hotplug::Inventory inventory;
  inventory.devices["0000:03:00.0"] = {.type = DeviceType::kPf, .eswitch_mode = "switchdev"};
  HostDevice vf{.type = DeviceType::kVf, .pf_link_type = 32, .admin_mac = "02:00:00:00:00:02"};
  vf.pf = PciAddress::decode("0000:03:00.0");
  const Texts own = own_of(vf, inventory);
  EXPECT_EQ(own.at("eswitchMode"), "\"switchdev\"");
  EXPECT_EQ(own.at("linkType"), "\"infiniband\"");
  EXPECT_EQ(own.at("mac"), "\"02:00:00:00:00:02\"");
}

// Red when a selector that asks for free devices (masterBridge == "" && bondMaster == "") finds an enslaved
// one.
TEST(ExposureAttributes, AMasterIsABridgeUnlessABond) {
  hotplug::Inventory inventory;
  inventory.devices["bond0"] = {.type = DeviceType::kBond};
  inventory.devices["br0"] = {.type = DeviceType::kBridge};
  const auto masters = [&](const char* master) {
    HostDevice device{.type = DeviceType::kNic};
    device.netdev = Netdev{.name = "eno1", .master = master};
    const Texts own = own_of(device, inventory);
    const auto text = [&](const char* key) { return own.contains(key) ? own.at(key) : std::string("-"); };
    return text("masterBridge") + " " + text("bondMaster");
  };
  EXPECT_EQ(masters("br0"), "\"br0\" -");
  EXPECT_EQ(masters("bond0"), "- \"bond0\"");
  EXPECT_EQ(masters("ovs-system"), "\"ovs-system\" -") << "unknown here";
  EXPECT_EQ(masters(""), "- -");
}

// Red when a link that goes up and down, or negotiates, writes to the API server.
TEST(ExposureAttributes, ChangingValuesAreForSelectorsOnly) {
  HostDevice up = everything(DeviceType::kPf), down = up;
  down.netdev->oper_state = "down";
  down.netdev->speed_mbps.reset();
  EXPECT_EQ(attributes_of(up), attributes_of(down));
  const hotplug::Inventory inventory;
  const auto seen = [&](const char* id, const HostDevice& device) {
    return value_of(*find_known_attribute(kDriver, id, kDriver), facts_of(device, inventory));
  };
  EXPECT_EQ(seen("operState", up), kube::AttributeValue(std::string("up")));
  EXPECT_EQ(seen("operState", down), kube::AttributeValue(std::string("down")));
  EXPECT_EQ(seen("linkSpeed", up), kube::AttributeValue(int64_t{100000}));
  EXPECT_EQ(seen("linkSpeed", down), std::nullopt);
  std::set<std::string_view> volatile_ones;
  for (const KnownAttribute& known : known_attributes())
    if (!known.is_published) volatile_ones.insert(known.id);
  EXPECT_EQ(volatile_ones, (std::set<std::string_view>{"operState", "linkSpeed"})) << "the documented list";
}

// The table itself: red when a row has the wrong type, exists twice, or can be set by a policy.
TEST(ExposureAttributes, TheTableIsConsistent) {
  std::set<std::pair<bool, std::string_view>> names;
  const hotplug::Inventory inventory;
  for (const KnownAttribute& known : known_attributes()) {
    SCOPED_TRACE(known.id);
    EXPECT_TRUE(names.emplace(known.is_standard, known.id).second) << "twice";
    const std::string domain = known.is_standard ? "resource.kubernetes.io" : kDriver;
    EXPECT_EQ(find_known_attribute(domain, known.id, kDriver), &known);
    EXPECT_TRUE(is_reserved_exposure_attribute(domain + "/" + std::string(known.id), kDriver));
    EXPECT_EQ(zero_of(known).index(), known.type == AttributeType::kInt    ? 0u
                                      : known.type == AttributeType::kBool ? 1u
                                                                           : 2u);
    for (const DeviceType type : kTypes) {
      HostDevice device = everything(type);
      const auto value = value_of(known, facts_of(device, inventory));
      EXPECT_EQ(value.has_value(), (known.device_types >> static_cast<int>(type) & 1) != 0 &&
                                       known.id != "bondMaster" &&
                                       (known.id != "eswitchMode" || type == DeviceType::kPf))
          << hotplug::name_of(type);
      EXPECT_EQ(value.value_or(zero_of(known)).index(), zero_of(known).index());
    }
  }
  EXPECT_EQ(zero_of(*find_known_attribute(kDriver, "numaNode", kDriver)), kube::AttributeValue(int64_t{-1}));
  EXPECT_EQ(zero_of(*find_known_attribute(kDriver, "vfIndex", kDriver)), kube::AttributeValue(int64_t{-1}));
  EXPECT_EQ(zero_of(*find_known_attribute(kDriver, "numVFs", kDriver)), kube::AttributeValue(int64_t{0}));
  EXPECT_EQ(find_known_attribute("resource.kubernetes.io", "ifName", kDriver), nullptr);
  EXPECT_EQ(find_known_attribute("example.com", "ifName", kDriver), nullptr);
  for (const DeviceType type : kTypes)
    EXPECT_LE(published_count_max(type), 25u) << "little would be left for policies";
}

// What is for users to read names everything that there is, and the room that is kept.
TEST(ExposureAttributes, AreDocumented) {
  std::stringstream text;
  text << std::ifstream(SLICED_DOCS "/attributes.md").rdbuf();
  for (const KnownAttribute& known : known_attributes()) {
    const std::string name =
        (known.is_standard ? "`resource.kubernetes.io/" : "`D/") + std::string(known.id) + "`";
    EXPECT_NE(text.str().find(name), std::string::npos) << name;
  }
  for (const auto& [type, name] :
       {std::pair(DeviceType::kPf, "a PF"), std::pair(DeviceType::kVf, "a VF"),
        std::pair(DeviceType::kNic, "a NIC"), std::pair(DeviceType::kBridge, "a bridge"),
        std::pair(DeviceType::kVlan, "a VLAN"), std::pair(DeviceType::kSf, "a scalable function")}) {
    const std::string room = std::to_string(published_count_max(type)) + " on " + name;
    EXPECT_NE(text.str().find(room), std::string::npos) << room;
  }
}

TEST(ExposureAttributes, ContainPluginsInBothForms) {
  Exposure exposure;
  exposure.plugins = {{"sriov", {}}, {"host-device", {}}};
  const kube::Attributes out =
      attributes_of({.type = DeviceType::kBond}, exposure, {}, nullptr, "example.com");
  const kube::Attributes wanted{{"example.com/type", std::string("bond")},
                                {"example.com/rdma", false},
                                {"example.com/supportedCNIs", std::string(",sriov,host-device,")},
                                {"example.com/cni_sriov", true},
                                {"example.com/cni_host_device", true}};
  EXPECT_EQ(out, wanted);
  for (const auto& [key, value] : wanted) EXPECT_TRUE(is_reserved_exposure_attribute(key, "example.com"));
  EXPECT_FALSE(is_reserved_exposure_attribute("example.com/rack", "example.com"));
  EXPECT_FALSE(is_reserved_exposure_attribute("other.com/ifName", "example.com"));
}

Exposure exposure_with(size_t plugins, size_t capacities, size_t additional) {
  Exposure exposure;
  for (size_t i = 0; i < plugins; ++i) exposure.plugins.push_back({"p" + std::to_string(i), {}});
  for (size_t i = 0; i < capacities; ++i)
    exposure.capacity["dra.networking/c" + std::to_string(i)] = {kube::Quantity(1), std::nullopt};
  for (size_t i = 0; i < additional; ++i)
    exposure.additional_attributes["example.com/" + std::string(1, static_cast<char>('a' + i))] = int64_t{1};
  return exposure;
}

// Red when an entry is made that the API server refuses, or when the same policy loses other attributes from
// one decision to the next.
TEST(ExposureAttributes, AFullEntryDropsTheSameOnesWithANote) {
  const size_t own = published_count_max(DeviceType::kPf);
  std::vector<std::string> notes;
  const kube::Attributes fits =
      attributes_of(everything(DeviceType::kPf), exposure_with(1, 1, 32 - own - 3), {}, &notes);
  EXPECT_EQ(notes, std::vector<std::string>{}) << "the documented room of a PF";

  EXPECT_FALSE(fits.contains("dra.networking/iommuGroup")) << "what the policy gives comes first";
  EXPECT_FALSE(attributes_of(everything(DeviceType::kPf), exposure_with(1, 1, 32 - own - 3 - 1))
                   .contains("dra.networking/iommuGroupShared"))
      << "room for one of the four";
  EXPECT_FALSE(attributes_of(everything(DeviceType::kPf), exposure_with(1, 1, 32 - own - 3 - 3))
                   .contains("dra.networking/iommuGroupShared"));
  EXPECT_TRUE(attributes_of(everything(DeviceType::kPf), exposure_with(1, 1, 32 - own - 3 - 4))
                  .contains("dra.networking/iommuGroupShared"));

  const Exposure too_many = exposure_with(1, 1, 32 - own - 3 + 2);
  const kube::Attributes full = attributes_of(everything(DeviceType::kPf), too_many, {}, &notes);
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_NE(notes[0].find(too_many.additional_attributes.rbegin()[1].first.str()), std::string::npos)
      << notes[0];
  EXPECT_NE(notes[1].find(too_many.additional_attributes.rbegin()->first.str()), std::string::npos)
      << notes[1];
  const HostDevice bare{.type = DeviceType::kPf};
  std::vector<std::string> again;
  attributes_of(bare, too_many, {}, &again);
  EXPECT_EQ(again, notes) << "it does not depend on what is known just now";
}

TEST(ExposureAttributes, TheServerAcceptsEveryEntry) {
  for (const DeviceType type : kTypes)
    for (const size_t plugins : {0, 1, 8})
      for (const size_t capacities : {0, 1, 8})
        for (const size_t additional : {0, 6, 16}) {
          Exposure exposure = exposure_with(plugins, capacities, additional);
          if (additional > 0)
            exposure.additional_attributes["example.com/list"] = std::vector<int64_t>(30, 7);
          std::vector<std::string> notes;
          kube::Device entry{.name = "x", .capacity = exposure.capacity};
          entry.attributes = attributes_of(everything(type), exposure, {}, &notes);
          const auto problems = kube::validate_device(entry);
          EXPECT_TRUE(problems.empty()) << problems.front().what;
          EXPECT_TRUE(entry.attributes.contains("dra.networking/type"));
          EXPECT_EQ(entry.attributes.contains("dra.networking/supportedCNIs"), plugins > 0);
        }
}

TEST(ExposureAttributes, OmitListsForServersWithoutLists) {
  Exposure exposure;
  exposure.additional_attributes["example.com/planes"] = std::vector<std::string>{"a"};
  const EntryAttributes entries(kDriver);
  EXPECT_TRUE(entries.persona_of(exposure, DeviceType::kNic, true).attributes.contains("example.com/planes"));
  const PersonaAttributes without = entries.persona_of(exposure, DeviceType::kNic, false);
  EXPECT_TRUE(without.attributes.empty());
  EXPECT_EQ(without.notes.size(), 1u);
}

// Where lists are wanted, the standard attribute alone is one; selectors and the driver's own go on with the number.
TEST(ExposureAttributes, ContainANumaNodeAsAListOnRequest) {
  HostDevice nic = everything(DeviceType::kNic);
  nic.numa_neighbors = {1, 3};
  const EntryAttributes entries(kDriver, /*lists_numa_nodes=*/true);
  std::vector<std::string> notes;
  const auto of = [&](const HostDevice& device, const Exposure& exposure) {
    return entries.of(facts_of(device, {}), entries.persona_of(exposure, device.type, /*takes_lists=*/true),
                      notes);
  };
  const std::string key = "resource.kubernetes.io/numaNode";
  EXPECT_EQ(of(nic, {}).at(key), kube::AttributeValue(std::vector<int64_t>{0, 1, 3}));
  EXPECT_EQ(of(nic, {}).at("dra.networking/numaNode"), kube::AttributeValue(int64_t{0}));
  EXPECT_EQ(attributes_of(nic).at(key), kube::AttributeValue(int64_t{0}));
  nic.numa_neighbors.clear();
  EXPECT_EQ(of(nic, {}).at(key), kube::AttributeValue(std::vector<int64_t>{0}))
      << "one type, whatever the node";
  nic.numa_node.reset();
  EXPECT_FALSE(of(nic, {}).contains(key));
  EXPECT_EQ(notes, std::vector<std::string>{});

  // What a policy adds never takes the room that a longer list of another device needs.
  Exposure exposure;
  for (int i = 0; i < 4; ++i)
    exposure.additional_attributes["example.com/many" + std::to_string(i)] = std::vector<int64_t>(9, 1);
  nic.numa_node = 0;
  nic.numa_neighbors = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const auto full = of(nic, exposure);
  EXPECT_EQ(full.at(key), kube::AttributeValue(std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_TRUE(kube::validate_device({.name = "x", .attributes = full}).empty());
}

kube::Attributes with_dranet(const HostDevice& device, const Exposure& exposure = {},
                             const std::string& driver = kDriver) {
  const EntryAttributes entries(driver, /*lists_numa_nodes=*/false, dranet_attributes());
  std::vector<std::string> notes;
  return entries.of(facts_of(device, {}), entries.persona_of(exposure, device.type, /*takes_lists=*/true),
                    notes);
}

// The ids below dra.net/ with their values, in the order of keys.
Texts dranet_of(const HostDevice& device, const Exposure& exposure = {}) {
  Texts out;
  for (const auto& [key, value] : with_dranet(device, exposure))
    if (key.str().starts_with("dra.net/"))
      out[key.str().substr(sizeof "dra.net/" - 1)] = kube::describe_attribute(value);
  return out;
}

// By dranet's pkg/inventory/db.go. Red when a value has another type or meaning there, or when the option adds anything while it is off.
TEST(ExposureAttributes, ContainDranetsOnRequest) {
  const Texts any{{"ifName", "\"enp3s0f1\""},
                  {"rdma", "true"},
                  {"mac", "\"02:00:00:00:00:01\""},
                  {"rdmaDevice", "\"mlx5_1\""}};
  const Texts of_function{{"numaNode", "0"}, {"pciAddress", "\"0000:03:00.1\""}, {"virtual", "false"}};
  const Texts rest{{"mtu", "9000"}, {"encapsulation", "\"ether\""}};
  const Texts no_pf{{"sriov", "false"}};
  const Texts device{{"type", "\"device\""}}, is_virtual{{"virtual", "true"}};
  const auto with = [&](std::initializer_list<Texts> parts) {
    Texts out = any;
    for (const Texts& part : parts) out.insert(part.begin(), part.end());
    return out;
  };
  const struct {
    DeviceType type;
    Texts wanted;
  } rows[] = {
      {DeviceType::kPf, with({of_function, device, {{"sriov", "true"}, {"sriovVfs", "8"}, {"mtu", "9000"}}})},
      {DeviceType::kVf, with({of_function, device, no_pf, {{"isSriovVf", "true"}}})},
      {DeviceType::kNic, with({of_function, device, no_pf, rest, {{"pciSubsystem", "\"0001\""}}})},
      {DeviceType::kSf, with({device, no_pf, rest, {{"virtual", "false"}}})},
      {DeviceType::kBridge, with({is_virtual, no_pf, rest, {{"type", "\"bridge\""}}})},
      {DeviceType::kVlan, with({is_virtual, no_pf, rest, {{"type", "\"vlan\""}}})},
      {DeviceType::kBond, with({is_virtual, no_pf, rest, {{"type", "\"bond\""}}})},
      {DeviceType::kVirtual, with({is_virtual, no_pf, rest})},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(dranet_of(everything(row.type)), row.wanted) << static_cast<int>(row.type);
    for (const auto& [key, value] : attributes_of(everything(row.type)))
      EXPECT_FALSE(key.str().starts_with("dra.net/")) << key.str();
  }

  HostDevice port = everything(DeviceType::kNic);
  port.netdev->link_type = 32;
  EXPECT_EQ(dranet_of(port).at("type"), "\"ipoib\"");
  EXPECT_EQ(dranet_of(port).at("encapsulation"), "\"infiniband\"");
  port.netdev.reset();
  EXPECT_EQ(dranet_of(port), (Texts{{"numaNode", "0"},
                                    {"pciAddress", "\"0000:03:00.1\""},
                                    {"rdma", "true"},
                                    {"rdmaDevice", "\"mlx5_1\""},
                                    {"pciSubsystem", "\"0001\""}}))
      << "without an interface";
}

// Red when the option takes the room of what the policy gives or replaces an attribute, or when what is left out depends on what is known
// just now.
TEST(ExposureAttributes, DranetsUseTheRemainingRoom) {
  const HostDevice vf = everything(DeviceType::kVf);
  const size_t without = dranet_of(vf).size();
  for (size_t additional = 0; additional < 16; ++additional) {
    const Exposure exposure = exposure_with(1, 1, additional);
    const kube::Attributes all = with_dranet(vf, exposure);
    EXPECT_TRUE(
        kube::validate_device({.name = "x", .attributes = all, .capacity = exposure.capacity}).empty());
    const size_t own = attributes_of(vf, exposure_with(1, 1, 0)).size();
    EXPECT_GE(own, 20u);
    if (additional <= 7) {
      EXPECT_EQ(dranet_of(vf, exposure).size(), without - 3 - additional) << additional;
    }
    if (additional <= 7) {
      for (const auto& [key, value] : exposure.additional_attributes) EXPECT_TRUE(all.contains(key));
    }
  }
  EXPECT_TRUE(dranet_of(vf, exposure_with(1, 1, 6)).contains("isSriovVf")) << "the last to be left out";
  // A VF with a plugin: the attributes that selectors of dranet's users read (docs/attributes.md).
  const Texts with_plugin = dranet_of(vf, exposure_with(1, 0, 0));
  for (const char* id : {"isSriovVf", "ifName", "rdma", "virtual", "numaNode", "type"})
    EXPECT_TRUE(with_plugin.contains(id)) << id;
  HostDevice bare = vf;
  bare.rdma_device.clear();
  bare.netdev->master.clear();
  EXPECT_FALSE(dranet_of(bare).contains("mtu")) << "room is kept for what the device may have";

  Exposure given;
  given.additional_attributes["dra.net/ifName"] = std::string("mine");
  EXPECT_EQ(dranet_of(vf, given).at("ifName"), "\"mine\"");
  EXPECT_EQ(with_dranet(vf, {}, "dra.net").at("dra.net/type"), kube::AttributeValue(std::string("vf")));
}

TEST(ExposureAttributes, OmitATextThatIsTooLong) {
  HostDevice nic = everything(DeviceType::kNic);
  nic.rdma_device = std::string(65, 'r');
  std::vector<std::string> notes;
  const kube::Attributes out = attributes_of(nic, {}, {}, &notes);
  EXPECT_FALSE(out.contains("dra.networking/rdmaDevice"));
  EXPECT_TRUE(out.contains("dra.networking/rdma"));
  EXPECT_EQ(notes.size(), 1u);
}

}  // namespace exposure_attributes_test
}  // namespace sliced::policy
