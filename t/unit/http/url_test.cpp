#include "http/url.h"

#include <gtest/gtest.h>

namespace sliced::http {
namespace {

TEST(DecodeUrl, AcceptsOnlyValidUrls) {
  const struct {
    const char* text;
    Url url;
  } rows[] = {
      {"https://10.0.0.1:6443", {true, "10.0.0.1", 6443, ""}},
      {"https://kube.example", {true, "kube.example", 443, ""}},
      {"http://localhost:8001/", {false, "localhost", 8001, ""}},
      {"http://localhost", {false, "localhost", 80, ""}},
      {"kube.example:6443", {true, "kube.example", 6443, ""}},
      {"https://[fd00::1]:6443", {true, "fd00::1", 6443, ""}},
      {"https://[::1]", {true, "::1", 443, ""}},
      {"https://rancher.example/k8s/clusters/c-1/", {true, "rancher.example", 443, "/k8s/clusters/c-1"}},
  };
  for (const auto& row : rows) {
    const auto url = decode_url(row.text);
    ASSERT_TRUE(url) << row.text << ": " << url.error().what;
    EXPECT_EQ(*url, row.url) << row.text;
  }
}

TEST(DecodeUrl, RefusesOtherUrls) {
  const std::string too_long = "https://" + std::string(3000, 'a');
  for (const std::string_view text :
       {"", "https://", "ftp://x", "https://user:secret@x", "https://x:0", "https://x:65536",
        "https://x:", "https://x:6443a", "https://[::1", "https://[zz]", "https://[1.2.3.4]", "https://x y",
        "https://x/a?b=c", "https://x/a#b", "https://x/\n", "https://::1", too_long.c_str()}) {
    const auto url = decode_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().code, Errc::kInvalid) << text;
  }
}

// Red when the log contains a password of the kubeconfig.
TEST(DecodeUrl, HidesUserInformationInErrors) {
  for (const std::string_view text :
       {"https://user:secret@x", "ftp://user:secret@x", "https://user:sec/ret@x", "user:secret@x:0"}) {
    const auto url = decode_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().what.find("sec"), std::string::npos) << url.error().what;
    EXPECT_NE(url.error().what.find('x'), std::string::npos) << url.error().what;
  }
}

TEST(HostHeader, OmitsTheDefaultPort) {
  EXPECT_EQ(host_header(*decode_url("https://a:443")), "a");
  EXPECT_EQ(host_header(*decode_url("https://a:80")), "a:80");
  EXPECT_EQ(host_header(*decode_url("http://[::1]:80")), "[::1]");
  EXPECT_EQ(encode_url(*decode_url("https://[::1]:6443/base")), "https://[::1]:6443/base");
}

TEST(EncodeQuery, EscapesAllButUnreserved) {
  EXPECT_EQ(encode_query({{"fieldSelector", "spec.driver=a,b"}, {"x", ""}}),
            "fieldSelector=spec.driver%3Da%2Cb&x=");
  EXPECT_EQ(percent_encode("aZ09-._~/ \xc3\xa4%"), "aZ09-._~%2F%20%C3%A4%25");
  EXPECT_EQ(encode_query({}), "");
}

}  // namespace
}  // namespace sliced::http
