//! Chance, from the kernel: only to spread in time what many agents do.

/// A random number from 0 to 1. Without a kernel that gives one, the middle: spreading is a courtesy, not a need.
pub fn fraction() -> f64 {
    let mut bytes = [0u8; 4];
    match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()) {
        Ok(_) => f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX),
        Err(_) => 0.5,
    }
}
