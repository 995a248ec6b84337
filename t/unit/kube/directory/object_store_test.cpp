#include "kube/directory/object_store.h"

#include <gtest/gtest.h>

#include "kube/objects/kinds.h"
#include "kube/objects/object_meta.h"
#include "t/unit/kube/objects/json_print.h"

namespace sliced::kube {
namespace {

const ObjectKey kKey{"v1", "Node", "", "n"};

Json node(std::string_view label, int64_t spec = 0) {
  return Json::Object{
      {"apiVersion", "v1"},
      {"kind", "Node"},
      {"metadata", Json::Object{{"name", "n"}, {"labels", Json::Object{{"x", std::string(label)}}}}},
      {"spec", Json::Object{{"value", spec}}}};
}

ObjectMeta meta_of(const ObjectStore& store) { return *decode_object_meta(*store.find(kKey)); }

TEST(ObjectStore, VersionsGrowOnlyWithContent) {
  ObjectStore store;
  EXPECT_TRUE(store.put(kKey, node("a")));
  const ObjectMeta first = meta_of(store);
  EXPECT_FALSE(store.put(kKey, node("a")));
  EXPECT_EQ(meta_of(store), first);
  EXPECT_TRUE(store.put(kKey, node("b")));
  EXPECT_GT(std::stoull(meta_of(store).resource_version), std::stoull(first.resource_version));
  EXPECT_EQ(meta_of(store).generation, 1) << "labels are no new generation";
  EXPECT_EQ(meta_of(store).uid, first.uid);
  EXPECT_TRUE(store.put(kKey, node("b", 7)));
  EXPECT_EQ(meta_of(store).generation, 2);
  EXPECT_TRUE(store.remove(kKey));
  EXPECT_FALSE(store.remove(kKey));
  EXPECT_EQ(store.find(kKey), nullptr);
}

TEST(ObjectStore, KeepsUidAndGenerationOfAFileButNotItsVersion) {
  ObjectStore store;
  Json content = node("a");
  content.set("metadata",
              Json::Object{{"name", "n"}, {"uid", "u"}, {"generation", 40}, {"resourceVersion", "999"}});
  store.put(kKey, content);
  EXPECT_EQ(meta_of(store).uid, "u");
  EXPECT_EQ(meta_of(store).generation, 40);
  EXPECT_EQ(meta_of(store).resource_version, std::to_string(store.version()));
}

TEST(ObjectStore, UidsAreEqualInEveryProcess) {
  ObjectStore one, other;
  one.put({"v1", "Node", "", "other"}, node("x"));
  one.put(kKey, node("a"));
  other.put(kKey, node("b"));
  EXPECT_EQ(meta_of(one).uid, meta_of(other).uid);
  EXPECT_EQ(meta_of(one).uid.size(), 36u);
  EXPECT_NE(meta_of(one).uid, one.find({"v1", "Node", "", "other"})->find("metadata")->text("uid"));
}

TEST(ObjectStore, KeepsABoundedHistory) {
  ObjectStore store;
  const uint64_t start = store.version();
  EXPECT_EQ(store.change_after(start), nullptr);
  for (int i = 0; i < 1024; ++i) store.put(kKey, node("a", i));
  EXPECT_TRUE(store.has_history_since(start));
  EXPECT_EQ(store.change_after(start)->version, start + 1);
  EXPECT_EQ(store.change_after(start)->before, nullptr);
  EXPECT_NE(store.change_after(start + 1)->before, nullptr);
  store.put(kKey, node("a", -1));
  EXPECT_FALSE(store.has_history_since(start));
  EXPECT_TRUE(store.has_history_since(start + 1));
  EXPECT_FALSE(store.has_history_since(store.version() + 1)) << "from another run";
  const uint64_t before = store.version();
  store.forget_history();
  EXPECT_FALSE(store.has_history_since(before));
  EXPECT_TRUE(store.has_history_since(store.version()));
  EXPECT_EQ(store.change_after(store.version()), nullptr);
}

TEST(ObjectFilter, SelectsByKindNamespaceAndFields) {
  const Json slice = Json::Object{{"metadata", Json::Object{{"name", "s"}}},
                                  {"spec", Json::Object{{"driver", "d"}, {"nodeName", "n"}}}};
  const struct {
    std::string selector;
    bool selected;
  } rows[] = {
      {"", true},
      {"spec.driver=d", true},
      {"spec.driver==d,spec.nodeName=n", true},
      {"spec.driver=d,spec.nodeName=m", false},
      {"metadata.name=s", true},
      {"metadata.name!=s", false},
      {"metadata.name!=t", true},
      {"spec.driver=", false},
  };
  for (const auto& row : rows) {
    const ObjectFilter filter{{.resource = kResourceSlices}, "default", *decode_field_selector(row.selector)};
    EXPECT_EQ(filter.selects({"resource.k8s.io/v1", "ResourceSlice", "", "s"}, slice), row.selected)
        << row.selector;
    EXPECT_FALSE(filter.selects({"resource.k8s.io/v1beta1", "ResourceSlice", "", "s"}, slice))
        << row.selector;
    EXPECT_FALSE(filter.selects({"resource.k8s.io/v1", "DeviceClass", "", "s"}, slice)) << row.selector;
  }
  for (const auto* bad : {"spec.pool.name=x", "metadata.name", "=x", "a=b", ","})
    EXPECT_FALSE(decode_field_selector(bad).ok()) << bad;
}

TEST(ObjectFilter, AnEmptyNamespaceIsTheDefaultOne) {
  const ObjectKey plain{api_version(kSriovResourcePolicies), "SriovResourcePolicy", "", "p"};
  const ObjectKey other{plain.api_version, plain.kind, "other", "p"};
  const Json object = Json::Object{{"metadata", Json::Object{{"name", "p"}}}};
  const auto selects = [&](const std::string& namespace_, const ObjectKey& key,
                           const std::string& fields = "") {
    return ObjectFilter{
        {.resource = kSriovResourcePolicies, .namespace_ = namespace_}, "sys", *decode_field_selector(fields)}
        .selects(key, object);
  };
  EXPECT_TRUE(selects("sys", plain));
  EXPECT_TRUE(selects("", plain));
  EXPECT_TRUE(selects("", other));
  EXPECT_FALSE(selects("sys", other));
  EXPECT_TRUE(selects("other", other));
  EXPECT_TRUE(selects("", plain, "metadata.namespace=sys"));
}

TEST(ObjectFilter, PresentsObjectsLikeTheServer) {
  const Json object =
      Json::Object{{"kind", "K"}, {"metadata", Json::Object{{"name", "p"}, {"namespace", "x"}}}, {"spec", 1}};
  const ObjectFilter spaced{{.resource = kSriovResourcePolicies}, "sys", {}};
  EXPECT_EQ(spaced.present({"", "", "", "p"}, object),
            R"({"kind":"K","metadata":{"name":"p","namespace":"sys"},"spec":1})");
  EXPECT_EQ(spaced.present({"", "", "x", "p"}, object),
            R"({"kind":"K","metadata":{"name":"p","namespace":"x"},"spec":1})");
  const ObjectFilter heads{{.resource = kNodes, .metadata_only = true}, "sys", {}};
  EXPECT_EQ(heads.present({"", "", "", "p"}, object),
            R"({"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"p"}})");
}

}  // namespace
}  // namespace sliced::kube
