//! Users, roles and certificates.
