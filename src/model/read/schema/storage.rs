//! Volume sources that need a cluster or a storage system. Known, so that they can be refused by name.

use super::Kind::{Bool, List, Map, Object, Quantity, Text, Word};
use super::metadata::{LABEL_SELECTOR, LOCAL_OBJECT_REFERENCE, OBJECT_META};
use super::{ANY_INT, Shape, field, need, shape};

pub static AWS_ELASTIC_BLOCK_STORE_VOLUME_SOURCE: Shape = shape(
    "AWSElasticBlockStoreVolumeSource",
    &[field("fsType", Text), field("partition", ANY_INT), field("readOnly", Bool), need("volumeID", Text)],
);

pub static AZURE_DISK_VOLUME_SOURCE: Shape = shape(
    "AzureDiskVolumeSource",
    &[
        field("cachingMode", Text),
        need("diskName", Text),
        need("diskURI", Text),
        field("fsType", Text),
        field("kind", Text),
        field("readOnly", Bool),
    ],
);

pub static AZURE_FILE_VOLUME_SOURCE: Shape = shape(
    "AzureFileVolumeSource",
    &[field("readOnly", Bool), need("secretName", Text), need("shareName", Text)],
);

pub static CEPH_FS_VOLUME_SOURCE: Shape = shape(
    "CephFSVolumeSource",
    &[
        need("monitors", List(&Text)),
        field("path", Text),
        field("readOnly", Bool),
        field("secretFile", Text),
        field("secretRef", Object(&LOCAL_OBJECT_REFERENCE)),
        field("user", Text),
    ],
);

pub static CINDER_VOLUME_SOURCE: Shape = shape(
    "CinderVolumeSource",
    &[
        field("fsType", Text),
        field("readOnly", Bool),
        field("secretRef", Object(&LOCAL_OBJECT_REFERENCE)),
        need("volumeID", Text),
    ],
);

pub static CSI_VOLUME_SOURCE: Shape = shape(
    "CSIVolumeSource",
    &[
        need("driver", Text),
        field("fsType", Text),
        field("nodePublishSecretRef", Object(&LOCAL_OBJECT_REFERENCE)),
        field("readOnly", Bool),
        field("volumeAttributes", Map(&Text)),
    ],
);

pub static TYPED_LOCAL_OBJECT_REFERENCE: Shape =
    shape("TypedLocalObjectReference", &[field("apiGroup", Text), need("kind", Text), need("name", Text)]);

pub static TYPED_OBJECT_REFERENCE: Shape = shape(
    "TypedObjectReference",
    &[field("apiGroup", Text), need("kind", Text), need("name", Text), field("namespace", Text)],
);

pub static VOLUME_RESOURCE_REQUIREMENTS: Shape = shape(
    "VolumeResourceRequirements",
    &[field("limits", Map(&Quantity)), field("requests", Map(&Quantity))],
);

pub static PERSISTENT_VOLUME_CLAIM_SPEC: Shape = shape(
    "PersistentVolumeClaimSpec",
    &[
        field("accessModes", List(&Text)),
        field("dataSource", Object(&TYPED_LOCAL_OBJECT_REFERENCE)),
        field("dataSourceRef", Object(&TYPED_OBJECT_REFERENCE)),
        field("resources", Object(&VOLUME_RESOURCE_REQUIREMENTS)),
        field("selector", Object(&LABEL_SELECTOR)),
        field("storageClassName", Text),
        field("volumeAttributesClassName", Text),
        field("volumeMode", Word(&["Filesystem", "Block"])),
        field("volumeName", Text),
    ],
);

pub static PERSISTENT_VOLUME_CLAIM_TEMPLATE: Shape = shape(
    "PersistentVolumeClaimTemplate",
    &[field("metadata", Object(&OBJECT_META)), need("spec", Object(&PERSISTENT_VOLUME_CLAIM_SPEC))],
);

pub static EPHEMERAL_VOLUME_SOURCE: Shape = shape(
    "EphemeralVolumeSource",
    &[field("volumeClaimTemplate", Object(&PERSISTENT_VOLUME_CLAIM_TEMPLATE))],
);

pub static FC_VOLUME_SOURCE: Shape = shape(
    "FCVolumeSource",
    &[
        field("fsType", Text),
        field("lun", ANY_INT),
        field("readOnly", Bool),
        field("targetWWNs", List(&Text)),
        field("wwids", List(&Text)),
    ],
);

