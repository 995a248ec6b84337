#include "kube/client/kubeconfig.h"

#include <algorithm>

#include "reactor/base/base64.h"
#include "reactor/base/text.h"

namespace sliced::kube {
namespace {

constexpr size_t kExecItemsMax = 256;

Error bad(std::string_view field, std::string_view reason) {
  return {Errc::kInvalid, std::string(field) + ": " + std::string(reason)};
}

/// Reads the members of one map; stores the first error, after which reads return empty values.
class FieldReader {
 public:
  FieldReader(const Json& map, std::string where) : map_(map), where_(std::move(where)) {}

  std::string text(std::string_view key) {
    const Json* value = map_.find(key);
    if (value == nullptr || value->is_null()) return "";
    if (value->string() != nullptr) return *value->string();
    fail(key, "must be a string, not a " + std::string(value->kind_name()));
    return "";
  }
  bool flag(std::string_view key) {
    const Json* value = map_.find(key);
    if (value == nullptr || value->is_null()) return false;
    if (value->boolean() != nullptr) return *value->boolean();
    fail(key, "must be true or false");
    return false;
  }
  PemSource pem(const std::string& key, const std::string& directory) {
    PemSource source{.data = "", .path = absolute(text(key), directory)};
    const std::string encoded = text(key + "-data");
    if (encoded.empty()) return source;
    const auto data = decode_base64(encoded);
    if (!data) fail(key + "-data", "is not base64");
    if (data && data->find("-----BEGIN ") == std::string::npos) fail(key + "-data", "has no PEM text in it");
    return {.data = data.value_or(""), .path = ""};
  }
  void refuse(std::string_view key, std::string_view why) {
    const Json* value = map_.find(key);
    if (value == nullptr || value->is_null() || (value->string() && value->string()->empty())) return;
    fail(key, why);
  }
  void fail(std::string_view key, std::string_view reason) {
    if (!error_) error_ = bad(where_ + '.' + std::string(key), reason);
  }
  static std::string absolute(const std::string& path, const std::string& directory) {
    return path.empty() || path[0] == '/' ? path : directory + '/' + path;
  }
  const Json& map() const { return map_; }
  const std::string& where() const { return where_; }
  const std::optional<Error>& error() const { return error_; }

