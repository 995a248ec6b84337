#include "kube/client/api_request.h"

#include <gtest/gtest.h>

namespace sliced::kube {
namespace api_request_test {

const Resource kSlices{"resource.k8s.io", "v1", "resourceslices", "ResourceSlice", false};
const Resource kNodes{"", "v1", "nodes", "Node", false};
const Resource kPolicies{"example.io", "v1alpha1", "policies", "Policy", true};

// "GET /path?query accept" and the rest in short.
std::string line(const ApiRequest& request) {
  std::string text = request.message.method + ' ' + request.message.path;
  for (const auto& [key, value] : request.message.query)
    text += (key == request.message.query[0].first ? '?' : '&') + key + '=' + value;
  if (!request.message.body.empty()) text += ' ' + request.message.body;
  return text;
}

std::string accept(const ApiRequest& request) {
  for (const http::Header& header : request.message.headers)
    if (header.name == "Accept") return header.value;
  return "";
}

TEST(EncodeList, EncodesEachOption) {
  const struct {
    ListRequest request;
    const char* token;
    const char* line;
    const char* action;
  } rows[] = {
      {{{kNodes, "", "metadata.name=n"}},
       "",
       "GET /api/v1/nodes?fieldSelector=metadata.name=n&limit=500",
       "list nodes with metadata.name=n"},
      {{{kSlices}, "0"},
       "",
       "GET /apis/resource.k8s.io/v1/resourceslices?resourceVersion=0",
       "list resourceslices.resource.k8s.io"},
      {{{kSlices}, "7", 3},
       "",
       "GET /apis/resource.k8s.io/v1/resourceslices?limit=3&resourceVersion=7",
       "list resourceslices.resource.k8s.io"},
      {{{kSlices}, "7", 3},
       "tok",
       "GET /apis/resource.k8s.io/v1/resourceslices?limit=3&continue=tok",
       "list resourceslices.resource.k8s.io"},
      {{{kPolicies, "ns/../x"}},
       "",
       "GET /apis/example.io/v1alpha1/namespaces/ns%2F..%2Fx/policies?limit=500",
       "list policies.example.io in ns/../x"},
      {{{kPolicies, ""}}, "", "GET /apis/example.io/v1alpha1/policies?limit=500", "list policies.example.io"},
  };
  for (const auto& row : rows) {
    const ApiRequest request = encode_list(row.request, row.token);
    EXPECT_EQ(line(request), row.line);
    EXPECT_EQ(request.action, row.action);
    EXPECT_TRUE(request.repeatable);
    EXPECT_EQ(accept(request), "application/json");
  }
}

TEST(EncodeWatch, EncodesEachOption) {
  EXPECT_EQ(
      line(encode_watch({{kSlices, "", "spec.driver=d"}, "9", false, Millis{400'500}})),
      "GET "
      "/apis/resource.k8s.io/v1/resourceslices?watch=1&allowWatchBookmarks=true&fieldSelector=spec.driver=d&"
      "resourceVersion=9&timeoutSeconds=400");
  EXPECT_EQ(
      line(encode_watch({{kNodes}, "", true})),
      "GET "
      "/api/v1/"
      "nodes?watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
}

TEST(EncodeScope, MetadataOnlyAsksForPartialObjects) {
  const Scope scope{.resource = kNodes, .metadata_only = true};
  EXPECT_EQ(accept(encode_list({scope}, "")),
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json");
  EXPECT_EQ(accept(encode_watch({scope})),
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json");
}

TEST(EncodeWrite, EncodesEachVerb) {
  const struct {
    WriteRequest request;
    const char* line;
    const char* action;
    bool repeatable;
  } rows[] = {
      {{.verb = Verb::kCreate, .resource = kSlices, .name = "s", .body = "{}"},
       "POST /apis/resource.k8s.io/v1/resourceslices?fieldValidation=Strict {}",
       "create resourceslices.resource.k8s.io s",
       false},
      {{.verb = Verb::kCreate, .resource = kSlices, .body = "{}", .dry_run = true, .strict = false},
       "POST /apis/resource.k8s.io/v1/resourceslices?dryRun=All {}",
       "create resourceslices.resource.k8s.io (dry run)",
       true},
      {{.verb = Verb::kUpdate, .resource = kPolicies, .namespace_ = "n", .name = "p", .body = "{}"},
       "PUT /apis/example.io/v1alpha1/namespaces/n/policies/p?fieldValidation=Strict {}",
       "update policies.example.io n/p",
       true},
      {{.verb = Verb::kApply,
        .resource = kPolicies,
        .namespace_ = "n",
        .name = "p",
        .body = "{}",
        .subresource = "status",
        .field_manager = "sliced/a b"},
       "PATCH /apis/example.io/v1alpha1/namespaces/n/policies/p/status"
       "?fieldManager=sliced/a b&force=true&fieldValidation=Strict {}",
       "apply policies.example.io n/p",
       true},
      {{.verb = Verb::kMerge,
        .resource = kPolicies,
        .namespace_ = "n",
        .name = "p",
        .body = "{}",
        .field_manager = "f"},
       "PATCH /apis/example.io/v1alpha1/namespaces/n/policies/p?fieldManager=f&fieldValidation=Strict {}",
       "patch policies.example.io n/p",
       true},
      {{.verb = Verb::kDelete, .resource = kSlices, .name = "s", .uid = "u", .resource_version = "3"},
       "DELETE /apis/resource.k8s.io/v1/resourceslices/s "
       R"({"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"u","resourceVersion":"3"}})",
       "delete resourceslices.resource.k8s.io s",
       true},
      {{.verb = Verb::kDelete, .resource = kSlices, .name = "s"},
       R"(DELETE /apis/resource.k8s.io/v1/resourceslices/s {"kind":"DeleteOptions","apiVersion":"v1"})",
       "delete resourceslices.resource.k8s.io s",
       false},
      {{.verb = Verb::kDelete, .resource = kSlices, .name = "s", .dry_run = true},
       R"(DELETE /apis/resource.k8s.io/v1/resourceslices/s {"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"]})",
       "delete resourceslices.resource.k8s.io s (dry run)",
       true},
  };
  for (const auto& row : rows) {
    const ApiRequest request = encode_write(row.request);
    EXPECT_EQ(line(request), row.line);
    EXPECT_EQ(request.action, row.action);
    EXPECT_EQ(request.repeatable, row.repeatable) << row.action;
  }
}

TEST(EncodeOthers, Paths) {
  EXPECT_EQ(line(encode_get({kNodes, "", "n"})), "GET /api/v1/nodes/n");
  EXPECT_EQ(line(encode_discover("resource.k8s.io", "v1")), "GET /apis/resource.k8s.io/v1");
  EXPECT_EQ(line(encode_discover("", "v1")), "GET /api/v1");
  EXPECT_EQ(line(encode_discover_groups()), "GET /apis");
  EXPECT_EQ(line(encode_schema("a.io", "v2")), "GET /openapi/v3/apis/a.io/v2");
  EXPECT_EQ(line(encode_server_info()), "GET /version");
}

}  // namespace api_request_test
}  // namespace sliced::kube