pub static FLEX_VOLUME_SOURCE: Shape = shape(
    "FlexVolumeSource",
    &[
        need("driver", Text),
        field("fsType", Text),
        field("options", Map(&Text)),
        field("readOnly", Bool),
        field("secretRef", Object(&LOCAL_OBJECT_REFERENCE)),
    ],
);

pub static FLOCKER_VOLUME_SOURCE: Shape =
    shape("FlockerVolumeSource", &[field("datasetName", Text), field("datasetUUID", Text)]);

pub static GCE_PERSISTENT_DISK_VOLUME_SOURCE: Shape = shape(
    "GCEPersistentDiskVolumeSource",
    &[field("fsType", Text), field("partition", ANY_INT), need("pdName", Text), field("readOnly", Bool)],
);

pub static GIT_REPO_VOLUME_SOURCE: Shape = shape(
    "GitRepoVolumeSource",
    &[field("directory", Text), need("repository", Text), field("revision", Text)],
);

pub static GLUSTERFS_VOLUME_SOURCE: Shape =
    shape("GlusterfsVolumeSource", &[need("endpoints", Text), need("path", Text), field("readOnly", Bool)]);

pub static ISCSI_VOLUME_SOURCE: Shape = shape(
    "ISCSIVolumeSource",
    &[
        field("chapAuthDiscovery", Bool),
        field("chapAuthSession", Bool),
        field("fsType", Text),
        field("initiatorName", Text),
        need("iqn", Text),
        field("iscsiInterface", Text),
        need("lun", ANY_INT),
        field("portals", List(&Text)),
        field("readOnly", Bool),
        field("secretRef", Object(&LOCAL_OBJECT_REFERENCE)),
        need("targetPortal", Text),
    ],
);

pub static NFS_VOLUME_SOURCE: Shape =
    shape("NFSVolumeSource", &[need("path", Text), field("readOnly", Bool), need("server", Text)]);

pub static PHOTON_PERSISTENT_DISK_VOLUME_SOURCE: Shape =
    shape("PhotonPersistentDiskVolumeSource", &[field("fsType", Text), need("pdID", Text)]);

pub static PORTWORX_VOLUME_SOURCE: Shape =
    shape("PortworxVolumeSource", &[field("fsType", Text), field("readOnly", Bool), need("volumeID", Text)]);

pub static QUOBYTE_VOLUME_SOURCE: Shape = shape(
    "QuobyteVolumeSource",
    &[
        field("group", Text),
        field("readOnly", Bool),
        need("registry", Text),
        field("tenant", Text),
        field("user", Text),
        need("volume", Text),
    ],
);

pub static RBD_VOLUME_SOURCE: Shape = shape(
    "RBDVolumeSource",
    &[
        field("fsType", Text),
        need("image", Text),
        field("keyring", Text),
        need("monitors", List(&Text)),
        field("pool", Text),
        field("readOnly", Bool),
        field("secretRef", Object(&LOCAL_OBJECT_REFERENCE)),
        field("user", Text),
    ],
);

pub static SCALE_IO_VOLUME_SOURCE: Shape = shape(
    "ScaleIOVolumeSource",
    &[
        field("fsType", Text),
        need("gateway", Text),
        field("protectionDomain", Text),
        field("readOnly", Bool),
        need("secretRef", Object(&LOCAL_OBJECT_REFERENCE)),
        field("sslEnabled", Bool),
        field("storageMode", Text),
        field("storagePool", Text),
        need("system", Text),
        field("volumeName", Text),
    ],
);

pub static STORAGE_OS_VOLUME_SOURCE: Shape = shape(
    "StorageOSVolumeSource",
    &[
        field("fsType", Text),
        field("readOnly", Bool),
        field("secretRef", Object(&LOCAL_OBJECT_REFERENCE)),
        field("volumeName", Text),
        field("volumeNamespace", Text),
    ],
);

pub static VSPHERE_VIRTUAL_DISK_VOLUME_SOURCE: Shape = shape(
    "VsphereVirtualDiskVolumeSource",
    &[
        field("fsType", Text),
        field("storagePolicyID", Text),
        field("storagePolicyName", Text),
        need("volumePath", Text),
    ],
);
