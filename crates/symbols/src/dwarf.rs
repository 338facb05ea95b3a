//! The DWARF sections of a file, as the reader of lines takes them.
//!
//! Input: an ELF file. Output: its sections: mapped where they are plain, unpacked within bounds where they are compressed.
//! A file in which one section cannot be had has no lines.

use std::ops::{Deref, Range};
use std::sync::Arc;

use gimli::{EndianReader, RunTimeEndian};
use object::{CompressionFormat, Object, ObjectSection};

use crate::file_bytes::FileBytes;
use crate::unpacking::Budget;

/// How gimli reads a section.
pub(crate) type Section = EndianReader<RunTimeEndian, SectionBytes>;

/// The bytes of a section and what keeps them where they are.
#[derive(Clone, Debug)]
pub(crate) enum SectionBytes {
    /// A part of a file.
    Plain(Arc<FileBytes>, Range<usize>),
    /// What came out of a compressed section.
    Unpacked(Arc<[u8]>),
}

impl Deref for SectionBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            SectionBytes::Plain(file, range) => &file[range.clone()],
            SectionBytes::Unpacked(bytes) => bytes,
        }
    }
}

/// The sections of one file.
pub(crate) struct Sections<'a> {
    bytes: &'a Arc<FileBytes>,
    parsed: object::File<'a>,
    budget: Budget,
}

impl<'a> Sections<'a> {
    /// Those of the ELF file `bytes`; `None` where it is none.
    pub(crate) fn of(bytes: &'a Arc<FileBytes>) -> Option<Sections<'a>> {
        Some(Sections { bytes, parsed: object::File::parse(&bytes[..]).ok()?, budget: Budget::default() })
    }

    /// The section `name`, empty where there is none.
    ///
    /// # Errors
    /// Where its bytes cannot be had.
    pub(crate) fn named(&mut self, name: Option<&str>) -> Result<Section, gimli::Error> {
        let endian = if self.parsed.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
        let section = name.and_then(|name| self.parsed.section_by_name(name));
        let bytes = match section {
            Some(section) => contents(self.bytes, &section, &mut self.budget).ok_or(gimli::Error::Io)?,
            None => SectionBytes::Unpacked(Arc::new([])),
        };
        Ok(EndianReader::new(bytes, endian))
    }

    /// A section without bytes.
    pub(crate) fn empty(&self) -> Section {
        let endian = if self.parsed.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
        EndianReader::new(SectionBytes::Unpacked(Arc::new([])), endian)
    }
}

fn contents(
    file: &Arc<FileBytes>,
    section: &object::Section<'_, '_>,
    budget: &mut Budget,
) -> Option<SectionBytes> {
    let data = section.compressed_data().ok()?;
    if data.format != CompressionFormat::None {
        return Some(SectionBytes::Unpacked(budget.unpack(&data)?.into()));
    }
    // `object` hands out a part of the file itself.
    let start = (data.data.as_ptr() as usize).checked_sub(file.as_ptr() as usize);
    let range = start.map(|start| start..start + data.data.len()).filter(|range| range.end <= file.len());
    // A section without bytes in the file has none anywhere.
    Some(
        range.map_or(SectionBytes::Unpacked(Arc::new([])), |range| {
            SectionBytes::Plain(Arc::clone(file), range)
        }),
    )
}
