// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/kubeconfig.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "berth/base/base64.h"
#include "berth/base/text.h"
#include "berth/codec/json.h"
#include "berth/shell/client/certificate.h"
#include "berth/shell/client/file.h"
#include "berth/shell/client/kubeconfig_list.h"
#include "berth/shell/net/url.h"

namespace berth::client {
namespace {

using codec::json::array;
using codec::json::object;
using codec::json::value;

constexpr Duration kExpiryWarning = std::chrono::hours(24 * 7);
constexpr std::size_t kShownNamesMax = 10;

// An error is one line, and messages about the text may quote its control characters.
std::string OneLine(std::string text) {
  std::replace_if(text.begin(), text.end(), [](char c) { return c >= 0 && c < ' '; }, ' ');
  return text;
}

// An object of the file and its place, for errors: "kubeconfig F: users[admin].user.token ...".
class Section {
 public:
  Section(const object* fields, std::string place) : fields_(fields), place_(std::move(place)) {}

  bool exists() const { return fields_ != nullptr; }
  std::string Place(std::string_view key) const {
    return place_ + (place_.ends_with(' ') ? "" : ".") + std::string(key);
  }
  Error Fail(std::string_view key, std::string_view what) const {
    return InvalidError(Place(key) + ' ' + std::string(what));
  }

  // A null member counts as absent, as in Go.
  const value* Find(std::string_view key) const {
    const value* found = fields_ == nullptr ? nullptr : fields_->if_contains(key);
    return found == nullptr || found->is_null() ? nullptr : found;
  }
  bool Has(std::string_view key) const { return Find(key) != nullptr; }

  Expected<std::string> String(std::string_view key) const {
    const value* found = Find(key);
    if (found == nullptr) return std::string();
    if (!found->is_string()) return Fail(key, "should be a string; put quotes around it if it is one");
    return std::string(found->as_string());
  }
  // A string without control characters, since it becomes part of a header or a URL.
  Expected<std::string> Line(std::string_view key) const {
    BERTH_ASSIGN_OR_RETURN(std::string text, String(key));
    const auto is_control = [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; };
    if (std::any_of(text.begin(), text.end(), is_control))
      return Fail(key, "has a line break or another control character in it");
    return text;
  }
  Expected<bool> Bool(std::string_view key) const {
    const value* found = Find(key);
    if (found == nullptr) return false;
    if (!found->is_bool()) return Fail(key, "should be true or false");
    return found->as_bool();
  }
  Expected<Section> Object(std::string_view key) const {
    const value* found = Find(key);
    if (found == nullptr) return Section(nullptr, Place(key));
    if (!found->is_object()) return Fail(key, "should be a map");
    return Section(&found->as_object(), Place(key));
  }
  Expected<std::vector<Section>> Objects(std::string_view key) const {
    std::vector<Section> sections;
    const value* found = Find(key);
    if (found == nullptr) return sections;
    if (!found->is_array()) return Fail(key, "should be a list");
    for (std::size_t i = 0; i < found->as_array().size(); ++i) {
      const value& item = found->as_array()[i];
      const std::string place = Place(key) + '[' + std::to_string(i) + ']';
      if (!item.is_object()) return InvalidError(place + " should be a map");
      sections.emplace_back(&item.as_object(), place);
    }
    return sections;
  }
  Expected<std::vector<std::string>> Strings(std::string_view key) const {
    std::vector<std::string> texts;
    const value* found = Find(key);
    if (found == nullptr) return texts;
    if (!found->is_array()) return Fail(key, "should be a list of strings");
    for (const value& item : found->as_array()) {
      if (!item.is_string()) return Fail(key, "should be a list of strings; put quotes around numbers and booleans");
      texts.emplace_back(item.as_string());
    }
    return texts;
  }
  const object* fields() const { return fields_; }

