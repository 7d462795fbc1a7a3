//! Addresses that no manifest is read from unless it is allowed.
//!
//! Pure. Every cloud serves the machine's own credentials at a link-local address, so a name that leads there, by
//! mistake or by somebody's hand on the DNS, must not be asked. The address that is connected to decides, not the name:
//! a name may resolve to something else a moment later.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Metadata services outside the link-local ranges: AWS by IPv6, Alibaba Cloud, Oracle Cloud.
const METADATA: [IpAddr; 3] = [
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
];

/// Link-local, or a cloud's metadata service.
pub fn is_link_local(address: IpAddr) -> bool {
    let address = match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => behind(v6).map_or(address, IpAddr::V4),
    };
    let link_local = match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    link_local || METADATA.contains(&address)
}

/// The IPv4 address that an IPv6 one stands for: mapped (RFC 4291, 2.5.5.2), compatible (2.5.5.1), or behind the
/// well-known prefix of a translator (RFC 6052).
fn behind(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let low = |[a, b]: [u16; 2]| {
        let ([a, b], [c, d]) = (a.to_be_bytes(), b.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, a, b] | [0x64, 0xff9b, 0, 0, 0, 0, a, b] => Some(low([a, b])),
        [0, 0, 0, 0, 0, 0, a, b] if a != 0 => Some(low([a, b])),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h9_link_local_addresses_are_known_in_every_dress() {
        for address in [
            "169.254.169.254",
            "169.254.0.1",
            "::ffff:169.254.169.254",
            "::169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "fe80::1",
            "febf::1",
            "fd00:ec2::254",
            "100.100.100.200",
            "::ffff:100.100.100.200",
        ] {
            assert!(is_link_local(address.parse().unwrap()), "{address}");
        }
        for address in
            ["127.0.0.1", "::1", "::", "10.0.0.1", "169.253.0.1", "192.168.1.1", "fec0::1", "2001:db8::1"]
        {
            assert!(!is_link_local(address.parse().unwrap()), "{address}");
        }
    }
}
