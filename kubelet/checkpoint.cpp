#include "kubelet/checkpoint.h"

#include "kube/json.h"
#include "kube/json_scanner.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace checkpoint {
namespace {

using kube::Json;

constexpr int64_t kVersion = 1;
constexpr int kChecksumDigits = 16;
constexpr kube::JsonLimits kLimits{.size_max = kCheckpointBytesMax, .depth_max = 16, .nodes_max = 4'000'000};

std::string checksum(std::string_view state) { return hex(stable_hash(state), kChecksumDigits); }

// Each text, flag and list of a struct by its name in the file: one list for both directions, so that nothing is
// written that is not read. Visitor: Writer or Reader.
template <class Visitor>
void visit(Visitor& v, cdi::DeviceNode& value) {
  v("path", value.path), v("hostPath", value.host_path);
}
template <class Visitor>
void visit(Visitor& v, cdi::Mount& value) {
  v("hostPath", value.host_path), v("containerPath", value.container_path), v("options", value.options);
}
template <class Visitor>
void visit(Visitor& v, cdi::Edits& value) {
  v("env", value.env), v("nodes", value.nodes), v("mounts", value.mounts);
}
template <class Visitor>
void visit(Visitor& v, policy::Holding& value) {
  v("entry", value.entry), v("device", value.device), v("base", value.base), v("group", value.group);
  v("exclusive", value.is_exclusive);
}
template <class Visitor>
void visit(Visitor& v, Identity& value) {
  v("vendor", value.vendor), v("product", value.product), v("pf", value.pf);
}
template <class Visitor>
void visit(Visitor& v, VfioBinding& value) {
  v("originalDriver", value.original_driver), v("group", value.group);
}
template <class Visitor>
void visit(Visitor& v, VfConfig& value) {
  v("driver", value.driver), v("ifName", value.if_name), v("netAttachDefNamespace", value.nad_namespace);
  v("netAttachDefName", value.nad_name), v("addVhostMount", value.adds_vhost);
}
template <class Visitor>
void visit(Visitor& v, ReservingPod& value) {
  v("name", value.name), v("uid", value.uid);
}
template <class Visitor>
void visit(Visitor& v, PreparedDevice& value) {
  v("request", value.request), v("pool", value.pool), v("device", value.device), v("shareID", value.share_id);
  v("adminAccess", value.is_admin), v("holding", value.holding), v("pf", value.pf), v("pci", value.pci);
  v("interface", value.interface), v("identity", value.identity), v("config", value.config);
  v("network", value.network), v("multusResource", value.multus_resource), v("vfio", value.vfio),
      v("edits", value.edits);
}
template <class Visitor>
void visit(Visitor& v, PreparedClaim& value) {
  v("driver", value.driver), v("namespace", value.namespace_), v("name", value.name), v("uid", value.uid);
  v("podClaimName", value.pod_claim_name), v("pods", value.pods), v("devices", value.devices);
  v("complete", value.is_complete), v("podID", value.cdi_pod_id);
}

class Writer {
 public:
  template <class T>
  static Json encode(T value) {
    Writer writer;
    visit(writer, value);
    return std::move(writer.out_);
  }
  void operator()(const char* name, const std::string& value) {
    if (!value.empty()) out_.emplace_back(name, value);
  }
  void operator()(const char* name, bool value) {
    if (value) out_.emplace_back(name, true);
  }
  template <class T>
  void operator()(const char* name, const std::optional<T>& value) {
    if (value) out_.emplace_back(name, encode(*value));
  }
  template <class T>
  void operator()(const char* name, const std::vector<T>& values) {
    Json::Array list;
    for (const T& one : values)
      if constexpr (std::is_same_v<T, std::string>)
        list.push_back(one);
      else
        list.push_back(encode(one));
    if (!list.empty()) out_.emplace_back(name, std::move(list));
  }
  template <class T>
  void operator()(const char* name, const T& value) {
    out_.emplace_back(name, encode(value));
  }

