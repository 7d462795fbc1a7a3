//! to be written.
