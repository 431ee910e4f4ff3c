// Volumes wherever they appear, and the storage kinds.
#include "berth/api/decode_protobuf.h"
#include "berth/api/decode_protobuf_internal.h"

namespace berth::api {
namespace internal {

// The numbers of the fields that tell a volume source from others of its kind; 0: there is none.
struct ProtobufDecoder::SourceShape {
  std::string_view member;
  VolumeKind kind;
  std::uint32_t in_pod;         // the source's own number in core/v1 VolumeSource
  std::uint32_t in_persistent;  // and in PersistentVolumeSource
  std::uint32_t id;
  std::uint32_t read_only;
  std::uint32_t id_part = 0;  // a second part of the id
  std::uint32_t driver = 0;
  std::uint32_t disk_kind = 0;
  std::uint32_t pool = 0;
  std::uint32_t monitors = 0;
};

const ProtobufDecoder::SourceShape* ProtobufDecoder::FindSource(std::uint32_t number, bool is_persistent) {
  static constexpr SourceShape kShapes[] = {
      {"persistentVolumeClaim", VolumeKind::kPersistentVolumeClaim, 10, 0, 1, 2},
      {"ephemeral", VolumeKind::kEphemeral, 29, 0, 0, 0},
      {.member = "csi",
       .kind = VolumeKind::kCsi,
       .in_pod = 28,
       .in_persistent = 0,
       .id = 0,
       .read_only = 2,
       .driver = 1},
      {.member = "csi",
       .kind = VolumeKind::kCsi,
       .in_pod = 0,
       .in_persistent = 22,
       .id = 2,
       .read_only = 3,
       .driver = 1},
      {"local", VolumeKind::kLocal, 0, 20, 1, 0},
      {"gcePersistentDisk", VolumeKind::kGcePersistentDisk, 3, 1, 1, 4},
      {"awsElasticBlockStore", VolumeKind::kAwsElasticBlockStore, 4, 2, 1, 4},
      {"iscsi", VolumeKind::kIscsi, 8, 7, 2, 6},
      {.member = "rbd",
       .kind = VolumeKind::kRbd,
       .in_pod = 11,
       .in_persistent = 6,
       .id = 2,
       .read_only = 8,
       .pool = 4,
       .monitors = 1},
      {.member = "azureDisk",
       .kind = VolumeKind::kAzureDisk,
       .in_pod = 22,
       .in_persistent = 16,
       .id = 2,
       .read_only = 5,
       .disk_kind = 6},
      {.member = "azureFile",
       .kind = VolumeKind::kAzureFile,
       .in_pod = 18,
       .in_persistent = 13,
       .id = 1,
       .read_only = 3,
       .id_part = 2},
      {"cinder", VolumeKind::kCinder, 13, 8, 1, 3},
      {"portworxVolume", VolumeKind::kPortworx, 24, 18, 1, 3},
      {"vsphereVolume", VolumeKind::kVsphere, 20, 14, 1, 0},
  };
  for (const SourceShape& shape : kShapes) {
    if ((is_persistent ? shape.in_persistent : shape.in_pod) == number) return &shape;
  }
  return nullptr;
}

bool ProtobufDecoder::Source(const Field& in, const SourceShape& shape, VolumeSource& out) {
  out = VolumeSource{.kind = shape.kind};
  std::string_view part_of_id;
  const bool is_good = Message(in, [&](const Field& part) {
    const std::uint32_t number = part.number();
    if (number == shape.id) return String(part, out.id);
    if (number == shape.id_part) return View(part, part_of_id);
    if (number == shape.read_only) return Boolean(part, out.read_only) || At("readOnly");
    if (number == shape.driver) return String(part, out.driver) || At("driver");
    if (number == shape.disk_kind) return String(part, out.disk_kind) || At("kind");
    if (number == shape.pool) return String(part, out.pool) || At("pool");
    return number != shape.monitors || Append(part, out.monitors, "monitors");
  });
  if (shape.id_part != 0) out.id.append("#").append(part_of_id);
  return is_good || At(shape.member);
}

namespace {

class StorageDecoder : public ProtobufDecoder {
 public:
  using ProtobufDecoder::ProtobufDecoder;

