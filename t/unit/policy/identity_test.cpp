#include "policy/identity.h"

#include <gtest/gtest.h>

#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

using hotplug::HostDevice;
using hotplug::PciAddress;

using Names = std::map<std::string, std::string>;

std::string hashed(const std::string& label, const std::string& interface) {
  return label + "-" + hex(stable_hash(interface), 6);
}

TEST(LinkLabel, IsADnsLabelUnlikeAFunction) {
  const struct {
    const char *interface, *label;
    bool is_hashed;
  } rows[] = {
      {"br0", "br0", false},
      {"eth0.100", "eth0-100", false},
      {"br_0", "br-0", true},
      {"BR0", "0", true},
      {"-br0-", "br0", true},
      {"---", "link", true},
      {"..", "link", true},
      {"\xff\xfe", "link", true},
      {"0000-03-00-0", "0000-03-00-0", true},
      {"0000.03.00.0", "0000-03-00-0", true},
      {"0000-03-00-0-x", "0000-03-00-0-x", true},
      {"0000-03-00-0x", "0000-03-00-0x", true},
      {"0000-03-00-07", "0000-03-00-07", true},
      {"0000-03-00-0-", "0000-03-00-0", true},
      {"10000-e1-00-0-m", "10000-e1-00-0-m", true},
      {"0000-03-20-0-x", "0000-03-20-0-x", false},  // no such device number
      {"0000-03-00-8-x", "0000-03-00-8-x", false},  // no such function number
      {"0000-03-00", "0000-03-00", false},
      {"x0000-03-00-0", "x0000-03-00-0", false},
  };
  for (const auto& row : rows)
    EXPECT_EQ(link_label(row.interface), row.is_hashed ? hashed(row.label, row.interface) : row.label)
        << row.interface;
}

hotplug::Inventory inventory_of(const std::vector<std::string>& links) {
  hotplug::Inventory out;
  const PciAddress function{0, 3, 0, 0};
  out.devices[function.text()] = {.id = {function.text()}, .pci = function};
  for (const std::string& link : links) out.devices[link] = HostDevice{.id = {link}};
  return out;
}

TEST(LinkNames, OfCollidingLinksThePublishedOneKeepsItsName) {
  const auto inventory = inventory_of({"eth0-100", "eth0.100"});
  EXPECT_EQ(link_names(inventory, {}),
            (Names{{"eth0-100", "eth0-100"}, {"eth0.100", hashed("eth0-100", "eth0.100")}}));
  EXPECT_EQ(link_names(inventory, {{"eth0-100-m", "eth0.100"}}),
            (Names{{"eth0-100", hashed("eth0-100", "eth0-100")}, {"eth0.100", "eth0-100"}}));
}

// Red when a link takes over the name that another has by its hash.
TEST(LinkNames, NeverReusesTheHashedNameOfAnother) {
  const std::string twin = hashed("ab-1", "ab.1");
  const auto inventory = inventory_of({"ab-1", "ab.1", twin});
  const auto unpublished = link_names(inventory, {});
  EXPECT_EQ(
      std::set<std::string>({unpublished.at("ab-1"), unpublished.at("ab.1"), unpublished.at(twin)}).size(),
      3u);
  const auto published = link_names(inventory, {{"ab-1", "ab-1"}, {twin, "ab.1"}});
  EXPECT_EQ(published.at("ab-1"), "ab-1");
  EXPECT_EQ(published.at("ab.1"), twin);
  EXPECT_EQ(published.at(twin), hashed(twin, twin));
}

// What is written as a name is read back, with whatever suffix.
TEST(FunctionName, IdentifiesItsFunction) {
  for (const PciAddress& function : {PciAddress{0, 3, 0, 2}, PciAddress{0x10000, 0xe1, 0x1f, 7}})
    for (const char* suffix : {"", "-macvlan", "x"})
      EXPECT_EQ(function_named_by(function_name(function) + suffix), function) << suffix;
  EXPECT_EQ(function_named_by("br0"), std::nullopt);
}

