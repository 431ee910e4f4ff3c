// SPDX-License-Identifier: Apache-2.0
#include "berth/shell/client/kubeconfig.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/base64.h"
#include "berth/shell/client/client_fakes.h"
#include "berth/shell/client/test_files.h"
#include "berth/shell/net/test_certificates.h"

namespace berth::client {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What Get gives, waiting for a plugin's thread.
Expected<std::string> Wait(Credentials& credentials) {
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<Expected<std::string>> result;
  };
  const auto shared = std::make_shared<Shared>();
  credentials.Get([shared](Expected<std::string> r) {
    const std::lock_guard lock(shared->mutex);
    shared->result = std::move(r);
    shared->changed.notify_all();
  });
  std::unique_lock lock(shared->mutex);
  if (!shared->changed.wait_for(lock, seconds(60), [&] { return shared->result.has_value(); })) {
    return Error{ErrorCode::kTimeout, "the test waited in vain"};
  }
  return *shared->result;
}

// A kubeconfig with one context; `cluster` and `user` are the lines of these sections.
std::string Config(const std::string& cluster, const std::string& user) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: main\n"
         "contexts:\n- name: main\n  context: {cluster: c, user: u, namespace: team}\n"
         "clusters:\n- name: c\n  cluster: {" +
         cluster +
         "}\n"
         "users:\n- name: u\n  user: {" +
         user + "}\n";
}
const std::string kServer = "server: \"https://10.0.0.1:6443\"";

class KubeconfigTest : public ::testing::Test {
 protected:
  Expected<ClientConfig> Load(const std::string& text, KubeconfigOptions options = {}) {
    options.path = folder.Write("config", text);
    return LoadKubeconfig(options, clock);
  }
  std::string AuthorizationOf(const Expected<ClientConfig>& config) {
    if (!config.ok()) return config.error().message;
    const auto result = Wait(*config->credentials);
    return result.ok() ? *result : result.error().message;
  }

  TempFolder folder;
  SettableClock clock;
};

TEST_F(KubeconfigTest, PicksTheContext) {
  const std::string text = R"(
apiVersion: v1
kind: Config
preferences: {colors: true}
something-new: [1, 2]
current-context: b
contexts:
- {name: a, context: {cluster: one, user: x}}
- {name: b, context: {cluster: two, user: z, namespace: team}}
- {name: nobody, context: {cluster: one}}
clusters:
- {name: one, cluster: {server: "http://one:8001/"}}
- {name: two, cluster: {server: "https://two/prefix", insecure-skip-tls-verify: true, tls-server-name: kube, disable-compression: true}}
users:
- {name: x, user: {token: tx}}
- {name: z, user: {username: me, password: "se:cret"}}
)";
  auto config = Load(text);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->server, "https://two/prefix");
  EXPECT_EQ(config->namespace_name, "team");
  EXPECT_TRUE(config->insecure_skip_tls_verify);
  EXPECT_EQ(config->tls_server_name, "kube");
  EXPECT_EQ(AuthorizationOf(config), "Basic " + EncodeBase64("me:se:cret"));

  config = Load(text, {.context = "a"});
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->server, "http://one:8001");
  EXPECT_EQ(config->namespace_name, "default");
  EXPECT_EQ(AuthorizationOf(config), "") << "anybody could read a token on its way to a plain http server";
  ASSERT_EQ(config->warnings.size(), 1U);
  EXPECT_EQ(config->warnings[0],
            "no credentials are sent to http://one:8001, which is not encrypted; use an https:// server");
  EXPECT_FALSE(config->credentials->HasClientCertificate());

  config = Load(text, {.context = "nobody"});
  EXPECT_EQ(AuthorizationOf(config), "");

  config = Load(text, {.context = "a", .master = "127.0.0.1:9"});
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->server, "http://127.0.0.1:9");
  EXPECT_EQ(AuthorizationOf(config), "");
  config = Load(text, {.context = "a", .master = "https://127.0.0.1:9"});
  EXPECT_EQ(AuthorizationOf(config), "Bearer tx");
}

TEST_F(KubeconfigTest, TakesAMasterAlone) {
  const auto config = LoadKubeconfig({.master = "http://127.0.0.1:8001"}, clock);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->server, "http://127.0.0.1:8001");
  EXPECT_EQ(AuthorizationOf(config), "");
  const auto beside_file = Load("", {.master = "http://127.0.0.1:8001"});
  EXPECT_TRUE(beside_file.ok());
}

