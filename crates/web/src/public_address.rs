//! Decides if a network address is public. Separate from the URL, because a name says nothing about where it leads:
//! every answer of the resolver is judged here before a connection is made.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// First address and length of the prefix. From IANA's registry of special-purpose addresses, and what clouds add.
const CLOSED_V4: &[([u8; 4], u32)] = &[
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    // Azure's host answers here with certificates and settings, although the address looks public.
    ([168, 63, 129, 16], 32),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
];

/// The one block that holds public addresses. Loopback, mapped and translated IPv4, unique-local, link-local and
/// multicast all lie outside it.
const OPEN_V6: (u16, u32) = (0x2000, 3);

/// Ranges of that block that are not public: protocol assignments with Teredo, documentation, 6to4.
const CLOSED_V6: &[([u16; 2], u32)] = &[
    ([0x2001, 0x0000], 23),
    ([0x2001, 0x0db8], 32),
    ([0x2002, 0x0000], 16),
    ([0x3fff, 0x0000], 20),
];

/// True if anybody on the internet could reach it, so that reaching it gives nobody more than they have.
#[must_use]
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let bits = address.to_bits();
    let within = |(first, length): &([u8; 4], u32)| {
        let shift = 32 - length;
        bits >> shift == u32::from_be_bytes(*first) >> shift
    };
    !CLOSED_V4.iter().any(within)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let bits = u32::from(first) << 16 | u32::from(second);
    let within = |[first, second]: [u16; 2], length: u32| {
        let shift = 32 - length;
        bits >> shift == (u32::from(first) << 16 | u32::from(second)) >> shift
    };
    within([OPEN_V6.0, 0], OPEN_V6.1)
        && !CLOSED_V6
            .iter()
            .any(|(prefix, length)| within(*prefix, *length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn public(text: &str) -> bool {
        is_public(text.parse().unwrap_or_else(|_| panic!("{text}")))
    }

    #[test]
    fn n1_no_address_of_a_private_place_is_public() {
        for closed in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "168.63.129.16",
            "169.254.169.254",
            "169.254.170.2",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.255.255.250",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "64:ff9b::7f00:1",
            "64:ff9b:1::a00:1",
            "100::1",
            "2001::1",
            "2001:0:53aa:64c:0:7fff:fd3a:1",
            "2001:20::1",
            "2001:1ff::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "4000::1",
        ] {
            assert!(!public(closed), "{closed}");
        }
    }

    #[test]
    fn the_internet_is_public() {
        for open in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "140.82.112.3",
            "168.63.129.15",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.1",
            "192.167.255.255",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2001:200::1",
            "2001:4860:4860::8888",
            "2606:4700::1111",
            "2a00:1450:4001::1",
        ] {
            assert!(public(open), "{open}");
        }
    }
}
