#include "kubelet/nri/messages.h"

#include <gtest/gtest.h>

#include "reactor/base/text.h"
#include "t/unit/kubelet/nri/wire.h"

namespace sliced::nri {
namespace {

using test::field;
using test::number_field;

TEST(Messages, ARequestHasThePublishedFieldNumbers) {
  const Request request{.service = "s", .method = "m", .payload = "p", .timeout = Millis{2}};
  EXPECT_EQ(encode_request(request),
            field(1, "s") + field(2, "m") + field(3, "p") + number_field(4, 2'000'000));
  const auto back = decode_request(encode_request(request) + field(5, "metadata is passed over"));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->service + back->method + back->payload, "smp");
  EXPECT_EQ(back->timeout, Millis{2});
}

TEST(Messages, BoundTimeouts) {
  const auto timeout = [](uint64_t nanos) { return decode_request(number_field(4, nanos))->timeout; };
  EXPECT_EQ(timeout(1), Millis{1});
  EXPECT_EQ(timeout(static_cast<uint64_t>(-5)), Millis{0});
  EXPECT_EQ(timeout(INT64_MAX), Millis{600'000});
  EXPECT_EQ(decode_configure(number_field(5, static_cast<uint64_t>(INT64_MIN)))->request_timeout, Millis{0});
}

TEST(Messages, AResponseHasAStatusOnlyOnFailure) {
  EXPECT_EQ(encode_response({.payload = "fine"}), field(2, "fine"));
  EXPECT_EQ(encode_response({.status = {Code::kUnknown, "no"}}),
            field(1, number_field(1, 2) + field(2, "no")));
  const auto back = decode_response(field(1, number_field(1, 12) + field(2, "none\n")));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->status, (Status{Code::kUnimplemented, "none\\x0a"}));
}

// Go's decoder ends the connection over a string that is not UTF-8.
TEST(Messages, BoundAStatus) {
  const std::string bytes = encode_response({.status = {Code::kUnknown, "\xff" + std::string(5000, 'x')}});
  EXPECT_LT(bytes.size(), 1100u);
  EXPECT_TRUE(is_utf8(decode_response(bytes)->status.message));
}

TEST(Messages, RegistrationAndAnswersHaveThePublishedFieldNumbers) {
  EXPECT_EQ(encode_register("n", "42", "v"), field(1, "n") + field(2, "42") + field(3, "v"));
  EXPECT_EQ(encode_configure_answer(kSandboxAndCreateEvents), number_field(2, 15));
  EXPECT_EQ(encode_synchronize_answer(true), number_field(2, 1));
  EXPECT_EQ(encode_synchronize_answer(false), "");
}

TEST(Messages, DecodeConfigure) {
  const auto configure =
      decode_configure(field(1, "ours alone") + field(2, "containerd") + field(3, "v2.4.2") +
                       number_field(4, 5000) + number_field(5, 2000) + field(6, "v0.12.3"));
  ASSERT_TRUE(configure.ok());
  EXPECT_EQ(configure->runtime_name, "containerd");
  EXPECT_EQ(configure->runtime_version, "v2.4.2");
  EXPECT_EQ(configure->nri_version, "v0.12.3");
  EXPECT_EQ(configure->request_timeout, Millis{2000});
}

TEST(Messages, DecodeSandboxesAndContainers) {
  const PodSandbox pod{.id = "a",
                       .name = "pod-a",
                       .namespace_name = "ns",
                       .uid = "uid-a",
                       .network_namespace = "/run/netns/a",
                       .ips = {"10.0.0.7"}};
  const Container container{.id = "c",
                            .sandbox_id = "a",
                            .name = "app",
                            .state = ContainerState::kRunning,
                            .cdi_devices = {"vendor/vf=claim-0000-3b-01-0"}};
  const auto call = decode_sandbox_call(field(1, test::sandbox("a")) + field(2, test::container("c", "a")));
  ASSERT_TRUE(call.ok());
  EXPECT_EQ(call->pod, pod);
  EXPECT_EQ(call->container, container);
  const auto all = decode_synchronize(field(1, test::sandbox("a")) + field(1, test::sandbox("b", "")) +
                                      field(2, test::container("c", "a")) + number_field(3, 1));
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->pods.size(), 2u);
  EXPECT_EQ(all->pods[0], pod);
  EXPECT_EQ(all->pods[1].network_namespace, "");
  EXPECT_EQ(all->containers, std::vector<Container>{container});
  EXPECT_TRUE(all->more);
}

TEST(Messages, EscapeInvalidTexts) {
  const auto call = decode_sandbox_call(field(1, field(1, "\xff\xfe")));
  ASSERT_TRUE(call.ok());
  EXPECT_EQ(call->pod.id, "\\xff\\xfe");
}

TEST(Messages, RefuseInvalidMessages) {
  EXPECT_FALSE(decode_request("\x0a").ok());
  EXPECT_FALSE(decode_response("\x0a").ok());
  EXPECT_FALSE(decode_configure("\x12\x7f").ok());
  EXPECT_FALSE(decode_synchronize("\x0a\x02\x0a\x7f").ok());
  EXPECT_FALSE(decode_sandbox_call("").ok());
}

}  // namespace
}  // namespace sliced::nri