TEST_F(KubeconfigTest, SaysWhoseCredentialIsRefused) {
  const std::string token_file = folder.Write("token", "t");
  const std::string path = folder.Path("config");
  const struct {
    std::string user;
    std::string want;
  } cases[] = {
      {"token: t", "the token of user \"u\" (kubeconfig " + path +
                       ") is wrong or has expired; put a new one there and start again"},
      {"tokenFile: " + token_file, "the token of user \"u\" (kubeconfig " + path + ") in file " + token_file +
                                       " is wrong or has expired; put a new one there, it is read again"},
      {"username: a, password: b", "the username or password of user \"u\" (kubeconfig " + path + ") is wrong"},
      {"exec: {apiVersion: client.authentication.k8s.io/v1, command: aws, interactiveMode: Never}",
       "what credential plugin aws gives for user \"u\" (kubeconfig " + path +
           ") is not accepted; log in again with it"},
      {"", "user \"u\" (kubeconfig " + path + ") has no credential; give it a token"},
  };
  for (const auto& c : cases) {
    const auto config = Load(Config(kServer, c.user));
    ASSERT_TRUE(config.ok()) << config.error().message;
    EXPECT_THAT(config->when_refused, ::testing::StartsWith(c.want));
  }
  EXPECT_THAT(LoadKubeconfig({.master = "https://127.0.0.1:8001"}, clock)->when_refused,
              HasSubstr("no kubeconfig names a user; --kubeconfig FILE does"));
  EXPECT_THAT(Load(Config("server: \"http://10.0.0.1\"", "token: t"))->when_refused,
              HasSubstr("no credentials are sent to http://10.0.0.1"));
}

TEST_F(KubeconfigTest, ReadsImpersonation) {
  const auto config =
      Load(Config(kServer, R"(token: t, as: jane, as-uid: "7", as-groups: [dev, ops], as-user-extra: {"a/b": [x]})"));
  ASSERT_TRUE(config.ok()) << config.error().message;
  std::vector<std::string> headers;
  for (const auto& header : config->headers) headers.push_back(header.name + ": " + header.value);
  EXPECT_THAT(headers, ElementsAre("Impersonate-User: jane", "Impersonate-Uid: 7", "Impersonate-Group: dev",
                                   "Impersonate-Group: ops", "Impersonate-Extra-a%2Fb: x"));
}