  Expected<std::shared_ptr<const PersistentVolume>> Volume(std::string_view raw) {
    return Whole<PersistentVolume>(raw, [this](PersistentVolume& out, const Field& in) {
      if (in.number() == 2) return VolumeSpec(in, out.spec) || At("spec");
      return in.number() != 3 || Phase(in, out.phase) || At("status");
    });
  }

  Expected<std::shared_ptr<const PersistentVolumeClaim>> Claim(std::string_view raw) {
    return Whole<PersistentVolumeClaim>(raw, [this](PersistentVolumeClaim& out, const Field& in) {
      if (in.number() == 2) return ClaimSpec(in, out) || At("spec");
      return in.number() != 3 || Phase(in, out.phase) || At("status");
    });
  }

  Expected<std::shared_ptr<const StorageClass>> Class(std::string_view raw) {
    return Whole<StorageClass>(raw, [this](StorageClass& out, const Field& in) {
      switch (in.number()) {
        case 2: return String(in, out.provisioner) || At("provisioner");
        case 7: return String(in, out.volume_binding_mode) || At("volumeBindingMode");
        case 8:
          return Append(in, out.allowed_topologies, "allowedTopologies",
                        [this](auto&&... args) { return TopologyTerm(args...); });
        default: return true;
      }
    });
  }

  Expected<std::shared_ptr<const CsiNode>> Node(std::string_view raw) {
    return Whole<CsiNode>(raw, [this](CsiNode& out, const Field& in) {
      if (in.number() != 2) return true;
      const bool is_good = Message(in, [&](const Field& part) {
        return part.number() != 1 ||
               Append(part, out.drivers, "drivers", [this](auto&&... args) { return NodeDriver(args...); });
      });
      return is_good || At("spec");
    });
  }

  Expected<std::shared_ptr<const CsiDriver>> Driver(std::string_view raw) {
    return Whole<CsiDriver>(raw, [this](CsiDriver& out, const Field& in) {
      if (in.number() != 2) return true;
      const bool is_good = Message(in, [&](const Field& part) {
        return part.number() != 4 || Boolean(part, out.storage_capacity) || At("storageCapacity");
      });
      return is_good || At("spec");
    });
  }

  Expected<std::shared_ptr<const CsiStorageCapacity>> Capacity(std::string_view raw) {
    return Whole<CsiStorageCapacity>(raw, [this](CsiStorageCapacity& out, const Field& in) {
      switch (in.number()) {
        case 2: return Selector(in, out.node_topology) || At("nodeTopology");
        case 3: return String(in, out.storage_class_name) || At("storageClassName");
        case 4: return QuantityField(in, out.capacity) || At("capacity");
        case 5: return QuantityField(in, out.maximum_volume_size) || At("maximumVolumeSize");
        default: return true;
      }
    });
  }

  Expected<std::shared_ptr<const VolumeAttachment>> Attachment(std::string_view raw) {
    return Whole<VolumeAttachment>(raw, [this](VolumeAttachment& out, const Field& in) {
      return in.number() != 2 || AttachmentSpec(in, out) || At("spec");
    });
  }

 private:
  bool Phase(const Field& in, std::string& out) {
    return Message(in, [&](const Field& part) { return part.number() != 1 || String(part, out) || At("phase"); });
  }

  bool VolumeSpec(const Field& in, PersistentVolumeSpec& out) {
    const bool is_good = Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return Entry(part, out.capacity, "capacity");
        case 2:
          return Message(part, [&](const Field& source) {
            const SourceShape* shape = FindSource(source.number(), true);
            return shape == nullptr || Source(source, *shape, out.source);
          });
        case 3: return Append(part, out.access_modes, "accessModes");
        case 4: return Reference(part, out.claim_ref.emplace()) || At("claimRef");
        case 6: return String(part, out.storage_class_name) || At("storageClassName");
        case 8: return String(part, out.volume_mode) || At("volumeMode");
        case 9: return Affinity(part, out.node_affinity) || At("nodeAffinity");
        case 10: return String(part, out.volume_attributes_class_name) || At("volumeAttributesClassName");
        default: return true;
      }
    });
    SortMap(out.capacity);
    return is_good;
  }

  bool Affinity(const Field& in, std::optional<std::vector<NodeSelectorTerm>>& out) {
    return Message(in, [&](const Field& part) { return part.number() != 1 || NodeTerms(part, out) || At("required"); });
  }