// A PF and its VFs share a pool; a VF whose PF cannot be read is one of the others for a moment.
TEST(PoolNames, AreThoseOfThePf) {
  const PciAddress pf{0, 3, 0, 0};
  const HostDevice whole{.type = hotplug::DeviceType::kPf, .pci = pf};
  const HostDevice vf{.type = hotplug::DeviceType::kVf, .pci = PciAddress{0, 3, 0, 2}, .pf = pf};
  const HostDevice orphan{.type = hotplug::DeviceType::kVf, .pci = PciAddress{0, 3, 0, 2}};
  const std::string longest(253, 'n');
  for (const std::string& node : {std::string("n1"), longest}) {
    PoolNames names(node);
    EXPECT_EQ(names.of(whole), names.of(vf));
    EXPECT_EQ(names.of(orphan), names.net());
    for (const HostDevice& one : {whole, vf, orphan}) {
      EXPECT_EQ(names.of(one), exposure_pool_name(node, one));
      EXPECT_LE(names.of(one).size(), kPoolNameMax);
    }
    EXPECT_EQ(names.are_shortened(), node == longest);
  }
  EXPECT_EQ(exposure_pool_name("n1", vf), "n1/0000-03-00-0");
  EXPECT_EQ(exposure_pool_name("n1", orphan), "n1/net");
}

TEST(FindDevice, MatchesAlternativeNamesIfNoInterfaceHasTheName) {
  hotplug::Inventory inventory;
  const auto add = [&](const std::string& id, const std::string& name, std::vector<std::string> others) {
    HostDevice& device = inventory.devices[id];
    device.id.text = id;
    device.netdev = hotplug::Netdev{.name = name, .alternative_names = std::move(others)};
  };
  add("0000:03:00.0", "ens1", {"ens7", "both", "eth9"});
  add("0000:03:00.1", "ens2", {"both"});
  add("0000:03:00.2", "eth9", {});
  add("0000:03:00.3", "twice", {});
  add("0000:03:00.4", "twice", {});
  EXPECT_EQ(*find_device(inventory, "ens7"), "0000:03:00.0");
  EXPECT_EQ(*find_device(inventory, "eth9"), "0000:03:00.2");
  EXPECT_EQ(find_device(inventory, "both").error(),
            (Error{Errc::kInvalid,
                   "\"both\" is an alternative interface name of several devices: 0000:03:00.0, "
                   "0000:03:00.1; name one of these"}));
  EXPECT_EQ(find_device(inventory, "twice").error().code, Errc::kInvalid);
  EXPECT_EQ(find_device(inventory, "none").error().code, Errc::kNotFound);
}

TEST(EntryNames, AreUnique) {
  const auto inventory = inventory_of({"br0", "br0-x", "br1"});
  const auto name = [&](EntryNames& names, const std::string& id, const std::string& suffix) {
    return names.name(inventory.devices.at(id), id == "0000:03:00.0" ? "0000-03-00-0" : id, suffix);
  };
  const Names nothing, published{{"br0-x", "br0-x"}}, gone{{"br1-x", "br9"}};
  EntryNames first(inventory, nothing);
  EXPECT_EQ(name(first, "br0", "-x"), hashed("br0", "br0") + "-x")
      << "whether the other one is offered or not";
  EXPECT_EQ(name(first, "br0", "-x-y"), hashed("br0", "br0") + "-x-y") << "br0-x and -y";
  EXPECT_EQ(name(first, "br0", "-xy"), hashed("br0", "br0") + "-xy") << "br0-x and y, as it is read";
  EXPECT_EQ(name(first, "br0", "-y"), "br0-y");
  EXPECT_EQ(name(first, "br0-x", ""), "br0-x");
  EXPECT_EQ(name(first, "br0", "-x"), "");
  EntryNames second(inventory, published);
  EXPECT_EQ(name(second, "br0", "-x"), hashed("br0", "br0") + "-x")
      << "what stands there is the other link's";
  EXPECT_EQ(name(second, "br0-x", ""), "br0-x");
  EntryNames third(inventory, gone);
  EXPECT_EQ(name(third, "br1", "-x"), "br1-x") << "whose link is gone";
  const std::string hashed_x = hashed("br1", "br1") + "-x";
  const Names former{{hashed_x, "br1"}};
  EntryNames fifth(inventory, former);
  EXPECT_EQ(name(fifth, "br1", "-x"), hashed_x) << "also when nothing reads so any more";
  const Names own{{"br0-x", "br0"}};
  EntryNames fourth(inventory, own);
  EXPECT_EQ(name(fourth, "br0", "-x"), "br0-x") << "what stands there stays";
  EXPECT_EQ(name(fourth, "br0-x", ""), hashed("br0-x", "br0-x"));
  EXPECT_EQ(name(third, "0000:03:00.0", std::string(52, 'x')), "") << "64 characters";
  EXPECT_EQ(name(third, "0000:03:00.0", "-"), "");
}

}  // namespace
}  // namespace sliced::policy
