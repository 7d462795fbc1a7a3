//! Volumes that make sense on one machine, and the list of all sources.

use super::Kind::{Bool, List, Map, Mode, Object, Quantity, Text, Word};
use super::container::{OBJECT_FIELD_SELECTOR, RESOURCE_FIELD_SELECTOR};
use super::metadata::LABEL_SELECTOR;
use super::storage::{
    AWS_ELASTIC_BLOCK_STORE_VOLUME_SOURCE, AZURE_DISK_VOLUME_SOURCE, AZURE_FILE_VOLUME_SOURCE,
    CEPH_FS_VOLUME_SOURCE, CINDER_VOLUME_SOURCE, CSI_VOLUME_SOURCE, EPHEMERAL_VOLUME_SOURCE,
    FC_VOLUME_SOURCE, FLEX_VOLUME_SOURCE, FLOCKER_VOLUME_SOURCE, GCE_PERSISTENT_DISK_VOLUME_SOURCE,
    GIT_REPO_VOLUME_SOURCE, GLUSTERFS_VOLUME_SOURCE, ISCSI_VOLUME_SOURCE, NFS_VOLUME_SOURCE,
    PHOTON_PERSISTENT_DISK_VOLUME_SOURCE, PORTWORX_VOLUME_SOURCE, QUOBYTE_VOLUME_SOURCE, RBD_VOLUME_SOURCE,
    SCALE_IO_VOLUME_SOURCE, STORAGE_OS_VOLUME_SOURCE, VSPHERE_VIRTUAL_DISK_VOLUME_SOURCE,
};
use super::{ANY_INT, COUNT, Shape, field, need, shape};

pub static KEY_TO_PATH: Shape =
    shape("KeyToPath", &[need("key", Text), field("mode", Mode), need("path", Text), field("user", ANY_INT)]);

pub static CONFIG_MAP_VOLUME_SOURCE: Shape = shape(
    "ConfigMapVolumeSource",
    &[
        field("defaultMode", Mode),
        field("defaultUser", ANY_INT),
        field("items", List(&Object(&KEY_TO_PATH))),
        need("name", Text),
        field("optional", Bool),
    ],
);

pub static DOWNWARD_API_VOLUME_FILE: Shape = shape(
    "DownwardAPIVolumeFile",
    &[
        field("fieldRef", Object(&OBJECT_FIELD_SELECTOR)),
        field("mode", Mode),
        need("path", Text),
        field("resourceFieldRef", Object(&RESOURCE_FIELD_SELECTOR)),
        field("user", ANY_INT),
    ],
);

pub static DOWNWARD_API_VOLUME_SOURCE: Shape = shape(
    "DownwardAPIVolumeSource",
    &[
        field("defaultMode", Mode),
        field("defaultUser", ANY_INT),
        field("items", List(&Object(&DOWNWARD_API_VOLUME_FILE))),
    ],
);

pub static EMPTY_DIR_VOLUME_SOURCE: Shape = shape(
    "EmptyDirVolumeSource",
    &[field("medium", Text), field("mode", ANY_INT), field("sizeLimit", Quantity)],
);

pub static HOST_PATH_VOLUME_SOURCE: Shape = shape(
    "HostPathVolumeSource",
    &[
        need("path", Text),
        field(
            "type",
            Word(&[
                "DirectoryOrCreate",
                "Directory",
                "FileOrCreate",
                "File",
                "Socket",
                "CharDevice",
                "BlockDevice",
            ]),
        ),
    ],
);

pub static IMAGE_VOLUME_SOURCE: Shape = shape(
    "ImageVolumeSource",
    &[field("pullPolicy", Word(&["Always", "IfNotPresent", "Never"])), field("reference", Text)],
);

pub static PERSISTENT_VOLUME_CLAIM_VOLUME_SOURCE: Shape =
    shape("PersistentVolumeClaimVolumeSource", &[need("claimName", Text), field("readOnly", Bool)]);

pub static CLUSTER_TRUST_BUNDLE_PROJECTION: Shape = shape(
    "ClusterTrustBundleProjection",
    &[
        field("labelSelector", Object(&LABEL_SELECTOR)),
        field("name", Text),
        field("optional", Bool),
        need("path", Text),
        field("signerName", Text),
        field("user", ANY_INT),
    ],
);

pub static CONFIG_MAP_PROJECTION: Shape = shape(
    "ConfigMapProjection",
    &[field("items", List(&Object(&KEY_TO_PATH))), need("name", Text), field("optional", Bool)],
);

pub static DOWNWARD_API_PROJECTION: Shape =
    shape("DownwardAPIProjection", &[field("items", List(&Object(&DOWNWARD_API_VOLUME_FILE)))]);

pub static SECRET_PROJECTION: Shape = shape(
    "SecretProjection",
    &[field("items", List(&Object(&KEY_TO_PATH))), need("name", Text), field("optional", Bool)],
);