// Each is one line that names the file, what is wrong, and what would be right.
TEST_F(KubeconfigTest, SaysWhatIsWrong) {
  struct Case {
    const char* name;
    std::string text;
    const char* message;
  };
  const std::string exec = "exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Never";
  const Case cases[] = {
      {"not YAML", "a: [", "config: "},
      {"a text", "hello", "it should be a map"},
      {"a path with a line break", Config(kServer + ", certificate-authority: \"a\\nb\"", ""),
       "certificate-authority cannot be read: "},
      {"empty", "", "current-context is not set"},
      {"wrong kind", "kind: Pod", R"(kind is "Pod"; it should be Config)"},
      {"wrong version", "apiVersion: v2", R"(apiVersion is "v2"; it should be v1)"},
      {"unknown context", "current-context: x\ncontexts: [{name: a}, {name: b}]",
       R"(contexts has no "x", which is the current-context; it has "a", "b")"},
      {"no contexts", "current-context: x", "it has none at all"},
      {"contexts no list", "current-context: x\ncontexts: {}", "contexts should be a list"},
      {"context twice", "current-context: x\ncontexts: [{name: x}, {name: x}]",
       R"(contexts[1].name "x" is there twice)"},
      {"context without cluster", "current-context: x\ncontexts: [{name: x, context: {user: u}}]",
       "contexts[0].context.cluster is not set"},
      {"unknown cluster", "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]",
       R"(clusters has no "c", which context "x" names)"},
      {"unknown user",
       "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {" +
           kServer + "}}]",
       R"(users has no "u")"},
      {"no server", Config("", ""), "clusters[0].cluster.server is not set; it should be like https://host:6443"},
      {"server is a number", Config("server: 5", ""), "server should be a string"},
      {"bad server", Config("server: \"ftp://x\"", ""), R"(server is "ftp://x": )"},
      {"proxy without a scheme", Config(kServer + ", proxy-url: \"p:3128\"", ""),
       R"(clusters[0].cluster.proxy-url: invalid proxy URL "p:3128": it must begin with http://)"},
      {"proxy with a bad port", Config(kServer + ", proxy-url: \"http://u:secret@p:x\"", ""),
       R"(proxy-url: invalid proxy URL "http://p:x": its port must be a number)"},
      {"proxy that client-go does not take", Config(kServer + ", proxy-url: \"socks5h://u:secret@p\"", ""),
       R"(proxy-url is "socks5h://p:1080"; it should begin with socks5://)"},
      {"proxy is a number", Config(kServer + ", proxy-url: 5", ""), "proxy-url should be a string"},
      {"bad flag", Config(kServer + ", insecure-skip-tls-verify: maybe", ""),
       "insecure-skip-tls-verify should be true or false"},
      {"CA file missing", Config(kServer + ", certificate-authority: none.crt", ""),
       "certificate-authority cannot be read: "},
      {"CA no base64", Config(kServer + ", certificate-authority-data: \"%%\"", ""),
       "certificate-authority-data should be base64"},
      {"CA no certificate", Config(kServer + ", certificate-authority-data: aGVsbG8=", ""),
       "certificate-authority-data holds no PEM certificate"},
      {"CA twice", Config(kServer + ", certificate-authority: a, certificate-authority-data: aGVsbG8=", ""),
       "are both set; remove one"},
      {"token is a number", Config(kServer, "token: 5"),
       "users[0].user.token should be a string; put quotes around it"},
      {"token of two lines", Config(kServer, "token: \"a\\nb\""), "token has a line break"},
      {"two ways in", Config(kServer, "token: t, username: u"), "only one way to authenticate"},
      {"token file missing", Config(kServer, "tokenFile: none"), "tokenFile cannot be read: "},
      {"auth provider", Config(kServer, "auth-provider: {name: gcp}"), "auth-provider is no longer supported"},
      {"certificate without key", Config(kServer, "client-certificate-data: aGVsbG8="), "is set without a client-key"},
      {"key without certificate", Config(kServer, "client-key-data: aGVsbG8="), "is set without a client-certificate"},
      {"certificate no PEM", Config(kServer, "client-certificate-data: aGVsbG8=, client-key-data: aGVsbG8="),
       "holds no PEM certificate"},
      {"groups without user", Config(kServer, "as-groups: [a]"), "they need a user"},
      {"exec without command", Config(kServer, "exec: {apiVersion: client.authentication.k8s.io/v1}"),
       "exec.command is not set"},
      {"exec of an old version",
       Config(kServer, "exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: x}"), "v1 or v1beta1"},
      {"exec without mode", Config(kServer, "exec: {apiVersion: client.authentication.k8s.io/v1, command: x}"),
       "it should be Never, IfAvailable or Always"},
      {"exec args", Config(kServer, exec + ", args: [5]}"), "exec.args should be a list of strings"},
      {"exec env", Config(kServer, exec + ", env: [{value: v}]}"),
       "exec.env[0].name should be the name of an environment variable"},
      {"user no map",
       "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {" +
           kServer + "}}]\nusers: [{name: u, user: [1]}]",
       "users[0].user should be a map"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto config = Load(c.text);
    ASSERT_FALSE(config.ok());
    EXPECT_THAT(config.error().message, ::testing::StartsWith("kubeconfig " + folder.Path("config") + ": "));
    EXPECT_THAT(config.error().message, HasSubstr(c.message));
    EXPECT_EQ(config.error().message.find('\n'), std::string::npos);
  }
}

TEST_F(KubeconfigTest, ReadsProxyUrls) {
  struct Case {
    std::string url;
    std::string want;  // empty: none
  };
  const Case cases[] = {{"", ""},
                        {"http://u:secret@proxy.example:3128", "http://proxy.example:3128"},
                        {"HTTPS://proxy.example", "https://proxy.example:443"},
                        {"socks5://10.0.0.9", "socks5://10.0.0.9:1080"}};
  for (const Case& c : cases) {
    const auto config = Load(Config(kServer + ", proxy-url: \"" + c.url + '"', ""));
    ASSERT_TRUE(config.ok()) << c.url << ": " << config.error().message;
    EXPECT_EQ(config->proxy ? config->proxy->shown : "", c.want) << c.url;
    // As in client-go, --master replaces the server's address only.
    const auto with_master = Load(Config("proxy-url: \"" + c.url + '"', ""), {.master = "http://127.0.0.1:8001"});
    ASSERT_TRUE(with_master.ok()) << c.url << ": " << with_master.error().message;
    EXPECT_EQ(with_master->proxy ? with_master->proxy->shown : "", c.want) << c.url;
  }
}

// A list of files, as in kubectl's variable KUBECONFIG.
TEST_F(KubeconfigTest, ReadsSeveralFilesAsOne) {
  const std::string first = folder.Write("first/config", R"(
current-context: both
contexts:
- {name: both, context: {cluster: one, user: x}}
users:
- {name: x, user: {tokenFile: token}}
)");
  folder.Write("first/token", "of-first");
  const std::string second = folder.Write("second/config", R"(
current-context: other
clusters:
- {name: one, cluster: {server: "https://two:6443"}}
users:
- {name: x, user: {token: of-second}}
- {name: z, user: {token: of-z}}
contexts:
- {name: other, context: {cluster: one, user: z}}
)");
  const std::string paths = first + "::" + folder.Path("none") + ":" + second;
  const auto config = LoadKubeconfig({paths, "", ""}, clock);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->server, "https://two:6443");
  EXPECT_EQ(AuthorizationOf(config), "Bearer of-first") << "the first file has the last word, in its own folder";
  const std::string relative =
      std::filesystem::relative(first).string() + ':' + std::filesystem::relative(second).string();
  EXPECT_EQ(AuthorizationOf(LoadKubeconfig({relative, "", ""}, clock)), "Bearer of-first");
  EXPECT_EQ(AuthorizationOf(LoadKubeconfig({paths, "other", ""}, clock)), "Bearer of-z");
  EXPECT_THAT(LoadKubeconfig({paths, "nobody", ""}, clock).error().message, HasSubstr("it has \"both\", \"other\""));
  folder.Write("second/config", "clusters: [");
  EXPECT_THAT(LoadKubeconfig({paths, "", ""}, clock).error().message, HasSubstr("kubeconfig " + second + ": line 1"));
  folder.Write("second/config", "clusters: {}");
  EXPECT_THAT(LoadKubeconfig({paths, "", ""}, clock).error().message, HasSubstr("clusters should be a list"));
  // A file may have a colon in its name.
  folder.Write("a:b", Config("server: \"https://colon\"", "token: t"));
  EXPECT_EQ(LoadKubeconfig({folder.Path("a:b"), "", ""}, clock)->server, "https://colon");
}

TEST_F(KubeconfigTest, SaysThatAFileIsNotThere) {
  const auto config = LoadKubeconfig({.path = folder.Path("none")}, clock);
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.error().message, "kubeconfig " + folder.Path("none") + ": no such file or directory");
  EXPECT_FALSE(LoadKubeconfig({}, clock).ok());
}

TEST_F(KubeconfigTest, ReadsClientCertificates) {
  const net::Certificate certificate({.common_name = "admin", .ends = hours(24 * 100)});
  folder.Write("pki/a.crt", certificate.pem());
  folder.Write("pki/a.key", certificate.key_pem());
  folder.Write("pki/ca.crt", certificate.pem());

  // Paths start from the kubeconfig's folder, and the files are read again for each connection.
  auto config = Load(
      Config(kServer + ", certificate-authority: pki/ca.crt", "client-certificate: pki/a.crt, client-key: pki/a.key"));
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->ca_pem, certificate.pem());
  EXPECT_THAT(config->warnings, IsEmpty());
  ASSERT_TRUE(config->credentials->HasClientCertificate());
  EXPECT_EQ(config->credentials->ClientCertificatePem().value(), std::pair(certificate.pem(), certificate.key_pem()));
  EXPECT_EQ(AuthorizationOf(config), "");
  const net::Certificate renewed({.common_name = "admin"});
  folder.Write("pki/a.crt", renewed.pem());
  EXPECT_EQ(config->credentials->ClientCertificatePem()->first, renewed.pem());
  std::filesystem::remove(folder.Path("pki/a.crt"));
  EXPECT_FALSE(config->credentials->ClientCertificatePem().ok());

  // Inline, and beside a token.
  const std::string pair = "client-certificate-data: " + EncodeBase64(certificate.pem()) +
                           ", client-key-data: " + EncodeBase64(certificate.key_pem());
  config = Load(Config(kServer, pair + ", token: t"));
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->credentials->ClientCertificatePem()->first, certificate.pem());
  EXPECT_EQ(AuthorizationOf(config), "Bearer t");

  const net::Certificate other({});
  config = Load(Config(kServer, "client-certificate-data: " + EncodeBase64(certificate.pem()) +
                                    ", client-key-data: " + EncodeBase64(other.key_pem())));
  ASSERT_FALSE(config.ok());
  EXPECT_THAT(config.error().message, HasSubstr("client-key-data does not belong to the client certificate"));
  config = Load(
      Config(kServer, "client-certificate-data: " + EncodeBase64(certificate.pem()) + ", client-key-data: aGVsbG8="));
  ASSERT_FALSE(config.ok());
  EXPECT_THAT(config.error().message, HasSubstr("client-key-data holds no PEM private key"));
  config = Load(Config(kServer + ", insecure-skip-tls-verify: true, certificate-authority: pki/ca.crt", ""));
  ASSERT_FALSE(config.ok());
  EXPECT_THAT(config.error().message, HasSubstr("remove one of them"));
}

