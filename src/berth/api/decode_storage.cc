// Volumes wherever they appear, and the storage kinds.
#include "berth/api/decode.h"
#include "berth/api/decode_internal.h"

namespace berth::api {
namespace internal {
namespace {

// The members of a volume source that tell it from others of its kind.
struct SourceShape {
  std::string_view member;
  VolumeKind kind;
  std::string_view id;            // the member that is VolumeSource::id; empty: none
  std::string_view id_part = {};  // a second one that belongs to it
};
constexpr SourceShape kSourceShapes[] = {
    {"persistentVolumeClaim", VolumeKind::kPersistentVolumeClaim, "claimName"},
    {"ephemeral", VolumeKind::kEphemeral, ""},
    {"csi", VolumeKind::kCsi, "volumeHandle"},
    {"local", VolumeKind::kLocal, "path"},
    {"gcePersistentDisk", VolumeKind::kGcePersistentDisk, "pdName"},
    {"awsElasticBlockStore", VolumeKind::kAwsElasticBlockStore, "volumeID"},
    {"iscsi", VolumeKind::kIscsi, "iqn"},
    {"rbd", VolumeKind::kRbd, "image"},
    {"azureDisk", VolumeKind::kAzureDisk, "diskURI"},
    {"azureFile", VolumeKind::kAzureFile, "secretName", "shareName"},
    {"cinder", VolumeKind::kCinder, "volumeID"},
    {"portworxVolume", VolumeKind::kPortworx, "volumeID"},
    {"vsphereVolume", VolumeKind::kVsphere, "volumePath"},
};

}  // namespace

bool Decoder::Source(std::string_view key, element value, const Path& path, VolumeSource& out) {
  const SourceShape* shape = nullptr;
  for (const SourceShape& each : kSourceShapes) {
    if (each.member == key) shape = &each;
  }
  if (shape == nullptr || value.is_null()) return true;
  out = VolumeSource{.kind = shape->kind};
  std::string part;
  const bool is_good = Object(value, path, [&](std::string_view name, element item) {
    const Path at = path.Field(name);
    if (name == shape->id) return String(item, at, out.id);
    if (!shape->id_part.empty() && name == shape->id_part) return String(item, at, part);
    if (Is(name, "readOnly")) return Boolean(item, at, out.read_only);
    if (out.kind == VolumeKind::kCsi) return !Is(name, "driver") || String(item, at, out.driver);
    if (out.kind == VolumeKind::kAzureDisk) return !Is(name, "kind") || String(item, at, out.disk_kind);
    if (out.kind != VolumeKind::kRbd) return true;
    if (Is(name, "pool")) return String(item, at, out.pool);
    return !Is(name, "monitors") || Strings(item, at, out.monitors);
  });
  if (!shape->id_part.empty()) out.id += '#' + part;
  return is_good;
}

namespace {

class StorageDecoder : public Decoder {
 public:
  using Decoder::Decoder;

  Expected<std::shared_ptr<const PersistentVolume>> Volume(element object) {
    return Whole<PersistentVolume>(
        object, [this](PersistentVolume& out, std::string_view key, element value, const Path& path) {
          if (Is(key, "spec")) return VolumeSpec(value, path, out.spec);
          return !Is(key, "status") || Phase(value, path, out.phase);
        });
  }

  Expected<std::shared_ptr<const PersistentVolumeClaim>> Claim(element object) {
    return Whole<PersistentVolumeClaim>(
        object, [this](PersistentVolumeClaim& out, std::string_view key, element value, const Path& path) {
          if (Is(key, "spec")) return ClaimSpec(value, path, out);
          return !Is(key, "status") || Phase(value, path, out.phase);
        });
  }

  Expected<std::shared_ptr<const StorageClass>> Class(element object) {
    return Whole<StorageClass>(
        object, [this](StorageClass& out, std::string_view key, element value, const Path& path) {
          if (Is(key, "provisioner")) return String(value, path, out.provisioner);
          if (Is(key, "volumeBindingMode")) return String(value, path, out.volume_binding_mode);
          return !Is(key, "allowedTopologies") ||
                 List(value, path, out.allowed_topologies, [this](auto&&... args) { return TopologyTerm(args...); });
        });
  }

  Expected<std::shared_ptr<const CsiNode>> Node(element object) {
    return Whole<CsiNode>(object, [this](CsiNode& out, std::string_view key, element value, const Path& path) {
      if (!Is(key, "spec")) return true;
      return Object(value, path, [&](std::string_view name, element item) {
        return !Is(name, "drivers") ||
               List(item, path.Field(name), out.drivers, [this](auto&&... args) { return NodeDriver(args...); });
      });
    });
  }

  Expected<std::shared_ptr<const CsiDriver>> Driver(element object) {
    return Whole<CsiDriver>(object, [this](CsiDriver& out, std::string_view key, element value, const Path& path) {
      if (!Is(key, "spec")) return true;
      return Object(value, path, [&](std::string_view name, element item) {
        return !Is(name, "storageCapacity") || Boolean(item, path.Field(name), out.storage_capacity);
      });
    });
  }

  Expected<std::shared_ptr<const CsiStorageCapacity>> Capacity(element object) {
    return Whole<CsiStorageCapacity>(
        object, [this](CsiStorageCapacity& out, std::string_view key, element value, const Path& path) {
          if (Is(key, "nodeTopology")) return Selector(value, path, out.node_topology);
          if (Is(key, "storageClassName")) return String(value, path, out.storage_class_name);
          if (Is(key, "capacity")) return QuantityField(value, path, out.capacity);
          return !Is(key, "maximumVolumeSize") || QuantityField(value, path, out.maximum_volume_size);
        });
  }