pub static SERVICE_ACCOUNT_TOKEN_PROJECTION: Shape = shape(
    "ServiceAccountTokenProjection",
    &[field("audience", Text), field("expirationSeconds", COUNT), need("path", Text), field("user", ANY_INT)],
);

pub static POD_CERTIFICATE_PROJECTION: Shape = shape(
    "PodCertificateProjection",
    &[
        field("certificateChainPath", Text),
        field("credentialBundlePath", Text),
        field("keyPath", Text),
        need("keyType", Text),
        field("maxExpirationSeconds", ANY_INT),
        need("signerName", Text),
        field("user", ANY_INT),
        field("userAnnotations", Map(&Text)),
    ],
);

pub static VOLUME_PROJECTION: Shape = shape(
    "VolumeProjection",
    &[
        field("clusterTrustBundle", Object(&CLUSTER_TRUST_BUNDLE_PROJECTION)),
        field("configMap", Object(&CONFIG_MAP_PROJECTION)),
        field("downwardAPI", Object(&DOWNWARD_API_PROJECTION)),
        field("podCertificate", Object(&POD_CERTIFICATE_PROJECTION)),
        field("secret", Object(&SECRET_PROJECTION)),
        field("serviceAccountToken", Object(&SERVICE_ACCOUNT_TOKEN_PROJECTION)),
    ],
);

pub static PROJECTED_VOLUME_SOURCE: Shape = shape(
    "ProjectedVolumeSource",
    &[
        field("defaultMode", Mode),
        field("defaultUser", ANY_INT),
        field("sources", List(&Object(&VOLUME_PROJECTION))),
    ],
);

pub static SECRET_VOLUME_SOURCE: Shape = shape(
    "SecretVolumeSource",
    &[
        field("defaultMode", Mode),
        field("defaultUser", ANY_INT),
        field("items", List(&Object(&KEY_TO_PATH))),
        field("optional", Bool),
        field("secretName", Text),
    ],
);

pub static VOLUME: Shape = shape(
    "Volume",
    &[
        field("awsElasticBlockStore", Object(&AWS_ELASTIC_BLOCK_STORE_VOLUME_SOURCE)).by_rule(),
        field("azureDisk", Object(&AZURE_DISK_VOLUME_SOURCE)).by_rule(),
        field("azureFile", Object(&AZURE_FILE_VOLUME_SOURCE)).by_rule(),
        field("cephfs", Object(&CEPH_FS_VOLUME_SOURCE)).by_rule(),
        field("cinder", Object(&CINDER_VOLUME_SOURCE)).by_rule(),
        field("configMap", Object(&CONFIG_MAP_VOLUME_SOURCE)),
        field("csi", Object(&CSI_VOLUME_SOURCE)).by_rule(),
        field("downwardAPI", Object(&DOWNWARD_API_VOLUME_SOURCE)),
        field("emptyDir", Object(&EMPTY_DIR_VOLUME_SOURCE)),
        field("ephemeral", Object(&EPHEMERAL_VOLUME_SOURCE)).by_rule(),
        field("fc", Object(&FC_VOLUME_SOURCE)).by_rule(),
        field("flexVolume", Object(&FLEX_VOLUME_SOURCE)).by_rule(),
        field("flocker", Object(&FLOCKER_VOLUME_SOURCE)).by_rule(),
        field("gcePersistentDisk", Object(&GCE_PERSISTENT_DISK_VOLUME_SOURCE)).by_rule(),
        field("gitRepo", Object(&GIT_REPO_VOLUME_SOURCE)).by_rule(),
        field("glusterfs", Object(&GLUSTERFS_VOLUME_SOURCE)).by_rule(),
        field("hostPath", Object(&HOST_PATH_VOLUME_SOURCE)),
        field("image", Object(&IMAGE_VOLUME_SOURCE)),
        field("iscsi", Object(&ISCSI_VOLUME_SOURCE)).by_rule(),
        need("name", Text),
        field("nfs", Object(&NFS_VOLUME_SOURCE)).by_rule(),
        field("persistentVolumeClaim", Object(&PERSISTENT_VOLUME_CLAIM_VOLUME_SOURCE)),
        field("photonPersistentDisk", Object(&PHOTON_PERSISTENT_DISK_VOLUME_SOURCE)).by_rule(),
        field("portworxVolume", Object(&PORTWORX_VOLUME_SOURCE)).by_rule(),
        field("projected", Object(&PROJECTED_VOLUME_SOURCE)),
        field("quobyte", Object(&QUOBYTE_VOLUME_SOURCE)).by_rule(),
        field("rbd", Object(&RBD_VOLUME_SOURCE)).by_rule(),
        field("scaleIO", Object(&SCALE_IO_VOLUME_SOURCE)).by_rule(),
        field("secret", Object(&SECRET_VOLUME_SOURCE)),
        field("storageos", Object(&STORAGE_OS_VOLUME_SOURCE)).by_rule(),
        field("vsphereVolume", Object(&VSPHERE_VIRTUAL_DISK_VOLUME_SOURCE)).by_rule(),
    ],
);