TEST_F(KubeconfigTest, LooksAtTheCertificatesDates) {
  const net::Certificate certificate({.common_name = "admin", .begins = hours(1), .ends = hours(24 * 100)});
  const std::string text = Config(kServer, "client-certificate-data: " + EncodeBase64(certificate.pem()) +
                                               ", client-key-data: " + EncodeBase64(certificate.key_pem()));
  EXPECT_THAT(Load(text)->warnings, ElementsAre(HasSubstr("(CN=admin) is not valid before ")));
  clock.Advance(hours(2));
  EXPECT_THAT(Load(text)->warnings, IsEmpty());
  clock.Advance(hours(24 * 95));
  EXPECT_THAT(Load(text)->warnings, ElementsAre(HasSubstr("(CN=admin) expires soon, at ")));
  clock.Advance(hours(24 * 5));
  const auto config = Load(text);
  ASSERT_FALSE(config.ok());
  EXPECT_THAT(config.error().message, HasSubstr("users[0].user.client-certificate-data (CN=admin) expired at "));
  EXPECT_THAT(config.error().message, HasSubstr("renew it"));
}

TEST_F(KubeconfigTest, ReadsTokenFilesAgain) {
  folder.Write("token", " first\n");
  const auto config = Load(Config(kServer, "tokenFile: token"));
  EXPECT_EQ(AuthorizationOf(config), "Bearer first");
  folder.Write("token", "second");
  clock.Advance(seconds(59));
  EXPECT_EQ(AuthorizationOf(config), "Bearer first");
  clock.Advance(seconds(1));
  EXPECT_EQ(AuthorizationOf(config), "Bearer second");
  // While the file cannot be read the last token stays.
  folder.Write("token", "");
  clock.Advance(seconds(60));
  EXPECT_EQ(AuthorizationOf(config), "Bearer second");
  // After a refusal the file is read at once.
  folder.Write("token", "third");
  EXPECT_TRUE(config->credentials->Invalidate("Bearer second"));
  EXPECT_EQ(AuthorizationOf(config), "Bearer third");
  EXPECT_FALSE(config->credentials->Invalidate("Bearer third")) << "nothing newer is there";
  EXPECT_TRUE(config->credentials->Invalidate("Bearer second")) << "there is a newer one already";
  // `token` is the first token if the file does not exist yet.
  const auto both = Load(Config(kServer, "token: t, tokenFile: none"));
  EXPECT_EQ(AuthorizationOf(both), "Bearer t");
  // A missing file must not look like a missing object.
  const auto gone = Load(Config(kServer, "tokenFile: token"));
  std::filesystem::remove(folder.Path("token"));
  gone->credentials->Get([](const Expected<std::string>& authorization) {
    ASSERT_FALSE(authorization.ok());
    EXPECT_EQ(authorization.error().code, ErrorCode::kUnavailable);
  });
}