  Expected<std::shared_ptr<const VolumeAttachment>> Attachment(element object) {
    return Whole<VolumeAttachment>(
        object, [this](VolumeAttachment& out, std::string_view key, element value, const Path& path) {
          return !Is(key, "spec") || Object(value, path, [&](std::string_view name, element item) {
            const Path at = path.Field(name);
            if (Is(name, "attacher")) return String(item, at, out.attacher);
            if (Is(name, "nodeName")) return String(item, at, out.node_name);
            return !Is(name, "source") || AttachmentSource(item, at, out);
          });
        });
  }

 private:
  bool Phase(element value, const Path& path, std::string& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      return !Is(key, "phase") || String(item, path.Field(key), out);
    });
  }

  bool VolumeSpec(element value, const Path& path, PersistentVolumeSpec& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "capacity")) return Resources(item, at, out.capacity);
      if (Is(key, "accessModes")) return Strings(item, at, out.access_modes);
      if (Is(key, "storageClassName")) return String(item, at, out.storage_class_name);
      if (Is(key, "volumeMode")) return String(item, at, out.volume_mode);
      if (Is(key, "volumeAttributesClassName")) return String(item, at, out.volume_attributes_class_name);
      if (Is(key, "nodeAffinity")) {
        return Object(item, at, [&](std::string_view name, element field) {
          return !Is(name, "required") || NodeTerms(field, at.Field(name), out.node_affinity);
        });
      }
      if (Is(key, "claimRef")) return item.is_null() || Reference(item, at, out.claim_ref.emplace());
      return Source(key, item, at, out.source);
    });
  }

  bool Reference(element value, const Path& path, ClaimReference& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "namespace")) return String(item, at, out.namespace_name);
      if (Is(key, "name")) return String(item, at, out.name);
      return !Is(key, "uid") || String(item, at, out.uid);
    });
  }

  bool ClaimSpec(element value, const Path& path, PersistentVolumeClaim& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "storageClassName")) return String(item, at, out.storage_class_name);
      if (Is(key, "accessModes")) return Strings(item, at, out.access_modes);
      if (Is(key, "selector")) return Selector(item, at, out.selector);
      if (Is(key, "resources")) return Requests(item, at, out.requests);
      if (Is(key, "volumeName")) return String(item, at, out.volume_name);
      if (Is(key, "volumeMode")) return String(item, at, out.volume_mode);
      return !Is(key, "volumeAttributesClassName") || String(item, at, out.volume_attributes_class_name);
    });
  }

  bool TopologyTerm(element value, const Path& path, std::vector<TopologySelectorRequirement>& out) {
    return Object(value, path, [&](std::string_view key, element list) {
      if (!Is(key, "matchLabelExpressions")) return true;
      return List(list, path.Field(key), out, [this](element item, const Path& at, TopologySelectorRequirement& slot) {
        return Object(item, at, [&](std::string_view name, element field) {
          if (Is(name, "key")) return String(field, at.Field(name), slot.key);
          return !Is(name, "values") || Strings(field, at.Field(name), slot.values);
        });
      });
    });
  }

  bool NodeDriver(element value, const Path& path, CsiNodeDriver& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "name")) return String(item, at, out.name);
      if (Is(key, "nodeID")) return String(item, at, out.node_id);
      if (Is(key, "topologyKeys")) return Strings(item, at, out.topology_keys);
      return !Is(key, "allocatable") || Object(item, at, [&](std::string_view name, element field) {
        return !Is(name, "count") || Int32(field, at.Field(name), out.allocatable_count);
      });
    });
  }

  bool AttachmentSource(element value, const Path& path, VolumeAttachment& out) {
    return Object(value, path, [&](std::string_view key, element item) {
      const Path at = path.Field(key);
      if (Is(key, "persistentVolumeName")) return String(item, at, out.persistent_volume_name);
      if (!Is(key, "inlineVolumeSpec") || item.is_null()) return true;
      return VolumeSpec(item, at, out.inline_volume_spec.emplace());
    });
  }
};

}  // namespace
}  // namespace internal

using internal::StorageDecoder;

Expected<std::shared_ptr<const PersistentVolume>> DecodePersistentVolume(simdjson::dom::element object) {
  return StorageDecoder("PersistentVolume").Volume(object);
}
Expected<std::shared_ptr<const PersistentVolumeClaim>> DecodePersistentVolumeClaim(simdjson::dom::element object) {
  return StorageDecoder("PersistentVolumeClaim").Claim(object);
}
Expected<std::shared_ptr<const StorageClass>> DecodeStorageClass(simdjson::dom::element object) {
  return StorageDecoder("StorageClass").Class(object);
}
Expected<std::shared_ptr<const CsiNode>> DecodeCsiNode(simdjson::dom::element object) {
  return StorageDecoder("CSINode").Node(object);
}
Expected<std::shared_ptr<const CsiDriver>> DecodeCsiDriver(simdjson::dom::element object) {
  return StorageDecoder("CSIDriver").Driver(object);
}
Expected<std::shared_ptr<const CsiStorageCapacity>> DecodeCsiStorageCapacity(simdjson::dom::element object) {
  return StorageDecoder("CSIStorageCapacity").Capacity(object);
}
Expected<std::shared_ptr<const VolumeAttachment>> DecodeVolumeAttachment(simdjson::dom::element object) {
  return StorageDecoder("VolumeAttachment").Attachment(object);
}

}  // namespace berth::api