 private:
  const object* fields_;
  std::string place_;
};

// The entry `name` of clusters, contexts or users; its content is under `content_key`.
Expected<Section> FindNamed(const Section& file, std::string_view list_key, std::string_view content_key,
                            std::string_view name, std::string_view wanted_by) {
  BERTH_ASSIGN_OR_RETURN(const std::vector<Section> entries, file.Objects(list_key));
  const Section* match = nullptr;
  std::vector<std::string> names;
  for (const Section& entry : entries) {
    BERTH_ASSIGN_OR_RETURN(std::string entry_name, entry.String("name"));
    if (std::find(names.begin(), names.end(), entry_name) != names.end()) {
      return entry.Fail("name", Quoted(entry_name) + " is there twice; names must differ");
    }
    if (entry_name == name) match = &entry;
    names.push_back(std::move(entry_name));
  }
  if (match == nullptr) {
    std::string what = "has no " + Quoted(name) + ", which " + std::string(wanted_by) + "; it has ";
    if (names.empty()) what += "none at all";
    for (std::size_t i = 0; i < std::min(names.size(), kShownNamesMax); ++i)
      what += (i > 0 ? ", " : "") + Quoted(names[i]);
    if (names.size() > kShownNamesMax) what += " and others";
    return file.Fail(list_key, what);
  }
  return match->Object(content_key);
}

// The content of KEY-data, or of the file that KEY names.
struct Blob {
  std::string pem;
  std::string path;   // empty for inline data
  std::string place;  // for errors
};

Error Unreadable(const std::string& place, const Error& error) {
  return InvalidError(place + " cannot be read: " + error.message);
}

Expected<Blob> ReadBlob(const Section& section, const std::string& key) {
  Blob blob;
  BERTH_ASSIGN_OR_RETURN(const std::string path, section.String(key));
  BERTH_ASSIGN_OR_RETURN(const std::string data, section.String(key + "-data"));
  if (!path.empty() && !data.empty()) return section.Fail(key, "and " + key + "-data are both set; remove one of them");
  if (!data.empty()) {
    auto decoded = DecodeBase64(data);
    if (!decoded.ok()) return section.Fail(key + "-data", "should be base64: " + decoded.error().message);
    blob = {std::move(decoded).value(), "", section.Place(key + "-data")};
    if (blob.pem.empty()) return section.Fail(key + "-data", "is empty");
  } else if (!path.empty()) {
    blob = {"", path, section.Place(key) + ' ' + path};
    auto read = ReadSmallFile(blob.path);
    if (!read.ok()) return Unreadable(section.Place(key), read.error());
    blob.pem = std::move(read).value();
    if (blob.pem.empty()) return InvalidError(blob.place + " is empty");
  }
  return blob;
}

class Loader {
 public:
  Loader(const KubeconfigOptions& options, const Clock& clock) : options_(options), clock_(clock) {}

  Expected<ClientConfig> Load(const object* fields) {
    auto config = LoadAll(fields);
    if (!config.ok()) return Error{config.error().code, OneLine(config.error().message)};
    return config;
  }

 private:
  Expected<ClientConfig> LoadAll(const object* fields) {
    const Section file(fields, options_.path.empty() ? "kubeconfig " : "kubeconfig " + options_.path + ": ");
    BERTH_ASSIGN_OR_RETURN(const std::string kind, file.String("kind"));
    BERTH_ASSIGN_OR_RETURN(const std::string version, file.String("apiVersion"));
    if (!kind.empty() && kind != "Config") return file.Fail("kind", "is " + Quoted(kind) + "; it should be Config");
    if (!version.empty() && version != "v1")
      return file.Fail("apiVersion", "is " + Quoted(version) + "; it should be v1");

    std::string context_name = options_.context;
    std::string wanted_by = "was asked for";
    if (context_name.empty()) {
      BERTH_ASSIGN_OR_RETURN(context_name, file.String("current-context"));
      wanted_by = "is the current-context";
    }
    Section context(nullptr, "");
    if (!context_name.empty()) {
      BERTH_ASSIGN_OR_RETURN(context, FindNamed(file, "contexts", "context", context_name, wanted_by));
    } else if (options_.master.empty()) {
      return file.Fail("current-context", "is not set; set it or name a context");
    }
    BERTH_ASSIGN_OR_RETURN(const std::string cluster_name, context.String("cluster"));
    BERTH_ASSIGN_OR_RETURN(const std::string user_name, context.String("user"));
    BERTH_ASSIGN_OR_RETURN(config_.namespace_name, context.String("namespace"));
    if (config_.namespace_name.empty()) config_.namespace_name = "default";

    Section cluster(nullptr, "");
    const std::string by_context = "context " + Quoted(context_name) + " names";
    if (!cluster_name.empty()) {
      BERTH_ASSIGN_OR_RETURN(cluster, FindNamed(file, "clusters", "cluster", cluster_name, by_context));
    } else if (options_.master.empty()) {
      return context.Fail("cluster", "is not set; it should name one of the clusters");
    }
    BERTH_RETURN_IF_ERROR(LoadCluster(cluster));
    config_.when_refused = "no credential was sent, because " +
                           (context_name.empty() ? std::string("no kubeconfig names a user; --kubeconfig FILE does")
                                                 : "context " + Quoted(context_name) + WhereItIs() + " names no user");
    if (!user_name.empty()) {
      BERTH_ASSIGN_OR_RETURN(const Section user, FindNamed(file, "users", "user", user_name, by_context));
      user_ = "user " + Quoted(user_name) + WhereItIs();
      BERTH_RETURN_IF_ERROR(LoadUser(user, cluster));
    }
    if (config_.credentials && config_.server.starts_with("http://")) {
      // Anybody on the way could read them. client-go leaves them out as well.
      config_.credentials = nullptr;
      config_.when_refused =
          "no credentials are sent to " + config_.server + ", which is not encrypted; use an https:// server";
      config_.warnings.push_back(config_.when_refused);
    }
    if (!config_.credentials) config_.credentials = MakeNoCredentials();
    return std::move(config_);
  }