// ---- credential plugins

class ExecTest : public KubeconfigTest {
 protected:
  // A plugin that counts its runs in the file "runs".
  Expected<ClientConfig> WithPlugin(const std::string& script, const std::string& more = "",
                                    const std::string& cluster = "") {
    folder.Write("bin/plugin", "#!/bin/sh\necho x >> \"$(dirname \"$0\")/../runs\"\n" + script, 0700);
    return Load(
        Config(kServer + cluster,
               "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: bin/plugin" +
                   more + "}"));
  }
  std::size_t Runs() const {
    std::error_code none;
    const auto size = std::filesystem::file_size(folder.Path("runs"), none);
    return none ? 0 : size / 2;
  }
  static std::string Print(const std::string& status) {
    return "echo '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{" +
           status + "}}'\n";
  }
};

TEST_F(ExecTest, GivesTheTokenUntilItExpires) {
  const Time expiration = clock.Now() + hours(1);
  const auto config = WithPlugin(Print(R"("token":"tok","expirationTimestamp":")" + FormatRfc3339(expiration) + '"'));
  EXPECT_EQ(Runs(), 0U) << "not before it is needed";
  EXPECT_EQ(AuthorizationOf(config), "Bearer tok");
  EXPECT_EQ(AuthorizationOf(config), "Bearer tok");
  EXPECT_EQ(Runs(), 1U);
  EXPECT_TRUE(config->credentials->Invalidate("Bearer tok"));
  EXPECT_EQ(AuthorizationOf(config), "Bearer tok");
  EXPECT_EQ(Runs(), 2U);
  EXPECT_TRUE(config->credentials->Invalidate("Bearer older"));
  EXPECT_EQ(AuthorizationOf(config), "Bearer tok");
  EXPECT_EQ(Runs(), 2U);
  clock.Advance(hours(1));
  EXPECT_THAT(AuthorizationOf(config), HasSubstr("expired at"));
  EXPECT_EQ(Runs(), 3U);
}

TEST_F(ExecTest, InheritsNothingButItsOwnPipes) {
  // Stands for a descriptor that a library has left open without close-on-exec.
  const int left_open = ::socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_GE(left_open, 0);
  const auto config = WithPlugin("ls -l /proc/self/fd > \"$(dirname \"$0\")/fds\"\n" + Print(R"("token":"tok")"));
  for (const std::size_t run : {1U, 2U}) {
    EXPECT_EQ(AuthorizationOf(config), "Bearer tok");
    ASSERT_EQ(Runs(), run);
    std::ifstream file(folder.Path("bin/fds"));
    const std::string listed((std::istreambuf_iterator<char>(file)), {});
    EXPECT_THAT(listed, HasSubstr(" 1 -> "));
    EXPECT_THAT(listed, ::testing::Not(HasSubstr("socket:"))) << "run " << run;
    EXPECT_TRUE(config->credentials->Invalidate("Bearer tok"));
  }
  ::close(left_open);
}

TEST_F(ExecTest, GivesTheClientCertificate) {
  const auto config = WithPlugin(Print(R"("clientCertificateData":"CERT","clientKeyData":"KEY")"));
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_TRUE(config->credentials->HasClientCertificate());
  EXPECT_EQ(AuthorizationOf(config), "");
  EXPECT_EQ(config->credentials->ClientCertificatePem().value(), std::pair(std::string("CERT"), std::string("KEY")));
}

TEST_F(ExecTest, PassesThePluginWhatItMayKnow) {
  // The token is made of what the plugin sees.
  const std::string script =
      "cat > /dev/null\n"
      "printf '%s' \"$KUBERNETES_EXEC_INFO\" > \"$(dirname \"$0\")/info\"\n" +
      Print("\"token\":\"'\"$1-$2-$EXTRA\"'\"");
  const net::Certificate ca({.is_authority = true});
  auto config = WithPlugin(script, ", args: [get, token], env: [{name: EXTRA, value: v}], provideClusterInfo: true",
                           ", certificate-authority-data: " + EncodeBase64(ca.pem()) +
                               ", proxy-url: \"http://u:p@proxy\", tls-server-name: kube, extensions: [{name: "
                               "client.authentication.k8s.io/exec, extension: {audience: a}}]");
  EXPECT_EQ(AuthorizationOf(config), "Bearer get-token-v");
  const auto read = [&] {
    std::ifstream file(folder.Path("bin/info"));
    return codec::ParseJson(std::string{std::istreambuf_iterator<char>(file), {}});
  };
  const auto want = codec::ParseJson(
      R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"interactive":false,
    "cluster":{"server":"https://10.0.0.1:6443","proxy-url":"http://u:p@proxy","tls-server-name":"kube","config":{"audience":"a"},"certificate-authority-data":")" +
      EncodeBase64(ca.pem()) + "\"}}}");
  ASSERT_TRUE(read().ok());
  EXPECT_EQ(*read(), *want);
  config = WithPlugin(script);
  EXPECT_EQ(AuthorizationOf(config), "Bearer --");
  EXPECT_EQ(codec::WriteJson(*read()),
            R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"interactive":false}})");
}