  bool Reference(const Field& in, ClaimReference& out) {
    return Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 2: return String(part, out.namespace_name) || At("namespace");
        case 3: return String(part, out.name) || At("name");
        case 4: return String(part, out.uid) || At("uid");
        default: return true;
      }
    });
  }

  bool ClaimSpec(const Field& in, PersistentVolumeClaim& out) {
    return Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return Append(part, out.access_modes, "accessModes");
        case 2: return Requests(part, out.requests) || At("resources");
        case 3: return String(part, out.volume_name) || At("volumeName");
        case 4: return Selector(part, out.selector) || At("selector");
        case 5: return String(part, out.storage_class_name) || At("storageClassName");
        case 6: return String(part, out.volume_mode) || At("volumeMode");
        case 9: return String(part, out.volume_attributes_class_name) || At("volumeAttributesClassName");
        default: return true;
      }
    });
  }

  bool TopologyTerm(const Field& in, std::vector<TopologySelectorRequirement>& out) {
    return Message(in, [&](const Field& part) {
      return part.number() != 1 ||
             Append(part, out, "matchLabelExpressions", [this](const Field& item, TopologySelectorRequirement& slot) {
               return Message(item, [&](const Field& each) {
                 if (each.number() == 1) return String(each, slot.key) || At("key");
                 return each.number() != 2 || Append(each, slot.values, "values");
               });
             });
    });
  }

  bool NodeDriver(const Field& in, CsiNodeDriver& out) {
    return Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return String(part, out.name) || At("name");
        case 2: return String(part, out.node_id) || At("nodeID");
        case 3: return Append(part, out.topology_keys, "topologyKeys");
        case 4: {
          const bool is_good = Message(part, [&](const Field& each) {
            return each.number() != 1 || Int32(each, out.allocatable_count) || At("count");
          });
          return is_good || At("allocatable");
        }
        default: return true;
      }
    });
  }

  bool AttachmentSpec(const Field& in, VolumeAttachment& out) {
    return Message(in, [&](const Field& part) {
      switch (part.number()) {
        case 1: return String(part, out.attacher) || At("attacher");
        case 2: return AttachmentSource(part, out) || At("source");
        case 3: return String(part, out.node_name) || At("nodeName");
        default: return true;
      }
    });
  }

  bool AttachmentSource(const Field& in, VolumeAttachment& out) {
    return Message(in, [&](const Field& part) {
      if (part.number() == 1) return String(part, out.persistent_volume_name) || At("persistentVolumeName");
      return part.number() != 2 || VolumeSpec(part, out.inline_volume_spec.emplace()) || At("inlineVolumeSpec");
    });
  }
};

}  // namespace
}  // namespace internal

using internal::StorageDecoder;

Expected<std::shared_ptr<const PersistentVolume>> DecodePersistentVolumeProtobuf(std::string_view raw) {
  return StorageDecoder("PersistentVolume").Volume(raw);
}
Expected<std::shared_ptr<const PersistentVolumeClaim>> DecodePersistentVolumeClaimProtobuf(std::string_view raw) {
  return StorageDecoder("PersistentVolumeClaim").Claim(raw);
}
Expected<std::shared_ptr<const StorageClass>> DecodeStorageClassProtobuf(std::string_view raw) {
  return StorageDecoder("StorageClass").Class(raw);
}
Expected<std::shared_ptr<const CsiNode>> DecodeCsiNodeProtobuf(std::string_view raw) {
  return StorageDecoder("CSINode").Node(raw);
}
Expected<std::shared_ptr<const CsiDriver>> DecodeCsiDriverProtobuf(std::string_view raw) {
  return StorageDecoder("CSIDriver").Driver(raw);
}
Expected<std::shared_ptr<const CsiStorageCapacity>> DecodeCsiStorageCapacityProtobuf(std::string_view raw) {
  return StorageDecoder("CSIStorageCapacity").Capacity(raw);
}
Expected<std::shared_ptr<const VolumeAttachment>> DecodeVolumeAttachmentProtobuf(std::string_view raw) {
  return StorageDecoder("VolumeAttachment").Attachment(raw);
}

}  // namespace berth::api