  Expected<void> LoadCluster(const Section& cluster) {
    BERTH_ASSIGN_OR_RETURN(proxy_url_, cluster.String("proxy-url"));
    if (!proxy_url_.empty()) {
      auto proxy = net::ParseProxy(proxy_url_);
      if (!proxy.ok()) return InvalidError(cluster.Place("proxy-url") + ": " + proxy.error().message);
      // Go's transport treats socks5h as socks5, but client-go refuses it in a kubeconfig.
      if (proxy->shown.starts_with("socks5h:")) {
        return cluster.Fail("proxy-url", "is " + Quoted(proxy->shown) + "; it should begin with socks5://");
      }
      config_.proxy = *std::move(proxy);
    }
    BERTH_ASSIGN_OR_RETURN(config_.insecure_skip_tls_verify, cluster.Bool("insecure-skip-tls-verify"));
    BERTH_ASSIGN_OR_RETURN(config_.tls_server_name, cluster.Line("tls-server-name"));
    BERTH_ASSIGN_OR_RETURN(const Blob ca, ReadBlob(cluster, "certificate-authority"));
    if (!ca.pem.empty()) {
      if (config_.insecure_skip_tls_verify) {
        return cluster.Fail("insecure-skip-tls-verify",
                            "is true, so the certificate-authority cannot be meant; remove one of them");
      }
      if (const auto info = ReadCertificate(ca.pem); !info.ok())
        return InvalidError(ca.place + ' ' + info.error().message);
      config_.ca_pem = ca.pem;
      config_.ca_path = ca.path;
    }

    std::string server = options_.master;
    if (server.empty()) {
      BERTH_ASSIGN_OR_RETURN(server, cluster.Line("server"));
      if (server.empty()) return cluster.Fail("server", "is not set; it should be like https://host:6443");
    }
    if (server.find("://") == std::string::npos) {
      const bool has_tls = !config_.ca_pem.empty() || config_.insecure_skip_tls_verify;
      server = (has_tls ? "https://" : "http://") + server;
    }
    while (server.ends_with('/')) server.pop_back();
    if (const auto url = net::ParseUrl(server); !url.ok()) {
      if (!options_.master.empty())
        return InvalidError("master " + Quoted(net::ShownUrl(server)) + ": " + url.error().message);
      return cluster.Fail("server", "is " + Quoted(net::ShownUrl(server)) + ": " + url.error().message);
    }
    config_.server = std::move(server);
    return {};
  }

  // " (kubeconfig /home/jane/.kube/config)".
  std::string WhereItIs() const { return options_.path.empty() ? "" : " (kubeconfig " + options_.path + ")"; }