TEST_F(ExecTest, SaysHowAPluginFailed) {
  struct Case {
    const char* name;
    std::string script;
    const char* message;
  };
  const Case cases[] = {
      {"exit code", "echo you must log in >&2; exit 3\n", "exited with code 3: you must log in"},
      {"signal", "kill -9 $$\n", "was ended by signal 9"},
      {"nothing", "", "incomplete JSON"},
      {"no JSON", "echo hello\n", "printed: "},
      {"another kind", "echo '{\"kind\":\"Pod\"}'\n", "its kind is not ExecCredential"},
      {"another version",
       "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1beta1\"}'\n",
       "its apiVersion is"},
      {"no status", "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\"}'\n",
       "it has no status"},
      {"nothing to show", Print(""), "status has neither token nor"},
      {"half a pair", Print(R"("clientCertificateData":"C")"), "it needs both or none"},
      {"token of another type", Print(R"("token":5)"), "status.token should be a string"},
      {"bad time", Print(R"("token":"t","expirationTimestamp":"tomorrow")"), "it should be like 2026-01-02T15:04:05Z"},
      {"expired", Print(R"("token":"t","expirationTimestamp":"2001-01-01T00:00:00Z")"),
       "gave a credential that expired at 2001-01-01"},
      {"endless",
       "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done\n",
       "printed more than 1048576 bytes"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const std::string message = AuthorizationOf(WithPlugin(c.script));
    EXPECT_THAT(message, HasSubstr("plugin"));
    EXPECT_THAT(message, HasSubstr(c.message));
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
  const auto missing =
      Load(Config(kServer,
                  "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: berth-no-such-plugin, "
                  "installHint: \"get it from\\nthe moon\"}"));
  EXPECT_THAT(AuthorizationOf(missing), ::testing::AllOf(HasSubstr("berth-no-such-plugin"), HasSubstr("No such file"),
                                                         HasSubstr("get it from the moon")));
}

TEST_F(ExecTest, DoesNotStartABrokenPluginForEachRequest) {
  const auto config = WithPlugin("exit 1\n");
  for (int i = 0; i < 5; ++i) EXPECT_THAT(AuthorizationOf(config), HasSubstr("exited with code 1"));
  EXPECT_EQ(Runs(), 1U);
  clock.Advance(seconds(1));
  EXPECT_THAT(AuthorizationOf(config), HasSubstr("exited with code 1"));
  EXPECT_EQ(Runs(), 2U);
}

TEST_F(ExecTest, RunsOnceForAllWhoWait) {
  const auto config =
      WithPlugin("while [ ! -e \"$(dirname \"$0\")/go\" ]; do sleep 0.01; done\n" + Print(R"("token":"t")"));
  ASSERT_TRUE(config.ok());
  std::mutex mutex;
  std::condition_variable changed;
  int answered = 0;
  for (int i = 0; i < 10; ++i) {
    config->credentials->Get([&](Expected<std::string> r) {
      const std::lock_guard lock(mutex);
      answered += r.ok() && *r == "Bearer t" ? 1 : 0;
      changed.notify_all();
    });
  }
  folder.Write("bin/go", "");
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, seconds(60), [&] { return answered == 10; }));
  EXPECT_EQ(Runs(), 1U);
}

