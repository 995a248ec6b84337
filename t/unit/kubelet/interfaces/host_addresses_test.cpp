#include "kubelet/interfaces/host_addresses.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include <string>
#include <utility>

#include "kubelet/cni/network.h"
#include "kubelet/netlink.h"

namespace sliced::kubelet {
namespace {

Result<std::vector<HostAddress>> host() {
  return std::vector<HostAddress>{{"127.0.0.1", "lo"},
                                  {"10.9.9.1", "eno1"},
                                  {"10.9.9.2", "eno1"},
                                  {"10.9.9.254", "eno1"},
                                  {"2001:db8::1", "eno1"}};
}

cni::Record record(const std::string& ipam) {
  return {.config = R"({"cniVersion":"1.0.0","type":"ipvlan","ipam":)" + ipam + "}",
          .network = "net",
          .attachment = {.interface = "net1"},
          .users_definition = "NetworkAttachmentDefinition red/net"};
}

// The IPAM's configuration that the plugin gets, or why there is none.
std::string kept(const std::string& ipam) {
  cni::Record one = record(ipam);
  if (auto good = exclude_host_addresses(one, &host); !good) return good.error().what;
  return kube::encode_json(*kube::decode_json(one.config)->find("ipam"));
}

constexpr const char* kRemedy =
    ", which the host has itself (interface eno1): use another address, or a definition of an "
    "administrator's (netAttachDefNamespace of a DeviceClass)";

TEST(HostAddresses, RefusesAHostAddressInADefinition) {
  EXPECT_EQ(kept(R"({"type":"static","addresses":[{"address":"10.9.9.7/24"},{"address":"10.9.9.1/24"}]})"),
            std::string("NetworkAttachmentDefinition red/net: spec.config: ipam.addresses[1].address is "
                        "\"10.9.9.1/24\"") +
                kRemedy);
  for (const char* address : {"2001:db8::1/64", "2001:DB8:0:0::1/128", "::ffff:10.9.9.1/120"})
    for (const char* type : {"static", "whereabouts", "another"})
      EXPECT_NE(
          kept(std::string(R"({"type":")") + type + R"(","addresses":[{"address":")" + address + "\"}]}")
              .find(kRemedy),
          std::string::npos)
          << type << " " << address;
  cni::Record list{
      .config =
          R"({"cniVersion":"1.0.0","plugins":[{"type":"a"},{"type":"b","ipam":{"type":"static","addresses":[{"address":"10.9.9.2/8"}]}}]})",
      .users_definition = "NetworkAttachmentDefinition red/net"};
  EXPECT_NE(exclude_host_addresses(list, &host).error().what.find("plugins[1].ipam.addresses[0].address is"),
            std::string::npos);
}

// kube-proxy in mode ipvs has the address of each Service on an interface of the host.
Result<std::vector<HostAddress>> host_of_services() {
  std::vector<HostAddress> out;
  for (int i = 0; i < 4'000; ++i)
    out.push_back(
        {"10.96." + std::to_string(i / 100) + "." + std::to_string(2 * (i % 100) + 1), "kube-ipvs0"});
  return out;
}

TEST(HostAddresses, BoundsTheGrowthOfADefinition) {
  std::string sets, ranges;
  for (int i = 0; i < 10; ++i) {
    sets += i == 0 ? "[" : ",[";
    for (int j = 0; j < 50; ++j) sets += std::string(j == 0 ? "" : ",") + R"({"subnet":"10.0.0.0/8"})";
    sets += "]";
  }
  for (int i = 0; i < 64; ++i) ranges += std::string(i == 0 ? "" : ",") + R"({"range":"10.0.0.0/8"})";
  for (const auto& [ipam, field] :
       {std::pair(R"({"type":"host-local","ranges":[)" + sets + "]}", "ipam.ranges[0][0] has"),
        std::pair(R"({"type":"host-local","subnet":"10.0.0.0/8","ranges":[)" + sets + "]}", "ipam has"),
        std::pair(R"({"type":"whereabouts","ipRanges":[)" + ranges + "]}", "ipam.ipRanges[3] has"),
        std::pair(R"({"type":"whereabouts","range":"10.0.0.0/8","ipRanges":[)" + ranges + "]}",
                  "ipam.ipRanges[2] has")}) {
    cni::Record one = record(ipam);
    const std::string before = one.config;
    const auto kept = exclude_host_addresses(one, &host_of_services);
    ASSERT_FALSE(kept) << field << ": " << one.config.size() << " bytes";
    EXPECT_EQ(kept.error().code, Errc::kTooLarge);
    EXPECT_NE(kept.error().what.find(std::string("red/net: spec.config: ") + field +
                                     " too many addresses of the host: without them the definition would "
                                     "have more than 262144 bytes. Use fewer or smaller ranges"),
              std::string::npos)
        << kept.error().what;
    EXPECT_EQ(one.config, before);
  }
  // What fits is a configuration that can be read again.
  cni::Record fits = record(R"({"type":"whereabouts","range":"10.0.0.0/8"})");
  ASSERT_TRUE(exclude_host_addresses(fits, &host_of_services));
  EXPECT_GT(fits.config.size(), 4'000u * 12);
  EXPECT_TRUE(cni::decode_network(fits.config, fits.network));
}

TEST(HostAddresses, ExcludesThemFromAHostLocalRange) {
  for (
      const auto& [given, wanted] : std::vector<std::pair<std::string, std::string>>{
          {R"({"type":"host-local","ranges":[[{"subnet":"10.9.9.0/24"}]]})",
           R"({"type":"host-local","ranges":[[{"subnet":"10.9.9.0/24","rangeStart":"10.9.9.3","rangeEnd":"10.9.9.253"}]]})"},
          {R"({"type":"host-local","subnet":"10.9.0.0/16","gateway":"10.9.0.1","dataDir":"/d"})",
           R"({"type":"host-local","dataDir":"/d","ranges":[[{"subnet":"10.9.0.0/16","rangeStart":"10.9.0.1","rangeEnd":"10.9.9.0","gateway":"10.9.0.1"},)"
           R"({"subnet":"10.9.0.0/16","rangeStart":"10.9.9.3","rangeEnd":"10.9.9.253","gateway":"10.9.0.1"},)"
           R"({"subnet":"10.9.0.0/16","rangeStart":"10.9.9.255","rangeEnd":"10.9.255.254","gateway":"10.9.0.1"}]]})"},
          {R"({"type":"host-local","ranges":[[{"subnet":"2001:db8::/64"}],[{"subnet":"10.1.0.0/24"}]]})",
           R"({"type":"host-local","ranges":[[{"subnet":"2001:db8::/64","rangeStart":"2001:db8::2","rangeEnd":"2001:db8::ffff:ffff:ffff:ffff"}],[{"subnet":"10.1.0.0/24"}]]})"},
          {R"({"type":"host-local","subnet":"10.9.9.0/24","rangeStart":"10.9.9.2","rangeEnd":"10.9.9.9"})",
           R"({"type":"host-local","ranges":[[{"subnet":"10.9.9.0/24","rangeStart":"10.9.9.3","rangeEnd":"10.9.9.9"}]]})"},
          // Of none of them, and what the plugin itself refuses: as it was.
          {R"({"type":"host-local","subnet":"10.9.9.0/24","rangeStart":"10.9.9.100"})",
           R"({"type":"host-local","ranges":[[{"subnet":"10.9.9.0/24","rangeStart":"10.9.9.100","rangeEnd":"10.9.9.253"}]]})"},
          {R"({"type":"host-local","subnet":"10.9.9.0/24","rangeEnd":"10.9.9.200","rangeStart":"10.9.9.100"})",
           ""},
          {R"({"type":"host-local","subnet":"10.8.0.0/16"})", ""},
          {R"({"type":"host-local","subnet":"10.9.9.0/24","rangeStart":"10.9.9.9","rangeEnd":"10.9.9.2"})",
           ""},
          {R"({"type":"host-local","ranges":null})", ""}})
    EXPECT_EQ(kept(given), wanted.empty() ? given : wanted) << given;
}

TEST(HostAddresses, RefusesAHostLocalRangeOfHostAddressesOnly) {
  EXPECT_EQ(
      kept(R"({"type":"host-local","subnet":"10.9.9.0/24","rangeStart":"10.9.9.1","rangeEnd":"10.9.9.1"})"),
      std::string("NetworkAttachmentDefinition red/net: spec.config: ipam has no address but 10.9.9.1") +
          kRemedy);
  EXPECT_EQ(
      kept(
          R"({"type":"host-local","ranges":[[{"subnet":"10.9.9.0/24","rangeStart":"10.9.9.1","rangeEnd":"10.9.9.2"}]]})"),
      std::string(
          "NetworkAttachmentDefinition red/net: spec.config: ipam.ranges[0][0] has no address but 10.9.9.1 to 10.9.9.2") +
          kRemedy);
  EXPECT_NE(
      kept(R"({"type":"host-local","subnet":"10.9.9.0/30"})").find("no address but 10.9.9.1 to 10.9.9.2"),
      std::string::npos);
}

TEST(HostAddresses, ExcludesThemForWhereabouts) {
  EXPECT_EQ(
      kept(
          R"({"type":"whereabouts","range":"10.9.9.0-10.9.9.9/24","exclude":["10.9.9.8/32"],"ipRanges":[{"range":"2001:db8::/64"},{"range":"10.8.0.0/24"}]})"),
      R"({"type":"whereabouts","range":"10.9.9.0-10.9.9.9/24","exclude":["10.9.9.8/32","10.9.9.1/32","10.9.9.2/32","10.9.9.254/32"],)"
      R"("ipRanges":[{"range":"2001:db8::/64","exclude":["2001:db8::1/128"]},{"range":"10.8.0.0/24"}]})");
}

// Releases before 0.6.2 (pkg/allocate): with range_end they start at range_start, and go on to range_end, whatever the network.
TEST(HostAddresses, ExcludesThemForWhereaboutsOutsideTheNetwork) {
  for (
      const auto& [given, wanted] : std::vector<std::pair<std::string, std::string>>{
          {R"({"type":"whereabouts","range":"10.8.0.0/24","range_start":"10.9.9.1","range_end":"10.9.9.2")",
           R"("10.9.9.1/32","10.9.9.2/32")"},
          {R"({"type":"whereabouts","range":"10.8.0.0/24","range_end":"10.9.9.1")", R"("10.9.9.1/32")"},
          {R"({"type":"whereabouts","range":"10.8.0.0/24","range_start":"10.9.9.1")",
           R"("10.9.9.1/32","10.9.9.2/32","10.9.9.254/32")"},
          {R"({"type":"whereabouts","range":"10.10.0.0/24","range_start":"10.9.9.2","range_end":"10.10.0.9")",
           R"("10.9.9.2/32","10.9.9.254/32")"},
          {R"({"type":"whereabouts","range":"10.8.0.0/24","range_start":"10.9.9.1","range_end":"10.8.0.9")",
           R"("10.9.9.1/32","10.9.9.2/32","10.9.9.254/32","127.0.0.1/32","2001:db8::1/128")"}})
    EXPECT_EQ(kept(given + "}"), given + ",\"exclude\":[" + wanted + "]}");
}

TEST(HostAddresses, ComparesIpamResultsByThePodsInterface) {
  cni::Record one = record(R"({"type":"dhcp"})");
  const auto problem = [&](std::optional<int64_t> interface, const std::string& address) {
    one.result = cni::Attached{
        .interfaces = {{.name = "br0"}, {.name = "net1", .sandbox = "/run/netns/a"}},
        .ips = {{.interface = 1, .address = "10.9.9.7/24"}, {.interface = interface, .address = address}}};
    const auto good = check_result_addresses(one, &host);
    return good ? "" : good.error().what;
  };
  EXPECT_EQ(problem(1, "10.9.9.1/24"),
            std::string("NetworkAttachmentDefinition red/net: spec.config: ipam gave interface net1 the "
                        "address \"10.9.9.1/24\"") +
                kRemedy);
  EXPECT_NE(problem({}, "2001:db8::1/64"), "");
  EXPECT_NE(problem(7, "10.9.9.2/24"), "");
  EXPECT_NE(problem(-1, "10.9.9.2/24"), "");
  EXPECT_EQ(problem(0, "10.9.9.1/24"), "") << "the host's own side";
  EXPECT_EQ(problem(1, "10.9.9.3/24"), "");
  one.users_definition.clear();
  EXPECT_EQ(problem(1, "10.9.9.1/24"), "") << "an administrator's";
}

TEST(HostAddresses, KeepsAnAdministratorsDefinitionAndRunsNothingIfTheyAreUnreadable) {
  cni::Record one = record(R"({"type":"static","addresses":[{"address":"10.9.9.1/24"}]})");
  const ReadHostAddresses unreadable = [] { return Error{Errc::kIo, "RTM_GETADDR: Input/output error"}; };
  EXPECT_EQ(exclude_host_addresses(one, unreadable).error().what,
            "the host's IP addresses are not known: RTM_GETADDR: Input/output error");
  one.users_definition.clear();
  const std::string before = one.config;
  EXPECT_TRUE(exclude_host_addresses(one, unreadable).ok());
  EXPECT_TRUE(exclude_host_addresses(one, &host).ok());
  EXPECT_EQ(one.config, before);
}

std::string address_message(int family, unsigned ifindex,
                            const std::vector<std::pair<int, const char*>>& attributes) {
  const ifaddrmsg info{.ifa_family = static_cast<unsigned char>(family), .ifa_index = ifindex};
  std::string body(reinterpret_cast<const char*>(&info), sizeof info);
  for (const auto& [type, text] : attributes) {
    std::string bytes(family == AF_INET ? 4 : 16, '\0');
    inet_pton(family, text, bytes.data());
    put_attribute(body, type, bytes);
  }
  const nlmsghdr header{.nlmsg_len = static_cast<unsigned>(sizeof(nlmsghdr) + body.size()),
                        .nlmsg_type = RTM_NEWADDR};
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + body;
}

// Of a point-to-point interface IFA_ADDRESS is the other end's, whichever of the two comes first.
TEST(HostAddresses, ReadsThePeerOfALink) {
  std::vector<HostAddress> addresses;
  std::vector<int> indices;
  const std::string all = address_message(AF_INET, 2, {{IFA_ADDRESS, "10.9.9.8"}, {IFA_LOCAL, "10.9.9.1"}}) +
                          address_message(AF_INET, 3, {{IFA_LOCAL, "10.9.9.2"}, {IFA_ADDRESS, "10.9.9.8"}}) +
                          address_message(AF_INET6, 4, {{IFA_ADDRESS, "2001:db8::1"}}) +
                          address_message(AF_INET, 5, {});
  const auto is_last = decode_addresses(all, addresses, indices);
  ASSERT_TRUE(is_last.ok());
  EXPECT_FALSE(*is_last);
  EXPECT_EQ(addresses, (std::vector<HostAddress>{{"10.9.9.1", ""}, {"10.9.9.2", ""}, {"2001:db8::1", ""}}));
  EXPECT_EQ(indices, (std::vector<int>{2, 3, 4}));
  EXPECT_FALSE(decode_addresses(all.substr(0, all.size() - 1), addresses, indices).ok());
}

}  // namespace
}  // namespace sliced::kubelet