  Expected<void> LoadUser(const Section& user, const Section& cluster) {
    if (user.Has("auth-provider")) {
      return user.Fail("auth-provider",
                       "is no longer supported, by kubectl neither; use an exec credential plugin instead");
    }
    BERTH_ASSIGN_OR_RETURN(const std::string token, user.Line("token"));
    BERTH_ASSIGN_OR_RETURN(const std::string token_file, user.String("tokenFile"));
    BERTH_ASSIGN_OR_RETURN(const std::string username, user.String("username"));
    BERTH_ASSIGN_OR_RETURN(const std::string password, user.String("password"));
    if (!username.empty() && (!token.empty() || !token_file.empty())) {
      return user.Fail("username", "is set beside a token; only one way to authenticate is allowed");
    }
    std::shared_ptr<Credentials> headers;
    std::string& when_refused = config_.when_refused;
    when_refused = user_ + " has no credential; give it a token, a client certificate or an exec plugin";
    if (!token_file.empty()) {
      if (token.empty()) {
        // The file is read now, since an error with the first request would be far from its cause.
        if (const auto read = ReadTokenFile(token_file); !read.ok())
          return Unreadable(user.Place("tokenFile"), read.error());
      }
      headers = MakeTokenFileCredentials(token_file, token, clock_);
      when_refused = "the token of " + user_ + " in file " + token_file +
                     " is wrong or has expired; put a new one there, it is read again";
    } else if (!token.empty()) {
      headers = MakeStaticCredentials("Bearer " + token);
      when_refused = "the token of " + user_ + " is wrong or has expired; put a new one there and start again";
    } else if (!username.empty()) {
      headers = MakeStaticCredentials("Basic " + EncodeBase64(username + ':' + password));
      when_refused = "the username or password of " + user_ +
                     " is wrong, or the server takes none; put a token or client certificate there and start again";
    }
    BERTH_ASSIGN_OR_RETURN(const Section exec, user.Object("exec"));
    if (exec.exists()) {
      BERTH_ASSIGN_OR_RETURN(ExecPlugin plugin, LoadExec(exec, cluster));
      // A token or password takes precedence over the plugin, as in client-go.
      if (!headers) {
        when_refused = "what credential plugin " + plugin.command + " gives for " + user_ +
                       " is not accepted; log in again with it";
        headers = MakeExecCredentials(std::move(plugin), clock_);
      }
    }
    BERTH_RETURN_IF_ERROR(LoadCertificate(user, headers));
    BERTH_RETURN_IF_ERROR(LoadImpersonation(user));
    config_.credentials = std::move(headers);
    return {};
  }

  Expected<void> LoadCertificate(const Section& user, std::shared_ptr<Credentials>& headers) {
    BERTH_ASSIGN_OR_RETURN(const Blob certificate, ReadBlob(user, "client-certificate"));
    BERTH_ASSIGN_OR_RETURN(const Blob key, ReadBlob(user, "client-key"));
    if (certificate.pem.empty() && key.pem.empty()) return {};
    if (certificate.pem.empty()) return user.Fail("client-key", "is set without a client-certificate; both are needed");
    if (key.pem.empty()) return user.Fail("client-certificate", "is set without a client-key; both are needed");
    const auto info = ReadCertificate(certificate.pem);
    if (!info.ok()) return InvalidError(certificate.place + ' ' + info.error().message);
    if (const auto fits = CheckKey(certificate.pem, key.pem); !fits.ok()) {
      return InvalidError(key.place + ' ' + fits.error().message);
    }
    const Time now = clock_.WallNow();
    const std::string whose = certificate.place + " (" + info->subject + ')';
    if (now > info->valid_until) {
      return InvalidError(whose + " expired at " + FormatRfc3339(info->valid_until) +
                          "; renew it or use another context");
    }
    if (now < info->valid_from) {
      config_.warnings.push_back(whose + " is not valid before " + FormatRfc3339(info->valid_from) +
                                 "; is the clock right?");
    } else if (info->valid_until - now < kExpiryWarning) {
      config_.warnings.push_back(whose + " expires soon, at " + FormatRfc3339(info->valid_until) + "; renew it");
    }
    CertificateSource source;
    source.certificate_path = certificate.path;
    source.key_path = key.path;
    if (certificate.path.empty()) source.certificate_pem = certificate.pem;
    if (key.path.empty()) source.key_pem = key.pem;
    if (!headers) {
      config_.when_refused = "the client certificate of " + user_ + " (" + info->subject +
                             ") is not accepted: it has expired, or another cluster's authority signed it; put a new "
                             "one there" +
                             (certificate.path.empty() ? " and start again" : ", it is read again");
    }
    headers = MakeCertificateCredentials(std::move(source), headers);
    return {};
  }