ExecPlugin Sleeper(const TempFolder& folder) {
  ExecPlugin plugin;
  plugin.api_version = "client.authentication.k8s.io/v1";
  plugin.interactive = ExecPlugin::Interactive::kNever;
  // A grandchild keeps the pipe open: it must be ended too.
  plugin.command = folder.Write(
      "sleeper", "#!/bin/sh\necho working >&2\nsleep 1000 &\ntouch \"$(dirname \"$0\")/started\"\nwait\n", 0700);
  return plugin;
}

TEST_F(ExecTest, EndsAPluginThatTakesTooLong) {
  ExecPlugin plugin = Sleeper(folder);
  plugin.time_limit = std::chrono::milliseconds(200);
  const auto credentials = MakeExecCredentials(plugin, clock);
  const auto result = Wait(*credentials);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("gave no answer within 200ms and was ended"));

  clock.Advance(std::chrono::minutes(1));  // the failure is kept for a while
  EXPECT_THAT(Wait(*credentials).error().message, HasSubstr("within 300ms")) << "it may only be slow";
}

TEST_F(ExecTest, EndsAPluginThatGoesOnComplaining) {
  ExecPlugin plugin = Sleeper(folder);
  plugin.command = folder.Write("chatter", "#!/bin/sh\nwhile :; do echo still here >&2; done\n", 0700);
  plugin.time_limit = std::chrono::milliseconds(200);
  const auto credentials = MakeExecCredentials(plugin, clock);
  const auto result = Wait(*credentials);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("gave no answer within 200ms and was ended: "));
}

