#include "kubelet/messages.h"

#include <gtest/gtest.h>

#include "t/unit/kubelet/plugin_world.h"

namespace sliced::kubelet {
namespace {

using namespace std::string_literals;

TEST(KubeletMessages, DecodesClaimsWithUnknownFields) {
  const auto claims =
      decode_claims(claim("ns", "u-1", "a.b") + field(99, "later") + claim("ns2", "u_2", "c"));
  ASSERT_TRUE(claims) << claims.error().what;
  ASSERT_EQ(claims->size(), 2u);
  EXPECT_EQ((*claims)[0].claim, (PrepareRequest{.namespace_ = "ns", .name = "a.b", .uid = "u-1"}));
  EXPECT_EQ((*claims)[1].claim, (PrepareRequest{.namespace_ = "ns2", .name = "c", .uid = "u_2"}));
  EXPECT_EQ((*claims)[0].error + (*claims)[1].error, "");
  EXPECT_TRUE(decode_claims("")->empty());
}

TEST(KubeletMessages, NamesEachInvalidClaim) {
  const struct {
    std::string bytes;
    const char* wrong;
  } rows[] = {
      {claim("", "u", "n"), "claims[1].namespace: \"\" is not a name of a namespace"},
      {claim("a/b", "u", "n"), "claims[1].namespace: \"a/b\" is not a name of a namespace"},
      {claim("ns", "v", "../n"), "claims[1].name: \"../n\" is not a name of a ResourceClaim"},
      {claim("ns", "", "n"), "claims[1].uid: \"\" is not a UID"},
      {claim("ns", "../../etc", "n"), "claims[1].uid: \"../../etc\" is not a UID"},
      {claim("ns", "a\0b"s, "n"), "claims[1].uid: \"a\\x00b\" is not a UID"},
      {claim("ns", ".hidden", "n"), "claims[1].uid: \".hidden\" is not a UID"},
      {claim("ns", "u", "n") + claim("ns", "u", "m"), "claims[2].uid: \"u\" is also that of \"ns/n\""},
  };
  for (const auto& row : rows) {
    const auto claims = decode_claims(claim("ns", "good", "n") + row.bytes);
    ASSERT_TRUE(claims) << row.wrong;
    ASSERT_EQ(claims->size(), 2u) << row.wrong;
    EXPECT_EQ((*claims)[0].error, "");
    EXPECT_EQ((*claims)[1].error, row.wrong);
  }
  const auto twice = decode_claims(claim("ns", "u", "n") + claim("ns", "u", "n"));
  ASSERT_TRUE(twice);
  ASSERT_EQ(twice->size(), 1u);
  EXPECT_EQ((*twice)[0].error, "");
}

TEST(KubeletMessages, RefusesInvalidMessages) {
  const char* const undecodable = "dra.ClaimsRequest: not decodable";
  const struct {
    std::string bytes;
    const char* wrong;
  } rows[] = {
      {claim("ns", "u\xff", "n"), "claims[0].uid: \"u\\xff\" is not UTF-8"},
      {field(1,
             "\x0a\x05"
             "ab"),
       undecodable},
      {"\xff\xff\xff\xff", undecodable},
  };
  for (const auto& row : rows) {
    const auto claims = decode_claims(row.bytes);
    ASSERT_FALSE(claims) << row.wrong;
    EXPECT_EQ(claims.error().what, row.wrong);
    EXPECT_EQ(claims.error().code, Errc::kInvalid);
  }
}

TEST(KubeletMessages, BoundsTheMemoryOfManyClaims) {
  std::string many;
  for (size_t i = 0; i <= kClaimsMax; ++i) many += claim("ns", "u" + std::to_string(i), "n");
  ASSERT_FALSE(decode_claims(many));
  EXPECT_EQ(decode_claims(many).error().code, Errc::kTooLarge);
  std::string empty;  // two bytes each on the wire, dozens in memory
  for (size_t i = 0; i < 500'000; ++i) empty += field(1, "");
  EXPECT_FALSE(decode_claims(empty));
}

TEST(KubeletMessages, AnswersHaveThePublishedFieldNumbers) {
  const AnsweredDevice device{.request_names = {"r1", "r2"},
                              .pool = "node",
                              .device = "0000-03-00-2",
                              .cdi_ids = {"v/c=a", "v/c=b"},
                              .share_id = "s"};
  const std::string of_device = field(1, "r1") + field(1, "r2") + field(2, "node") +
                                field(3, "0000-03-00-2") + field(4, "v/c=a") + field(4, "v/c=b");
  const std::string refused = field(1, field(1, "u2") + field(2, field(2, "why")));
  EXPECT_EQ(encode_prepared({{"u1", {.devices = {device}}}, {"u2", {.error = "why"}}}, DraVersion::kV1),
            field(1, field(1, "u1") + field(2, field(1, of_device + field(5, "s")))) + refused);
  EXPECT_EQ(encode_prepared({{"u1", {.devices = {device}}}, {"u2", {.error = "why"}}}, DraVersion::kV1Beta1),
            field(1, field(1, "u1") + field(2, field(1, of_device))) + refused);
  EXPECT_EQ(encode_prepared({{"u1", {}}}, DraVersion::kV1), field(1, field(1, "u1") + field(2, "")))
      << "a claim without devices has its entry";
  EXPECT_EQ(encode_unprepared({{"u1", ""}, {"u2", "why"}}),
            field(1, field(1, "u1") + field(2, "")) + field(1, field(1, "u2") + field(2, field(1, "why"))));
}

TEST(KubeletMessages, RegistrationHasThePublishedFieldNumbers) {
  EXPECT_EQ(
      encode_plugin_info({"DRAPlugin", "d.example", "/k/dra.sock", {"v1.DRAPlugin", "v1beta1.DRAPlugin"}}),
      field(1, "DRAPlugin") + field(2, "d.example") + field(3, "/k/dra.sock") + field(4, "v1.DRAPlugin") +
          field(4, "v1beta1.DRAPlugin"));
  EXPECT_EQ(*decode_registration_status(field(1, 1)), (RegistrationStatus{.is_registered = true}));
  EXPECT_EQ(*decode_registration_status(field(2, "no\n")), (RegistrationStatus{.error = "no\\x0a"}));
  EXPECT_FALSE(decode_registration_status("\x0a"));
}

TEST(KubeletMessages, HealthHasThePublishedFieldNumbers) {
  const std::string rest = field(3, 1700000000) + field(4, 120);
  EXPECT_EQ(encode_health({{"p", "a", ""}, {"p", "b", "gone"}}, 1700000000, std::chrono::seconds{120}),
            field(1, field(1, field(1, "p") + field(2, "a")) + field(2, 1) + rest) +
                field(1, field(1, field(1, "p") + field(2, "b")) + field(2, 2) + rest + field(5, "gone")));
  const std::string large = encode_health({{"p", "a", std::string(5000, 'x')}}, 1, std::chrono::seconds{1});
  EXPECT_LT(large.size(), 1100u);
}

}  // namespace
}  // namespace sliced::kubelet
