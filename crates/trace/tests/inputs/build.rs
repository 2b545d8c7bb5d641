//! Archives made by hand, with contents that no tool would write.

/// A file in a zip.
pub struct Zipped<'a> {
    pub name: &'a [u8],
    pub flags: u16,
    pub method: u16,
    pub crc: u32,
    pub bytes: &'a [u8],
    /// The size in the header.
    pub size: u32,
    pub unpacked: u32,
    pub extra: &'a [u8],
}

impl<'a> Zipped<'a> {
    pub fn stored(name: &'a [u8], bytes: &'a [u8]) -> Zipped<'a> {
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        Zipped {
            name,
            flags: 0,
            method: 0,
            crc: crc.sum(),
            bytes,
            size: bytes.len() as u32,
            unpacked: bytes.len() as u32,
            extra: b"",
        }
    }

    pub fn deflated(name: &'a [u8], bytes: &'a [u8], packed: &'a [u8]) -> Zipped<'a> {
        Zipped {
            method: 8,
            bytes: packed,
            size: packed.len() as u32,
            ..Zipped::stored(name, bytes)
        }
    }

    /// Header and bytes.
    pub fn local(&self) -> Vec<u8> {
        let mut out = b"PK\x03\x04\x14\0".to_vec();
        out.extend(self.flags.to_le_bytes());
        out.extend(self.method.to_le_bytes());
        out.extend([0; 4]);
        out.extend(self.crc.to_le_bytes());
        out.extend(self.size.to_le_bytes());
        out.extend(self.unpacked.to_le_bytes());
        out.extend((self.name.len() as u16).to_le_bytes());
        out.extend((self.extra.len() as u16).to_le_bytes());
        out.extend(self.name);
        out.extend(self.extra);
        out.extend(self.bytes);
        out
    }
}

pub fn deflate(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), Default::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A directory of these members, whose local headers are at these positions.
pub fn directory(at: usize, members: &[(usize, &Zipped<'_>)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (local, member) in members {
        out.extend(b"PK\x01\x02\x14\0\x14\0");
        out.extend(member.flags.to_le_bytes());
        out.extend(member.method.to_le_bytes());
        out.extend([0; 4]);
        out.extend(member.crc.to_le_bytes());
        out.extend(member.size.to_le_bytes());
        out.extend(member.unpacked.to_le_bytes());
        out.extend((member.name.len() as u16).to_le_bytes());
        out.extend([0; 12]);
        out.extend((*local as u32).to_le_bytes());
        out.extend(member.name);
    }
    let size = out.len();
    out.extend(b"PK\x05\x06\0\0\0\0");
    let count = members.len() as u16;
    out.extend(count.to_le_bytes());
    out.extend(count.to_le_bytes());
    out.extend((size as u32).to_le_bytes());
    out.extend((at as u32).to_le_bytes());
    out.extend([0; 2]);
    out
}

/// A zip of stored files, with its directory.
pub fn zip(files: &[(&[u8], &[u8])]) -> Vec<u8> {
    let members: Vec<_> = files.iter().map(|(name, bytes)| Zipped::stored(name, bytes)).collect();
    let mut out = Vec::new();
    let mut places = Vec::new();
    for member in &members {
        places.push((out.len(), member));
        out.extend(member.local());
    }
    let directory = directory(out.len(), &places);
    out.extend(directory);
    out
}

/// The header of a file in a tar; some fields are changed before its checksum is computed.
pub fn header(name: &[u8], size: u64, kind: u8, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut out = vec![0; 512];
    out[..name.len().min(100)].copy_from_slice(&name[..name.len().min(100)]);
    out[100..108].copy_from_slice(b"0000644\0");
    out[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    out[156] = kind;
    out[257..265].copy_from_slice(b"ustar\x0000");
    change(&mut out);
    out[148..156].fill(b' ');
    let sum: u32 = out.iter().map(|&byte| u32::from(byte)).sum();
    out[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    out
}

/// Header and bytes of any entry in a tar.
pub fn entry(name: &[u8], kind: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = header(name, bytes.len() as u64, kind, |_| {});
    out.extend(bytes);
    out.resize(out.len().next_multiple_of(512), 0);
    out
}

/// A tar of files, with its end.
pub fn tar(files: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut out: Vec<u8> =
        files.iter().flat_map(|(name, bytes)| entry(name, b'0', bytes)).collect();
    out.extend([0; 1024]);
    out
}

/// A record of pax.
pub fn pax(key: &str, value: &[u8]) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let mut length = rest;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    let mut out = format!("{length} {key}=").into_bytes();
    out.extend(value);
    out.push(b'\n');
    out
}