TEST_F(ExecTest, EndsWithItsOwner) {
  auto credentials = MakeExecCredentials(Sleeper(folder), clock);
  std::optional<Expected<std::string>> result;
  credentials->Get([&](Expected<std::string> r) { result = std::move(r); });
  credentials.reset();  // Joins the plugin's thread, so that `result` may be read without a lock.
  ASSERT_TRUE(result && !result->ok());
  EXPECT_EQ(result->error().code, ErrorCode::kCancelled);
}

TEST_F(ExecTest, LeavesTheLastWordToAToken) {
  folder.Write("bin/plugin", "#!/bin/sh\nexit 1\n", 0700);
  const auto config = Load(Config(
      kServer,
      "token: t, exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: bin/plugin}"));
  EXPECT_EQ(AuthorizationOf(config), "Bearer t");
}

// ---- in the cluster

TEST_F(KubeconfigTest, FindsItselfInACluster) {
  const std::string account = "var/run/secrets/kubernetes.io/serviceaccount/";
  const net::Certificate ca({.is_authority = true});
  std::map<std::string, std::string, std::less<>> variables;
  const auto env = [&](std::string_view name) {
    const auto it = variables.find(name);
    return it == variables.end() ? std::string() : it->second;
  };
  const std::string root = folder.Path("");
  auto config = InClusterConfig(env, root.substr(0, root.size() - 1), clock);
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(config.error().message, HasSubstr("KUBERNETES_SERVICE_HOST"));

  variables = {{"KUBERNETES_SERVICE_HOST", "fd00::1"}, {"KUBERNETES_SERVICE_PORT", "443"}};
  config = InClusterConfig(env, root.substr(0, root.size() - 1), clock);
  ASSERT_FALSE(config.ok());
  EXPECT_THAT(config.error().message, HasSubstr("service account token: " + folder.Path(account + "token")));

  folder.Write(account + "token", "t1");
  folder.Write(account + "namespace", "kube-system");
  config = InClusterConfig(env, root.substr(0, root.size() - 1), clock);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->server, "https://[fd00::1]:443");
  EXPECT_EQ(config->namespace_name, "kube-system");
  EXPECT_THAT(config->warnings, ElementsAre(HasSubstr("ca.crt")));
  EXPECT_EQ(AuthorizationOf(config), "Bearer t1");
  folder.Write(account + "token", "t2");
  clock.Advance(seconds(60));
  EXPECT_EQ(AuthorizationOf(config), "Bearer t2");

  folder.Write(account + "ca.crt", ca.pem());
  config = InClusterConfig(env, root.substr(0, root.size() - 1), clock);
  EXPECT_EQ(config->ca_pem, ca.pem());
  EXPECT_THAT(config->warnings, IsEmpty());

  for (const char* port : {"x", "0", "70000", "44 3"}) {
    variables["KUBERNETES_SERVICE_PORT"] = port;
    config = InClusterConfig(env, root.substr(0, root.size() - 1), clock);
    ASSERT_FALSE(config.ok()) << port;
    EXPECT_THAT(config.error().message, HasSubstr("it should be a port number"));
  }
}

}  // namespace
}  // namespace berth::client
