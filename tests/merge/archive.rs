//! Members of the archives of the tests, and archives of members: a zip by its central directory,
//! a tar of plain headers.

use std::io::{Read, Write};

/// A file among the inputs, under its name.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    pub name: String,
    pub bytes: Vec<u8>,
}

impl File {
    pub fn new(name: &str, bytes: impl Into<Vec<u8>>) -> File {
        File { name: name.to_owned(), bytes: bytes.into() }
    }
}

pub fn members(archive: &[u8]) -> Vec<File> {
    if archive.starts_with(b"PK") { zip_members(archive) } else { tar_members(archive) }
}

fn number(bytes: &[u8], at: usize, length: usize) -> usize {
    let bytes = bytes[at..at + length].iter().rev();
    bytes.fold(0, |number, byte| number << 8 | usize::from(*byte))
}

fn zip_members(zip: &[u8]) -> Vec<File> {
    let end = zip.windows(4).rposition(|at| at == b"PK\x05\x06").unwrap();
    let mut entry = number(zip, end + 16, 4);
    let mut members = Vec::new();
    for _ in 0..number(zip, end + 10, 2) {
        let method = number(zip, entry + 10, 2);
        let size = number(zip, entry + 20, 4);
        let name = number(zip, entry + 28, 2);
        let header = number(zip, entry + 42, 4);
        let start = header + 30 + number(zip, header + 26, 2) + number(zip, header + 28, 2);
        let mut bytes = zip[start..start + size].to_vec();
        if method == 8 {
            let mut inflated = Vec::new();
            let mut stream = flate2::read::DeflateDecoder::new(&bytes[..]);
            stream.read_to_end(&mut inflated).unwrap();
            bytes = inflated;
        }
        let text = String::from_utf8(zip[entry + 46..entry + 46 + name].to_vec()).unwrap();
        if !text.ends_with('/') {
            members.push(File { name: text, bytes });
        }
        entry += 46 + name + number(zip, entry + 30, 2) + number(zip, entry + 32, 2);
    }
    members
}

fn tar_members(mut tar: &[u8]) -> Vec<File> {
    let text = |bytes: &[u8]| {
        let length = bytes.iter().position(|byte| *byte == 0);
        String::from_utf8(bytes[..length.unwrap_or(bytes.len())].to_vec()).unwrap()
    };
    let mut members = Vec::new();
    while tar.len() >= 512 && tar[0] != 0 {
        let size = usize::from_str_radix(text(&tar[124..136]).trim(), 8).unwrap();
        let (name, prefix) = (text(&tar[..100]), text(&tar[345..500]));
        let name = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        match tar[156] {
            b'0' | 0 => members.push(File::new(&name, &tar[512..512 + size])),
            b'5' => {}
            kind => panic!("{name} is of type {kind}"),
        }
        tar = &tar[512 + size.next_multiple_of(512)..];
    }
    members
}

/// A zip of these files, deflated.
pub fn zip(files: &[File]) -> Vec<u8> {
    let mut zip = Vec::new();
    let mut directory = Vec::new();
    for file in files {
        let mut checksum = flate2::Crc::new();
        checksum.update(&file.bytes);
        let mut stream =
            flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
        stream.write_all(&file.bytes).unwrap();
        let packed = stream.finish().unwrap();

        let mut fields = Vec::new();
        fields.extend([20, 0, 0, 8, 8, 0, 0, 0, 0x21, 0]); // its name is UTF-8; it is deflated
        fields.extend(checksum.sum().to_le_bytes());
        fields.extend((packed.len() as u32).to_le_bytes());
        fields.extend((file.bytes.len() as u32).to_le_bytes());
        fields.extend((file.name.len() as u32).to_le_bytes()); // and no extra field
        let start = zip.len() as u32;
        zip.extend(b"PK\x03\x04");
        zip.extend(&fields);
        zip.extend(file.name.as_bytes());
        zip.extend(&packed);

        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&fields);
        directory.extend([0; 10]);
        directory.extend(start.to_le_bytes());
        directory.extend(file.name.as_bytes());
    }
    let (start, count) = (zip.len() as u32, files.len() as u16);
    zip.extend(&directory);
    zip.extend(b"PK\x05\x06\0\0\0\0");
    zip.extend(count.to_le_bytes());
    zip.extend(count.to_le_bytes());
    zip.extend((directory.len() as u32).to_le_bytes());
    zip.extend(start.to_le_bytes());
    zip.extend([0, 0]);
    zip
}

/// A tar of these files.
pub fn tar(files: &[File]) -> Vec<u8> {
    let mut tar = Vec::new();
    for file in files {
        tar.extend(header(&file.name, b'0', file.bytes.len()));
        tar.extend(&file.bytes);
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    tar.resize(tar.len() + 1024, 0);
    tar
}

/// A header of a tar, for a member of a type and a size.
pub fn header(name: &str, kind: u8, size: usize) -> Vec<u8> {
    let mut header = vec![0; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[100..108].copy_from_slice(b"0000644\0");
    header[108..116].copy_from_slice(b"0000000\0");
    header[116..124].copy_from_slice(b"0000000\0");
    header[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    header[136..148].copy_from_slice(b"00000000000\0");
    header[148..156].fill(b' ');
    header[156] = kind;
    header[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

/// gzip
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut stream = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    stream.write_all(bytes).unwrap();
    stream.finish().unwrap()
}