  Expected<void> LoadImpersonation(const Section& user) {
    BERTH_ASSIGN_OR_RETURN(const std::string as, user.Line("as"));
    BERTH_ASSIGN_OR_RETURN(const std::string uid, user.Line("as-uid"));
    BERTH_ASSIGN_OR_RETURN(const std::vector<std::string> groups, user.Strings("as-groups"));
    BERTH_ASSIGN_OR_RETURN(const Section extra, user.Object("as-user-extra"));
    const bool has_extra = extra.exists() && !extra.fields()->empty();
    if (as.empty()) {
      if (!uid.empty() || !groups.empty() || has_extra) {
        return user.Fail("as", "is not set, but as-uid, as-groups or as-user-extra is; they need a user");
      }
      return {};
    }
    config_.headers.push_back({"Impersonate-User", as});
    if (!uid.empty()) config_.headers.push_back({"Impersonate-Uid", uid});
    const auto has_control = [](const std::string& text) {
      return std::any_of(text.begin(), text.end(), [](char c) { return c >= 0 && c < ' '; });
    };
    for (const std::string& group : groups) {
      if (has_control(group)) return user.Fail("as-groups", "has a control character in it");
      config_.headers.push_back({"Impersonate-Group", group});
    }
    if (!has_extra) return {};
    for (const auto& item : *extra.fields()) {
      BERTH_ASSIGN_OR_RETURN(const std::vector<std::string> texts, extra.Strings(item.key()));
      for (const std::string& text : texts) {
        if (has_control(text)) return extra.Fail(item.key(), "has a control character in it");
        config_.headers.push_back({"Impersonate-Extra-" + net::PercentEncode(item.key()), text});
      }
    }
    return {};
  }

  Expected<ExecPlugin> LoadExec(const Section& exec, const Section& cluster) {
    constexpr std::string_view kGroup = "client.authentication.k8s.io/";
    ExecPlugin plugin;
    BERTH_ASSIGN_OR_RETURN(plugin.api_version, exec.String("apiVersion"));
    if (plugin.api_version != std::string(kGroup) + "v1" && plugin.api_version != std::string(kGroup) + "v1beta1") {
      return exec.Fail("apiVersion",
                       "is " + Quoted(plugin.api_version) + "; it should be " + std::string(kGroup) + "v1 or v1beta1");
    }
    BERTH_ASSIGN_OR_RETURN(plugin.command, exec.String("command"));
    if (plugin.command.empty()) return exec.Fail("command", "is not set; it should name the plugin's program");
    if (plugin.command.find('\0') != std::string::npos) return exec.Fail("command", "has a zero byte in it");
    BERTH_ASSIGN_OR_RETURN(plugin.args, exec.Strings("args"));
    BERTH_ASSIGN_OR_RETURN(const std::vector<Section> variables, exec.Objects("env"));
    for (const Section& variable : variables) {
      BERTH_ASSIGN_OR_RETURN(std::string name, variable.String("name"));
      BERTH_ASSIGN_OR_RETURN(std::string text, variable.String("value"));
      if (name.empty() || name.find('=') != std::string::npos) {
        return variable.Fail("name", "should be the name of an environment variable");
      }
      plugin.env.emplace_back(std::move(name), std::move(text));
    }
    BERTH_ASSIGN_OR_RETURN(plugin.install_hint, exec.String("installHint"));
    BERTH_ASSIGN_OR_RETURN(plugin.provide_cluster_info, exec.Bool("provideClusterInfo"));
    BERTH_ASSIGN_OR_RETURN(const std::string mode, exec.String("interactiveMode"));
    if (mode == "Never") {
      plugin.interactive = ExecPlugin::Interactive::kNever;
    } else if (mode == "Always") {
      plugin.interactive = ExecPlugin::Interactive::kAlways;
    } else if (mode != "IfAvailable" && !(mode.empty() && plugin.api_version.ends_with("v1beta1"))) {
      return exec.Fail("interactiveMode", "is " + Quoted(mode) + "; it should be Never, IfAvailable or Always");
    }
    if (plugin.provide_cluster_info) {
      BERTH_ASSIGN_OR_RETURN(plugin.cluster_info, ClusterInfo(cluster));
    }
    return plugin;
  }