 private:
  Json::Object out_;
};

// What is of another kind than it was written counts as wrong; what is not there is empty.
class Reader {
 public:
  template <class T>
  static bool decode(const Json& from, T& out) {
    if (from.object() == nullptr) return false;
    Reader reader(from);
    visit(reader, out);
    return reader.is_good_;
  }
  void operator()(const char* name, std::string& out) {
    if (const Json* at = from_.find(name)) take(at->string(), out);
  }
  void operator()(const char* name, bool& out) {
    if (const Json* at = from_.find(name))
      take(at->boolean(), out);
    else
      out = false;
  }
  template <class T>
  void operator()(const char* name, std::optional<T>& out) {
    if (const Json* at = from_.find(name)) is_good_ &= decode(*at, out.emplace());
  }
  template <class T>
  void operator()(const char* name, std::vector<T>& out) {
    const Json* at = from_.find(name);
    if (at == nullptr) return;
    if (at->array() == nullptr) return void(is_good_ = false);
    for (const Json& one : *at->array()) {
      T& item = out.emplace_back();
      if constexpr (std::is_same_v<T, std::string>)
        take(one.string(), item);
      else
        is_good_ &= decode(one, item);
    }
  }
  template <class T>
  void operator()(const char* name, T& out) {
    if (const Json* at = from_.find(name)) is_good_ &= decode(*at, out);
  }

 private:
  explicit Reader(const Json& from) : from_(from) {}
  template <class T>
  void take(const T* found, T& out) {
    if (found == nullptr) return void(is_good_ = false);
    out = *found;
  }

  const Json& from_;
  bool is_good_ = true;
};

Error invalid(const std::string& what) { return {Errc::kInvalid, "checkpoint: " + what}; }

Result<Unit> read_claims(const Json& list, PreparedClaims& out) {
  if (list.array() == nullptr) return invalid("claims is no list");
  if (list.array()->size() > kCheckpointClaimsMax)
    return Error{Errc::kTooLarge,
                 "checkpoint: it has more than " + std::to_string(kCheckpointClaimsMax) + " claims"};
  for (const Json& one : *list.array()) {
    PreparedClaim claim;
    if (!Reader::decode(one, claim) || claim.driver.empty() || claim.uid.empty())
      return invalid("claims[" + std::to_string(out.size()) + "] cannot be understood");
    const PreparedKey key = key_of(claim);
    if (!out.emplace(key, std::move(claim)).second) return invalid("a claim stands in it twice");
  }
  return Unit{};
}

}  // namespace
}  // namespace checkpoint

std::string encode_checkpoint(const Checkpoint& value) {
  using namespace checkpoint;
  Json::Array claims;
  for (const auto& [key, claim] : value.claims) claims.push_back(Writer::encode(claim));
  const std::string state = kube::encode_json(
      Json::Object{{"version", kVersion}, {"bootID", value.boot_id}, {"claims", std::move(claims)}});
  return "{\"checksum\":\"" + checksum(state) + "\",\"state\":" + state + "}\n";
}

Result<Checkpoint> decode_checkpoint(std::string_view text) {
  using namespace checkpoint;
  if (text.size() > kCheckpointBytesMax)
    return Error{Errc::kTooLarge, "checkpoint: it has " + std::to_string(text.size()) + " bytes"};
  const auto sum = kube::find_raw(text, {"checksum"});
  const auto state = kube::find_raw(text, {"state"});
  if (!sum || !state || state->empty()) return invalid("it is cut short, or no checkpoint");
  if (*sum != "\"" + checksum(*state) + "\"")
    return invalid("its checksum does not fit: it was cut short or edited");
  const auto value = kube::decode_json(*state, kLimits);
  if (!value) return Error(value.error()).in("checkpoint");
  const Json* version = value->find("version");
  if (version == nullptr || *version != Json(kVersion))
    return invalid("version is " +
                   (version == nullptr ? "missing" : escaped(kube::encode_json(*version), 64)) +
                   ", wants 1: another version of sliced wrote it");
  Checkpoint out{.boot_id = std::string(value->text("bootID"))};
  const Json* claims = value->find("claims");
  if (claims == nullptr) return invalid("claims is missing");
  if (auto read = read_claims(*claims, out.claims); !read) return std::move(read.error());
  return out;
}

}  // namespace sliced::kubelet
