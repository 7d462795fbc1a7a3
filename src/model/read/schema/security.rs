//! Security contexts of pods and containers.

use super::Kind::{Bool, List, Object, Text, Word};
use super::{ID, NOT_WINDOWS, Shape, field, need, shape};

pub static APP_ARMOR_PROFILE: Shape = shape(
    "AppArmorProfile",
    &[field("localhostProfile", Text), need("type", Word(&["RuntimeDefault", "Localhost", "Unconfined"]))],
);

pub static CAPABILITIES: Shape =
    shape("Capabilities", &[field("add", List(&Text)), field("drop", List(&Text))]);

pub static SE_LINUX_OPTIONS: Shape = shape(
    "SELinuxOptions",
    &[field("level", Text), field("role", Text), field("type", Text), field("user", Text)],
);

pub static SECCOMP_PROFILE: Shape = shape(
    "SeccompProfile",
    &[field("localhostProfile", Text), need("type", Word(&["RuntimeDefault", "Localhost", "Unconfined"]))],
);

pub static WINDOWS_SECURITY_CONTEXT_OPTIONS: Shape = shape(
    "WindowsSecurityContextOptions",
    &[
        field("gmsaCredentialSpec", Text),
        field("gmsaCredentialSpecName", Text),
        field("hostProcess", Bool),
        field("runAsUserName", Text),
    ],
);

pub static SECURITY_CONTEXT: Shape = shape(
    "SecurityContext",
    &[
        field("allowPrivilegeEscalation", Bool).not_yet().unless(&["true"]),
        field("appArmorProfile", Object(&APP_ARMOR_PROFILE)).not_yet(),
        field("capabilities", Object(&CAPABILITIES)).not_yet(),
        field("privileged", Bool).not_yet().unless(&["false"]),
        field("procMount", Word(&["Default", "Unmasked"])).not_yet().unless(&["Default"]),
        field("readOnlyRootFilesystem", Bool).not_yet().unless(&["false"]),
        field("runAsGroup", ID).not_yet(),
        field("runAsNonRoot", Bool).not_yet().unless(&["false"]),
        field("runAsUser", ID).not_yet(),
        field("seLinuxOptions", Object(&SE_LINUX_OPTIONS)).not_yet(),
        field("seccompProfile", Object(&SECCOMP_PROFILE)).not_yet(),
        field("windowsOptions", Object(&WINDOWS_SECURITY_CONTEXT_OPTIONS)).refused(NOT_WINDOWS),
    ],
);

pub static SYSCTL: Shape = shape("Sysctl", &[need("name", Text), field("value", Text)]);

pub static POD_SECURITY_CONTEXT: Shape = shape(
    "PodSecurityContext",
    &[
        field("appArmorProfile", Object(&APP_ARMOR_PROFILE)).not_yet(),
        field("fsGroup", ID).not_yet(),
        field("fsGroupChangePolicy", Word(&["OnRootMismatch", "Always"])).not_yet(),
        field("runAsGroup", ID).not_yet(),
        field("runAsNonRoot", Bool).not_yet().unless(&["false"]),
        field("runAsUser", ID).not_yet(),
        field("seLinuxChangePolicy", Word(&["Recursive", "MountOption"])).not_yet(),
        field("seLinuxOptions", Object(&SE_LINUX_OPTIONS)).not_yet(),
        field("seccompProfile", Object(&SECCOMP_PROFILE)).not_yet(),
        field("supplementalGroups", List(&ID)).not_yet(),
        field("supplementalGroupsPolicy", Word(&["Merge", "Strict"])).not_yet(),
        field("sysctls", List(&Object(&SYSCTL))).not_yet(),
        field("windowsOptions", Object(&WINDOWS_SECURITY_CONTEXT_OPTIONS)).refused(NOT_WINDOWS),
    ],
);