  // spec.cluster of the ExecCredential that the plugin is given.
  Expected<value> ClusterInfo(const Section& cluster) const {
    object info{{"server", config_.server}};
    if (!config_.tls_server_name.empty()) info["tls-server-name"] = config_.tls_server_name;
    if (config_.insecure_skip_tls_verify) info["insecure-skip-tls-verify"] = true;
    if (!config_.ca_pem.empty()) info["certificate-authority-data"] = EncodeBase64(config_.ca_pem);
    if (!proxy_url_.empty()) info["proxy-url"] = proxy_url_;
    info["config"] = nullptr;
    BERTH_ASSIGN_OR_RETURN(const std::vector<Section> extensions, cluster.Objects("extensions"));
    for (const Section& extension : extensions) {
      BERTH_ASSIGN_OR_RETURN(const std::string name, extension.String("name"));
      const value* content = extension.Find("extension");
      if (name == "client.authentication.k8s.io/exec" && content != nullptr) info["config"] = *content;
    }
    return value(std::move(info));
  }

  const KubeconfigOptions& options_;
  const Clock& clock_;
  ClientConfig config_;
  std::string user_;       // for messages: "user "jane" (kubeconfig /home/jane/.kube/config)"
  std::string proxy_url_;  // as in the file, with its password
};

}  // namespace

Expected<ClientConfig> ParseKubeconfig(std::string_view text, const KubeconfigOptions& options, const Clock& clock) {
  const auto fields = ReadKubeconfigFields(text, options.path);
  if (!fields.ok()) return Error{fields.error().code, OneLine(fields.error().message)};
  return Loader(options, clock).Load(&*fields);
}

Expected<ClientConfig> LoadKubeconfig(const KubeconfigOptions& options, const Clock& clock) {
  if (options.path.empty()) {
    if (options.master.empty())
      return InvalidError("no kubeconfig and no master is given; one of them must say where the API server is");
    return Loader(options, clock).Load(nullptr);
  }
  if (const std::vector<std::string> paths = SplitKubeconfigPaths(options.path); paths != std::vector{options.path}) {
    const auto fields = MergeKubeconfigs(paths);
    if (!fields.ok()) return Error{fields.error().code, OneLine(fields.error().message)};
    return Loader(options, clock).Load(&*fields);
  }
  const auto text = ReadSmallFile(options.path, kKubeconfigBytesMax);
  if (!text.ok()) return Error{text.error().code, "kubeconfig " + text.error().message};
  return ParseKubeconfig(*text, options, clock);
}

Expected<ClientConfig> InClusterConfig(const std::function<std::string(std::string_view)>& env, const std::string& root,
                                       const Clock& clock) {
  const std::string host = env("KUBERNETES_SERVICE_HOST");
  const std::string port_text = env("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port_text.empty()) {
    return Error{
        ErrorCode::kNotFound,
        "not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; give a kubeconfig instead"};
  }
  std::uint16_t port = 0;
  const auto [end, problem] = std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
  if (problem != std::errc() || end != port_text.data() + port_text.size() || port == 0) {
    return InvalidError("KUBERNETES_SERVICE_PORT is " + Quoted(port_text) + "; it should be a port number");
  }
  const std::string folder = root + std::string(kServiceAccountFolder);
  ClientConfig config;
  config.server = "https://" + net::JoinHostPort(host, port);
  if (const auto url = net::ParseUrl(config.server); !url.ok()) {
    return InvalidError("KUBERNETES_SERVICE_HOST is " + Quoted(host) + ": " + url.error().message);
  }
  if (const auto token = ReadTokenFile(folder + "token"); !token.ok()) {
    return Error{token.error().code, "service account token: " + token.error().message};
  }
  config.credentials = MakeTokenFileCredentials(folder + "token", "", clock);
  config.when_refused = "the token of the pod's service account (" + folder +
                        "token) is not accepted: it has expired, or the service account was deleted; the file is read "
                        "again, a new pod gets a new one";
  // Without the cluster's own roots those of the system are used, as in client-go.
  if (auto ca = ReadSmallFile(folder + "ca.crt"); ca.ok() && ReadCertificate(*ca).ok()) {
    config.ca_pem = std::move(ca).value();
    config.ca_path = folder + "ca.crt";
  } else {
    config.warnings.push_back(folder +
                              "ca.crt holds no certificate that can be read; only the system's roots are trusted");
  }
  const auto namespace_name = ReadTokenFile(folder + "namespace");
  config.namespace_name = namespace_name.ok() ? *namespace_name : "default";
  return config;
}

}  // namespace berth::client