 private:
  const Json& map_;
  const std::string where_;
  std::optional<Error> error_;
};

/// The member `inner` of the entry of that name in a list such as clusters: [{name: x, cluster: {...}}].
Result<const Json*> find_named(const Json& document, const std::string& list, const std::string& inner,
                               const std::string& name) {
  const Json* entries = document.find(list);
  if (entries != nullptr && entries->array() != nullptr)
    for (const Json& entry : *entries->array()) {
      if (entry.text("name") != name) continue;
      const Json* value = entry.find(inner);
      if (value != nullptr && value->object() != nullptr) return value;
      return bad(list + "[" + in_quotes(name) + "]." + inner, "must be a map");
    }
  return bad(list, "has no entry named " + in_quotes(name));
}

Result<Unit> read_cluster(const Json& map, const std::string& directory, Kubeconfig& config) {
  FieldReader cluster(map, "clusters[" + in_quotes(config.cluster) + "].cluster");
  const std::string server = cluster.text("server");
  if (server.empty()) cluster.fail("server", "is missing");
  config.certificate_authority = cluster.pem("certificate-authority", directory);
  config.tls_server_name = cluster.text("tls-server-name");
  config.insecure_skip_tls_verify = cluster.flag("insecure-skip-tls-verify");
  if (config.insecure_skip_tls_verify && !config.certificate_authority.empty())
    cluster.fail("insecure-skip-tls-verify", "contradicts certificate-authority: remove one of them");
  config.proxy_url = cluster.text("proxy-url");
  if (cluster.error()) return *cluster.error();
  auto url = http::decode_url(server);
  if (!url) return std::move(url.error()).in(cluster.where() + ".server");
  config.server = *std::move(url);
  return Unit{};
}

void read_exec_lists(FieldReader& exec, ExecPlugin& plugin) {
  if (const Json* args = exec.map().find("args"); args != nullptr && !args->is_null()) {
    if (args->array() == nullptr || args->array()->size() > kExecItemsMax)
      return exec.fail("args", "must be a list of at most 256 strings");
    for (const Json& arg : *args->array()) {
      if (arg.string() == nullptr) return exec.fail("args", "must be a list of strings");
      plugin.args.push_back(*arg.string());
    }
  }
  if (const Json* env = exec.map().find("env"); env != nullptr && !env->is_null()) {
    if (env->array() == nullptr || env->array()->size() > kExecItemsMax)
      return exec.fail("env", "must be a list of at most 256 pairs of name and value");
    for (const Json& item : *env->array()) {
      const std::string name(item.text("name"));
      if (name.empty() || name.find('=') != std::string::npos)
        return exec.fail("env", "each item needs a name without '=' and a value");
      plugin.env.emplace_back(name, item.text("value"));
    }
  }
}

Result<ExecPlugin> read_exec(const Json& map, const std::string& where, const std::string& directory) {
  FieldReader exec(map, where);
  ExecPlugin plugin;
  plugin.command = exec.text("command");
  if (plugin.command.empty()) exec.fail("command", "is missing");
  // A bare name is looked up in PATH; one with a slash is relative to the kubeconfig.
  if (plugin.command.find('/') != std::string::npos)
    plugin.command = FieldReader::absolute(plugin.command, directory);
  plugin.api_version = exec.text("apiVersion");
  if (plugin.api_version != "client.authentication.k8s.io/v1" &&
      plugin.api_version != "client.authentication.k8s.io/v1beta1")
    exec.fail("apiVersion", in_quotes(plugin.api_version) +
                                " is not supported: client.authentication.k8s.io/v1 and v1beta1 are");
  plugin.install_hint = exec.text("installHint");
  plugin.provide_cluster_info = exec.flag("provideClusterInfo");
  const std::string mode = exec.text("interactiveMode");
  if (mode == "Always") {
    exec.fail("interactiveMode", "Always requires a terminal, which a daemon does not have");
  } else if (mode != "" && mode != "Never" && mode != "IfAvailable") {
    exec.fail("interactiveMode", in_quotes(mode) + " is none of Never, IfAvailable, Always");
  } else if (mode.empty() && plugin.api_version == "client.authentication.k8s.io/v1") {
    exec.fail("interactiveMode", "is required by client.authentication.k8s.io/v1: write Never");
  }
  read_exec_lists(exec, plugin);
  if (exec.error()) return *exec.error();
  return plugin;
}

Result<Unit> read_user(const Json& map, const std::string& directory, Kubeconfig& config) {
  FieldReader user(map, "users[" + in_quotes(config.user) + "].user");
  config.client_certificate = user.pem("client-certificate", directory);
  config.client_key = user.pem("client-key", directory);
  config.token = trim(user.text("token"));
  config.token_file = FieldReader::absolute(user.text("tokenFile"), directory);
  if (config.client_certificate.empty() != config.client_key.empty())
    user.fail(config.client_key.empty() ? "client-key" : "client-certificate",
              "is missing: a client certificate needs its key, and a key its certificate");
  for (const char* key : {"username", "password"})
    user.refuse(
        key,
        "password authentication is not supported (the API server dropped it): use a token or a certificate");
  user.refuse("auth-provider", "is not supported: use exec");
  for (const char* key : {"as", "as-uid", "as-groups", "as-user-extra"})
    user.refuse(key, "impersonation is not supported: use credentials of the user itself");
  if (user.error()) return *user.error();
  const Json* exec = map.find("exec");
  // A static token has precedence over a plugin, as in client-go.
  if (exec == nullptr || exec->is_null() || !config.token.empty() || !config.token_file.empty())
    return Unit{};
  auto plugin = read_exec(*exec, user.where() + ".exec", directory);
  if (!plugin) return std::move(plugin.error());
  config.exec = *std::move(plugin);
  return Unit{};
}

// Sets the cluster's values that only the plugin uses (client-go rest.ConfigToExecCluster).
Result<Unit> read_cluster_info(const Json& map, Kubeconfig& config) {
  FieldReader cluster(map, "clusters[" + in_quotes(config.cluster) + "].cluster");
  config.exec->proxy_url = config.proxy_url;
  config.exec->disable_compression = cluster.flag("disable-compression");
  if (const Json* extensions = map.find("extensions");
      extensions != nullptr && extensions->array() != nullptr)
    for (const Json& one : *extensions->array())
      if (const Json* value = one.find("extension");
          one.text("name") == "client.authentication.k8s.io/exec" && value != nullptr)
        config.exec->config = *value;
  if (cluster.error()) return *cluster.error();
  return Unit{};
}

// Makes paths absolute in each entry of a list such as clusters: [{name: x, cluster: {...}}], and in a
// plugin.
void make_absolute(Json& document, std::string_view list, std::string_view inner,
                   std::initializer_list<std::string_view> keys, const std::string& directory) {
  const Json* found = document.find(list);
  if (found == nullptr || found->array() == nullptr) return;
  Json::Array entries = *found->array();
  for (Json& entry : entries) {
    const Json* value = entry.find(inner);
    if (value == nullptr || value->object() == nullptr) continue;
    Json changed = *value;
    for (const std::string_view key : keys)
      if (const std::string path(changed.text(key)); !path.empty())
        changed.set(key, FieldReader::absolute(path, directory));
    if (const Json* exec = changed.find("exec"); exec != nullptr && exec->object() != nullptr) {
      const std::string command(exec->text("command"));
      Json plugin = *exec;
      if (command.find('/') != std::string::npos)
        plugin.set("command", FieldReader::absolute(command, directory));
      changed.set("exec", std::move(plugin));
    }
    entry.set(inner, std::move(changed));
  }
  document.set(list, std::move(entries));
}

}  // namespace

void merge_kubeconfig(Json more, const std::string& directory, Json& into) {
  if (more.object() == nullptr) return;
  make_absolute(more, "clusters", "cluster", {"certificate-authority"}, directory);
  make_absolute(more, "users", "user", {"client-certificate", "client-key", "tokenFile"}, directory);
  if (into.is_null()) {
    into = std::move(more);
    return;
  }
  for (auto& [key, value] : *more.object()) {
    const Json* existing = into.find(key);
    if (existing == nullptr || existing->is_null() || (existing->string() && existing->string()->empty())) {
      into.set(key, std::move(value));
    } else if (existing->array() != nullptr && value.array() != nullptr) {
      Json::Array all = *existing->array();
      for (Json& entry : *value.array()) {
        const auto has_same_name = [&](const Json& one) { return one.text("name") == entry.text("name"); };
        if (std::none_of(all.begin(), all.end(), has_same_name)) all.push_back(std::move(entry));
      }
      into.set(key, std::move(all));
    }
  }
}

Result<Kubeconfig> decode_kubeconfig(const Json& document, const std::string& directory,
                                     const std::string& context) {
  if (document.object() == nullptr) return Error{Errc::kInvalid, "is not a map: not a kubeconfig"};
  if (const std::string_view kind = document.text("kind"); !kind.empty() && kind != "Config")
    return bad("kind", in_quotes(kind) + ", expected Config");
  Kubeconfig config;
  config.context = context.empty() ? document.text("current-context") : context;
  if (config.context.empty()) return bad("current-context", "is missing: it names the context to use");
  const auto of = find_named(document, "contexts", "context", config.context);
  if (!of) return of.error();
  config.cluster = (*of)->text("cluster");
  config.user = (*of)->text("user");
  config.namespace_ = (*of)->text("namespace");
  const auto cluster = find_named(document, "clusters", "cluster", config.cluster);
  if (!cluster) return cluster.error();
  if (auto read = read_cluster(**cluster, directory, config); !read) return read.error();
  if (config.user.empty()) return config;  // anonymous
  const auto user = find_named(document, "users", "user", config.user);
  if (!user) return user.error();
  if (auto read = read_user(**user, directory, config); !read) return read.error();
  if (config.exec && config.exec->provide_cluster_info)
    if (auto read = read_cluster_info(**cluster, config); !read) return read.error();
  return config;
}

}  // namespace sliced::kube
