// SPDX-License-Identifier: Apache-2.0
#include "berth/plugins/helper/csi_migration.h"

#include <algorithm>
#include <set>
#include <vector>

#include "berth/base/go_text.h"
namespace berth::plugins {
namespace {

using api::VolumeKind;

struct Migration {
  VolumeKind kind;
  std::string_view plugin;
  std::string_view driver;
  bool is_on;
};
constexpr Migration kMigrations[] = {
    {VolumeKind::kGcePersistentDisk, "kubernetes.io/gce-pd", "pd.csi.storage.gke.io", true},
    {VolumeKind::kAwsElasticBlockStore, "kubernetes.io/aws-ebs", "ebs.csi.aws.com", true},
    {VolumeKind::kCinder, "kubernetes.io/cinder", "cinder.csi.openstack.org", true},
    {VolumeKind::kAzureDisk, "kubernetes.io/azure-disk", "disk.csi.azure.com", true},
    {VolumeKind::kPortworx, "kubernetes.io/portworx-volume", "pxd.portworx.com", true},
    {VolumeKind::kAzureFile, "kubernetes.io/azure-file", "file.csi.azure.com", false},
    {VolumeKind::kVsphere, "kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", false},
};

const Migration* FindPlugin(std::string_view plugin) {
  for (const Migration& migration : kMigrations) {
    if (migration.plugin == plugin) return &migration;
  }
  return nullptr;
}

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Replaces the escapes of a part of a URL.
Expected<std::string> Unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size() || HexValue(text[i + 1]) < 0 || HexValue(text[i + 2]) < 0) {
      return InvalidError("invalid URL escape " + GoQuoted(text.substr(i, 3)));
    }
    out += static_cast<char>(HexValue(text[i + 1]) * 16 + HexValue(text[i + 2]));
    i += 2;
  }
  return out;
}

Expected<void> CheckHost(std::string_view host) {
  if (const std::size_t colon = host.rfind(':'); colon != std::string_view::npos) {
    const std::string_view port = host.substr(colon);
    if (!std::all_of(port.begin() + 1, port.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      return InvalidError("invalid port " + GoQuoted(port) + " after host");
    }
  }
  const std::size_t bad = host.find_first_of(" \\^`{|}");
  if (bad == std::string_view::npos) return {};
  return InvalidError("invalid character " + GoQuoted(host.substr(bad, 1)) + " in host name");
}

// The path of a URL with a scheme and a host, decoded, as far as Go's net/url takes it for one.
Expected<std::string> UrlPath(std::string_view url) {
  url = url.substr(0, url.find('#'));
  const auto failed = [url](const std::string& why) { return InvalidError("parse " + GoQuoted(url) + ": " + why); };
  if (std::any_of(url.begin(), url.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; })) {
    return failed("net/url: invalid control character in URL");
  }
  const std::string_view before_query = url.substr(0, url.find('?'));
  const std::size_t authority = before_query.find("//") + 2;
  const std::size_t slash = std::min(before_query.find('/', authority), before_query.size());
  const auto host = CheckHost(before_query.substr(authority, slash - authority));
  if (!host.ok()) return failed(host.error().message);
  auto path = Unescaped(before_query.substr(slash));
  if (!path.ok()) return failed(path.error().message);
  return path;
}

// An EBS volume is named by its id, or by a URL: aws://ZONE/ID.
Expected<std::string> EbsHandle(const std::string& id) {
  if (!id.starts_with("aws://")) return id;
  const std::string failed = "failed to translate Kubernetes ID to EBS Volume ID ";
  const auto path = UrlPath(id);
  if (!path.ok()) return InvalidError(failed + "Invalid disk name (" + id + "): " + path.error().message);
  const std::size_t begin = path->find_first_not_of('/');
  const std::size_t end = path->find_last_not_of('/');
  const std::string handle = begin == std::string::npos ? std::string() : path->substr(begin, end - begin + 1);
  if (!handle.starts_with("vol-") || handle.find('/') != std::string::npos) {
    return InvalidError(failed + "Invalid format for AWS volume (" + id + ")");
  }
  return handle;
}

bool IsManaged(std::string_view kind) {
  constexpr std::string_view kManaged = "managed";
  return std::equal(kind.begin(), kind.end(), kManaged.begin(), kManaged.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

std::string GceHandle(std::string_view place, std::string_view where, const std::string& disk) {
  return "projects/UNSPECIFIED/" + std::string(place) + "/" + std::string(where) + "/disks/" + disk;
}

constexpr std::string_view kUnspecified = "UNSPECIFIED";

// A disk in several zones is one of their region.
Expected<std::string> GceHandle(const api::PersistentVolume& volume) {
  std::string zones;
  for (const char* label : {"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"}) {
    const std::string* value = volume.metadata.labels.Find(label);
    if (zones.empty() && value != nullptr) zones = *value;
  }
  const std::string& disk = volume.spec.source.id;
  const std::vector<std::string> names = GoSplit(zones, "__");
  if (names.size() == 1) return GceHandle("zones", zones.empty() ? kUnspecified : zones, disk);
  std::set<std::string> regions;
  for (const std::string& zone : names) {
    const std::vector<std::string> parts = GoSplit(zone, "-");
    if (parts.size() != 3) {
      return InvalidError(
          "failed to get region from zones: zone in unexpected format, expected: {locale}-{region}-{zone}, got: " +
          zone);
    }
    regions.insert(parts[0] + "-" + parts[1]);
  }
  if (regions.size() == 1) return GceHandle("regions", *regions.begin(), disk);
  std::string shown;
  for (const std::string& region : regions) shown += (shown.empty() ? "" : " ") + region + ":{}";
  return InvalidError("failed to get region from zones: multiple or no regions gotten from zones, got: map[" + shown +
                      "]");
}

}  // namespace

std::string_view InTreePluginOf(VolumeKind kind) {
  for (const Migration& migration : kMigrations) {
    if (migration.kind == kind) return migration.plugin;
  }
  return {};
}

std::string_view CsiDriverFor(std::string_view in_tree_plugin) {
  const Migration* migration = FindPlugin(in_tree_plugin);
  return migration == nullptr ? std::string_view() : migration->driver;
}

bool IsMigrationOn(std::string_view in_tree_plugin) {
  const Migration* migration = FindPlugin(in_tree_plugin);
  return migration != nullptr && migration->is_on;
}

Expected<std::string> TranslatedHandle(const api::VolumeSource& source) {
  switch (source.kind) {
    case VolumeKind::kAwsElasticBlockStore: return EbsHandle(source.id);
    case VolumeKind::kGcePersistentDisk: return GceHandle("zones", kUnspecified, source.id);
    case VolumeKind::kAzureDisk:
      if (source.disk_kind && !IsManaged(*source.disk_kind)) {
        return InvalidError("kind(" + *source.disk_kind + ") is not supported in csi migration");
      }
      return source.id;
    default: return source.id;
  }
}

Expected<std::string> TranslatedHandle(const api::PersistentVolume& volume) {
  if (volume.spec.source.kind == VolumeKind::kGcePersistentDisk) return GceHandle(volume);
  return TranslatedHandle(volume.spec.source);
}

}  // namespace berth::plugins
