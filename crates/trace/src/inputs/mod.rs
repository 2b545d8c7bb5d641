//! All inputs of an import: one trace, one archive, or several files (rules X1 to X9).
//!
//! | question | decided in |
//! |---|---|
//! | whether the input is one file or several (rule X1); which inputs are copied first (rule X9) | `mod.rs` |
//! | the type of a member (rules X3, X5) | `content.rs` |
//! | the contents of a zip and of a tar (rule X8) | `zip.rs`, `tar.rs` |
//! | which members are passed over (rule X2), and the largest number of members | `listing.rs` |
//! | how a member is unpacked and checked | `member.rs` |
//!
//! # Design
//!
//! The list of files is complete before any file is read, because the order of processing needs all
//! names and first bytes (rule X4). A single trace is the exception: only its first bytes are
//! looked at, and it is read once, as a stream, as if nothing else existed. Files among several
//! arguments stay where they are, and are opened when their turn comes. Members of an uncompressed
//! archive file are read in place. Everything else (standard input, pipes, compressed archives) is
//! copied once, into one temporary file. The alternative was to copy everything: a single way of
//! reading, but twice the disk space.
//!
//! An argument is always intended: a hidden file (`.a.pftrace`) is read, because no archiver picked
//! it up by accident (rule X2), and a directory or a database is refused. Inside an archive, a
//! directory is passed over, and a database is unknown.

mod content;
mod error;
mod listing;
mod member;
mod store;
mod tar;
mod zip;

use std::fs::File;
use std::io::{self, Cursor, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use timebase_store::sort::{Scratch, ScratchFile};

use crate::members::Compression;
use crate::monitor::{Monitor, Pass};
use crate::source::{Bytes, Digested, Flaw, Input, Source, SourceError, Use};

use content::{Looked, begin_of, begin_of_stream};
use listing::{Listing, Member, Packed};
use store::Store;

pub use content::{Formats, PERFETTO, TraceFormat, TraceType};
pub use error::InputsError;
pub use listing::ArchiveDamage;

/// The number of bytes to copy at once.
const CHUNK: usize = 256 << 10;

/// How often an import reads its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// Each file once: a trace from a pipe is not copied.
    Once,
    /// Each file as often as necessary, and with the same bytes each time.
    Again,
}

/// The facts about a file before it is read: a row of `trace_file`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceFile {
    /// Its position in [`Inputs::files`]: 0 is the input or the archive; members follow in the
    /// order of the archive.
    pub id: usize,
    /// The archive that contains it.
    pub parent: Option<usize>,
    /// A member's name in its archive; an argument's base name if there are several arguments; the
    /// name of the source if it is the only one. Invalid UTF-8 in it is U+FFFD. `None` for several
    /// arguments together.
    pub name: Option<String>,
    /// The type of its decompressed contents. `None` for several arguments together.
    pub kind: Option<TraceType>,
    /// The compression of the whole file: `gzip` or `zstd`.
    pub compression: Option<&'static str>,
    /// Its size before decompression, if known.
    pub size: Option<u64>,
    /// Its position in [`Inputs::order`].
    pub processing_order: Option<usize>,
    /// Whether it only contains other files.
    pub is_container: bool,
}

/// The place of a file's bytes.
enum Place {
    /// It has none: its members have them.
    Container,
    /// They can be read once.
    Stream,
    Path(PathBuf),
    Store {
        store: usize,
        packed: Packed,
    },
    /// All bytes of a store, up to its end at the time of reading.
    Whole,
}

/// The inputs of an import: one trace, one archive, or several files (rule X1).
///
/// ```
/// use std::io::Read;
/// use timebase_store::sort::Scratch;
/// use timebase_trace::{Inputs, Monitor, PERFETTO, Reads, Source, TraceType};
///
/// let monitor = Monitor::default();
/// let scratch = Scratch::from(&std::env::temp_dir());
/// let sources = [
///     Source::File("../../tests/data/system-compressed.pftrace".into()),
///     Source::File("../../tests/data/sdk.pftrace".into()),
/// ];
/// let mut inputs = Inputs::open(&sources, None, &[PERFETTO], Reads::Once, &scratch, &monitor)?;
/// assert_eq!(inputs.order(), [2, 1]); // by their names: 0 is both together
/// assert_eq!(inputs.files()[2].name.as_deref(), Some("sdk.pftrace"));
/// assert_eq!(inputs.files()[2].kind, Some(TraceType::PERFETTO));
/// for id in inputs.order().to_vec() {
///     let mut input = inputs.open_file(id)?;
///     let mut bytes = Vec::new();
///     input.reader.read_to_end(&mut bytes)?;
///     assert!(input.digest().sha256.is_some());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Inputs<'a> {
    monitor: &'a Monitor,
    formats: Formats,
    files: Vec<TraceFile>,
    /// The state of each file.
    places: Vec<Place>,
    /// The name of each file in messages.
    titles: Vec<String>,
    order: Vec<usize>,
    keys: Vec<Key>,
    stores: Vec<Store>,
    stream: Option<Input<'a>>,
    damage: Vec<ArchiveDamage>,
    /// The size and the hash of an archive that was copied.
    digested: Option<Digested>,
}

impl<'a> Inputs<'a> {
    /// Opens the arguments of an import, and finds out their types. The import reads these formats.
    ///
    /// `manifest` is an additional file, and counts as a manifest whatever its bytes are; with one
    /// trace there are then two files, an archive gets one more member. Inputs that cannot be read
    /// in place are copied to `scratch`. Meanwhile, the pass of the monitor is [`Pass::Copy`].
    ///
    /// # Errors
    ///
    /// [`InputsError`] tells the user what is wrong.
    pub fn open(
        sources: &[Source],
        manifest: Option<&Path>,
        formats: Formats,
        reads: Reads,
        scratch: &Scratch,
        monitor: &'a Monitor,
    ) -> Result<Inputs<'a>, InputsError> {
        let mut inputs = Inputs {
            monitor,
            formats,
            files: Vec::new(),
            places: Vec::new(),
            titles: Vec::new(),
            order: Vec::new(),
            keys: Vec::new(),
            stores: Vec::new(),
            stream: None,
            damage: Vec::new(),
            digested: None,
        };
        match (sources, manifest) {
            ([], None) => return Err(InputsError::Nothing),
            ([], Some(manifest)) => {
                inputs.open_one(&Source::File(manifest.to_owned()), reads, scratch)?;
            }
            ([source], None) => inputs.open_one(source, reads, scratch)?,
            ([source], Some(manifest)) => inputs.open_two(source, manifest, scratch)?,
            _ => inputs.open_several(sources, manifest, scratch)?,
        }
        // Reading starts again for files, but not for a stream.
        if inputs.stream.is_none() {
            monitor.bytes_read.store(0, Ordering::Relaxed);
        }
        Ok(inputs)
    }

    /// Divides traces into the recordings that they consist of. A divided file becomes a container, and its
    /// recordings have its name with `#1`, `#2` … (rule X45). The inputs were opened with [`Reads::Again`].
    ///
    /// `find` reads a trace, and returns the place of the bytes of the packet that begins the second
    /// recording; `None` if there is only one.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, or not be put aside decompressed.
    pub fn split(
        &mut self,
        scratch: &Scratch,
        mut find: impl FnMut(&mut dyn Read) -> io::Result<Option<u64>>,
    ) -> Result<(), InputsError> {
        for id in self.order.clone() {
            let kind = self.files.get(id).and_then(|file| file.kind);
            if kind != Some(TraceType::PERFETTO) || self.is_one_recording(id, &mut find)? {
                continue;
            }
            let title = self.title(id).to_owned();
            let failed = |error| unread(&title, error);
            let (store, base, size) = self.at_any_position(id, scratch)?;
            let Some(bytes) = self.stores.get_mut(store) else {
                continue;
            };
            let mut cuts = vec![0];
            let mut begin = 0;
            loop {
                let at = base.saturating_add(begin);
                let mut rest = bytes.section(at, size.saturating_sub(begin)).map_err(failed)?;
                let Some(next) = find(&mut rest).map_err(failed)? else {
                    break;
                };
                let head = head_of_packet(bytes, at.saturating_add(next)).map_err(failed)?;
                let next = next.saturating_sub(head);
                if next == 0 {
                    break;
                }
                begin = begin.saturating_add(next);
                cuts.push(begin);
            }
            self.divide(id, &cuts, (store, base, size));
        }
        Ok(())
    }

    fn is_one_recording(
        &mut self,
        id: usize,
        find: &mut impl FnMut(&mut dyn Read) -> io::Result<Option<u64>>,
    ) -> Result<bool, InputsError> {
        let mut input = self.open_ahead(id)?;
        let title = input.name().to_owned();
        let found = find(&mut input.reader).map_err(|error| unread(&title, error))?;
        match input.failed() {
            Some(failure) => Err(failure.into()),
            None => Ok(found.is_none()),
        }
    }

    /// The store with the decompressed bytes of a file, their begin, and their number.
    fn at_any_position(
        &mut self,
        id: usize,
        scratch: &Scratch,
    ) -> Result<(usize, u64, u64), InputsError> {
        let (title, next) = (self.title(id).to_owned(), self.stores.len());
        let is_compressed = self.files.get(id).is_some_and(|file| file.compression.is_some());
        match self.places.get(id) {
            Some(Place::Path(path)) if !is_compressed => {
                let opened = File::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
                let (size, file) = opened.map_err(|error| unread(&title, error))?;
                self.stores.push(Store::File(file));
                Ok((next, 0, size))
            }
            Some(Place::Store { store, packed }) if !is_compressed && packed.is_as_it_is() => {
                Ok((*store, packed.at, packed.size))
            }
            _ => {
                let mut file = scratch.file().map_err(InputsError::PutAside)?;
                let mut damage = Vec::new();
                let mut input = self.open_ahead(id)?;
                let size = put_aside(&mut input, &mut file, &mut damage)?;
                drop(input);
                self.damage.append(&mut damage);
                self.stores.push(Store::Aside(file));
                Ok((next, 0, size))
            }
        }
    }

    /// Makes a file a container of the recordings that begin at `cuts`.
    fn divide(&mut self, id: usize, cuts: &[u64], (store, base, size): (usize, u64, u64)) {
        let Some(file) = self.files.get_mut(id) else {
            return;
        };
        file.is_container = true;
        file.processing_order = None;
        let (file, title) = (file.clone(), self.title(id).to_owned());
        let name = file.name.unwrap_or_default();
        let name = name.rsplit(std::path::is_separator).next().unwrap_or_default().to_owned();
        let key = self.keys.iter().position(|key| key.id == id);
        let key = key.map(|place| self.keys.remove(place));
        let (class, bytes) =
            key.map_or((1, name.clone().into_bytes()), |key| (key.class, key.name));
        if let Some(place) = self.places.get_mut(id) {
            *place = Place::Container;
        }
        let ends = cuts.iter().skip(1).chain([&size]);
        for (number, (&begin, &end)) in (1..).zip(cuts.iter().zip(ends)) {
            let part = self.files.len();
            let size = end.saturating_sub(begin);
            let packed = Packed::as_they_are(base.saturating_add(begin), size);
            self.keys.push(Key { class, name: bytes.clone(), id: part });
            let recording = TraceFile {
                id: part,
                parent: Some(id),
                name: Some(format!("{name}#{number}")),
                kind: Some(TraceType::PERFETTO),
                compression: None,
                size: Some(size),
                processing_order: None,
                is_container: false,
            };
            let place = Place::Store { store, packed };
            self.push(recording, place, format!("{title}#{number}"));
        }
        self.settle();
    }

    /// All files, each at the position of its id.
    pub fn files(&self) -> &[TraceFile] {
        &self.files
    }

    /// The ids of the files to read, in the order of processing (rule X4): a single file, or all
    /// members except those that rule X2 passes over. Files of unknown type come last (rule X7).
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// The number of bytes to read in one pass over all files, before decompression, if known.
    pub fn total(&self) -> Option<u64> {
        let sizes = self.order.iter().map(|&id| self.files.get(id)?.size);
        sizes.sum()
    }

    /// The places where an archive is damaged or cut (rules X8, F6), in the order of its bytes.
    /// Damage inside a member is reported by its input.
    pub fn damage(&self) -> &[ArchiveDamage] {
        &self.damage
    }

    /// The name of a file in messages to the user.
    pub fn title(&self, id: usize) -> &str {
        self.titles.get(id).map_or("", String::as_str)
    }

    /// Opens a file for the import, which hashes it.
    ///
    /// # Errors
    ///
    /// If it cannot be read, if it is a stream that was read before, or if it is an archive, which
    /// only contains members.
    pub fn open_file(&mut self, id: usize) -> Result<Input<'_>, SourceError> {
        self.open_for(id, Use::IMPORT)
    }

    /// Opens a file to read it before the import does.
    ///
    /// # Errors
    ///
    /// Those of [`Inputs::open_file`].
    pub fn open_ahead(&mut self, id: usize) -> Result<Input<'_>, SourceError> {
        self.open_for(id, Use::AHEAD)
    }

    /// The size and the hash of the archive, if there is one. If the file was not copied, this
    /// reads it once more.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn digest(&mut self) -> Result<Option<Digested>, SourceError> {
        let is_archive = matches!(self.places.first(), Some(Place::Container))
            && self.files.first().is_some_and(|file| file.kind.is_some());
        if let Some(Digested { size, sha256 }) = &self.digested {
            let (size, sha256) = (*size, sha256.clone());
            return Ok(Some(Digested { size, sha256 }));
        }
        let (Some(store), true) = (self.stores.first_mut(), is_archive) else {
            return Ok(None);
        };
        let title = self.titles.first().map_or("", String::as_str);
        store.rewind().map_err(|error| unread(title, error))?;
        // No caller waits for this many bytes.
        let monitor = Monitor::default();
        let as_it_is = Use::UNPACK.as_it_is();
        let mut input = Input::begin(Box::new(store), title, &monitor, as_it_is)?;
        Ok(Some(input.digest()))
    }

    fn open_for(&mut self, id: usize, for_what: Use) -> Result<Input<'_>, SourceError> {
        let title = self.titles.get(id).map_or("", String::as_str);
        let failed = |error| unread(title, error);
        let is_member = self.files.get(id).is_some_and(|file| file.parent.is_some());
        let for_what = match is_member {
            true => for_what.member(self.order.last() == Some(&id)),
            false => for_what,
        };
        let flaw = Arc::new(Mutex::new(Flaw::default()));
        let bytes: Bytes<'_> = match self.places.get(id) {
            Some(Place::Stream) if self.stream.is_some() => {
                let stream = self.stream.take();
                return stream.ok_or_else(|| failed(ErrorKind::NotFound.into()));
            }
            Some(Place::Path(path)) => {
                let file = File::open(path).map_err(failed)?;
                let size = self.files.get(id).and_then(|file| file.size);
                Box::new(file.take(size.unwrap_or(u64::MAX)))
            }
            Some(Place::Store { store, packed }) => match self.stores.get_mut(*store) {
                Some(store) => member::open(store, packed, &flaw).map_err(failed)?,
                None => return Err(failed(ErrorKind::NotFound.into())),
            },
            Some(Place::Whole) => match self.stores.first_mut() {
                Some(store) => Box::new(store.section(0, u64::MAX).map_err(failed)?),
                None => return Err(failed(ErrorKind::NotFound.into())),
            },
            Some(Place::Stream | Place::Container) | None => {
                return Err(failed(io::Error::other("it can be read only once")));
            }
        };
        let input = Input::begin(bytes, title, self.monitor, for_what)?;
        Ok(input.flawed(flaw))
    }

    /// One argument: a trace, or an archive.
    fn open_one(
        &mut self,
        source: &Source,
        reads: Reads,
        scratch: &Scratch,
    ) -> Result<(), InputsError> {
        let (title, monitor) = (source.to_string(), self.monitor);
        let is_stored = matches!(source, Source::File(path) if path.is_file());
        if !is_stored && reads == Reads::Once {
            let mut input = Input::open(source, monitor)?;
            let (head, error) = begin_of_stream(&mut input.reader);
            let rest = std::mem::replace(&mut input.reader, Box::new(io::empty()));
            let kind = TraceType::alone(&head, self.formats);
            let late = Late(error);
            input.reader = Box::new(Cursor::new(head).chain(late).chain(rest));
            return match kind.is_archive() {
                true => self.unpack(input, kind, None, scratch),
                false => {
                    let compression = input.compression();
                    self.stream = Some(input);
                    self.alone(title, kind, compression, None, Place::Stream);
                    Ok(())
                }
            };
        }
        let (mut store, size) = stored(source, scratch, monitor)?;
        let bytes = store.section(0, u64::MAX);
        let bytes = bytes.map_err(|error| unread(&title, error))?;
        let mut input = Input::begin(Box::new(bytes), &title, monitor, Use::AHEAD)?;
        let (head, _) = begin_of(&mut input.reader);
        // If it cannot be decompressed, the code that reads all of it reports that.
        if let Some(failure) = input.failed() {
            return Err(failure.into());
        }
        let compression = input.compression();
        drop(input);
        let kind = TraceType::alone(&head, self.formats);
        if kind.is_archive() {
            let archive = Archive { store, size, kind, is_compressed: compression.is_some() };
            return self.open_archive(&title, archive, scratch);
        }
        self.stores.push(store);
        let place = match reads {
            Reads::Once => Place::Whole,
            Reads::Again => Place::Store { store: 0, packed: Packed::as_they_are(0, size) },
        };
        self.alone(title, kind, compression, Some(size), place);
        Ok(())
    }

    /// One argument, and a manifest.
    fn open_two(
        &mut self,
        source: &Source,
        manifest: &Path,
        scratch: &Scratch,
    ) -> Result<(), InputsError> {
        let title = source.to_string();
        let (mut store, size) = stored(source, scratch, self.monitor)?;
        let looked = store.section(0, size);
        let looked = looked.and_then(|bytes| Looked::at(bytes, self.formats));
        let looked = looked.map_err(|error| unread(&title, error))?;
        if looked.content.is_archive() {
            let archive = Archive {
                store,
                size,
                kind: looked.content,
                is_compressed: looked.compression.is_some(),
            };
            self.open_archive(&title, archive, scratch)?;
            return self.add_manifest(manifest, scratch);
        }
        self.begin_several();
        self.stores.push(store);
        let packed = Packed::as_they_are(0, size);
        self.add_argument(source, Place::Store { store: 0, packed }, looked, size, false)?;
        self.add_manifest(manifest, scratch)
    }

    /// Several arguments, and a manifest if there is one.
    fn open_several(
        &mut self,
        sources: &[Source],
        manifest: Option<&Path>,
        scratch: &Scratch,
    ) -> Result<(), InputsError> {
        let streams = sources.iter().filter(|source| !matches!(source, Source::File(_)));
        if streams.count() > 1 {
            return Err(InputsError::StandardInputTwice);
        }
        self.begin_several();
        for source in sources {
            self.add_source(source, false, scratch)?;
        }
        match manifest {
            Some(manifest) => self.add_manifest(manifest, scratch),
            None => {
                self.settle();
                Ok(())
            }
        }
    }

    /// The type of several arguments together.
    fn begin_several(&mut self) {
        self.push(
            TraceFile {
                id: 0,
                parent: None,
                name: None,
                kind: None,
                compression: None,
                size: None,
                processing_order: None,
                is_container: true,
            },
            Place::Container,
            "all files".to_owned(),
        );
    }

    fn add_manifest(&mut self, manifest: &Path, scratch: &Scratch) -> Result<(), InputsError> {
        self.add_source(&Source::File(manifest.to_owned()), true, scratch)?;
        self.settle();
        Ok(())
    }

    /// Looks at an argument. If it is not a file, it is copied, after the previous copies.
    fn add_source(
        &mut self,
        source: &Source,
        is_manifest: bool,
        scratch: &Scratch,
    ) -> Result<(), InputsError> {
        let title = source.to_string();
        let failed = |error| unread(&title, error);
        if let (Source::File(path), Some(mut file)) = (source, source.open_file()?) {
            let looked = Looked::at(&mut file, self.formats).map_err(failed)?;
            let size = file.metadata().map_err(failed)?.len();
            return self.add_argument(source, Place::Path(path.clone()), looked, size, is_manifest);
        }
        let bytes = source.bytes(self.monitor)?;
        let as_it_is = Use::PUT_ASIDE.member(false);
        let mut input = Input::begin(bytes, &title, self.monitor, as_it_is)?;
        self.monitor.begin(Pass::Copy, None);
        let mut file = scratch.file().map_err(InputsError::PutAside)?;
        let size = put_aside(&mut input, &mut file, &mut Vec::new())?;
        let mut store = Store::Aside(file);
        let looked = store.section(0, size);
        let looked = looked.and_then(|bytes| Looked::at(bytes, self.formats));
        let looked = looked.map_err(failed)?;
        let place = Place::Store { store: self.stores.len(), packed: Packed::as_they_are(0, size) };
        self.stores.push(store);
        self.add_argument(source, place, looked, size, is_manifest)
    }

    /// Turns an argument into a file.
    fn add_argument(
        &mut self,
        source: &Source,
        place: Place,
        looked: Looked,
        size: u64,
        is_manifest: bool,
    ) -> Result<(), InputsError> {
        let title = source.to_string();
        if looked.is_database {
            let source_name = title;
            return Err(SourceError::IsDatabase { source_name }.into());
        }
        let name = match source {
            Source::File(path) => path.file_name().unwrap_or(path.as_os_str()),
            Source::Stdin | Source::Pieces | Source::Reader(_) => title.as_ref(),
        };
        let name = name.as_encoded_bytes().to_owned();
        let is_several = self.files.first().is_some_and(|all| all.kind.is_none());
        let same = self.keys.iter().find(|key| key.name == name);
        if let (Some(same), true) = (same, is_several) {
            return Err(InputsError::SameName {
                first: self.title(same.id).to_owned(),
                second: title,
                name: String::from_utf8_lossy(&name).into_owned(),
            });
        }
        let looked = match is_manifest {
            true => Looked { content: TraceType::Manifest, ..looked },
            false => looked,
        };
        let class = match is_manifest {
            true => 0,
            false => looked.class(),
        };
        let size = Some(size);
        let named = Named { name, title };
        self.add_member(named, place, looked, size, class)
    }

    /// One of several files.
    fn add_member(
        &mut self,
        Named { name, title }: Named,
        place: Place,
        looked: Looked,
        size: Option<u64>,
        class: u8,
    ) -> Result<(), InputsError> {
        if looked.content.is_archive() {
            let archive = match looked.content {
                TraceType::Zip => "a zip archive",
                _ => "a tar archive",
            };
            return Err(InputsError::ArchiveInside { name: title, archive });
        }
        let id = self.files.len();
        let file = TraceFile {
            id,
            parent: Some(0),
            name: Some(String::from_utf8_lossy(&name).into_owned()),
            kind: Some(looked.content),
            compression: looked.compression.map(Compression::name),
            size,
            processing_order: None,
            is_container: false,
        };
        self.keys.push(Key { class, name, id });
        self.push(file, place, title);
        Ok(())
    }

    /// A single file.
    fn alone(
        &mut self,
        title: String,
        kind: TraceType,
        compression: Option<&'static str>,
        size: Option<u64>,
        place: Place,
    ) {
        let file = TraceFile {
            id: 0,
            parent: None,
            name: Some(title.clone()),
            kind: Some(kind),
            compression,
            size,
            processing_order: Some(0),
            is_container: false,
        };
        self.push(file, place, title);
        self.order = vec![0];
    }

    /// An archive that can be read at any position.
    fn open_archive(
        &mut self,
        title: &str,
        archive: Archive,
        scratch: &Scratch,
    ) -> Result<(), InputsError> {
        let (mut store, kind) = (archive.store, archive.kind);
        if archive.is_compressed {
            store.rewind().map_err(|error| unread(title, error))?;
            let input = Input::begin(Box::new(store), title, self.monitor, Use::UNPACK)?;
            return self.unpack(input, kind, Some(archive.size), scratch);
        }
        self.push_archive(title, kind, None, archive.size);
        self.stores.push(store);
        self.list(title, kind, archive.size)
    }

    /// Copies an archive in decompressed form, and opens the copy.
    fn unpack(
        &mut self,
        mut input: Input<'_>,
        kind: TraceType,
        size: Option<u64>,
        scratch: &Scratch,
    ) -> Result<(), InputsError> {
        let title = input.name().to_owned();
        self.monitor.begin(Pass::Copy, size);
        let mut file = scratch.file().map_err(InputsError::PutAside)?;
        let size = put_aside(&mut input, &mut file, &mut self.damage)?;
        let digested = input.digest();
        // The whole archive, without its members.
        self.monitor.is_read.store(false, Ordering::Relaxed);
        self.push_archive(&title, kind, input.compression(), digested.size);
        self.digested = Some(digested);
        self.stores.push(Store::Aside(file));
        self.list(&title, kind, size)
    }

    fn push_archive(
        &mut self,
        title: &str,
        kind: TraceType,
        compression: Option<&'static str>,
        size: u64,
    ) {
        let file = TraceFile {
            id: 0,
            parent: None,
            name: Some(title.to_owned()),
            kind: Some(kind),
            compression,
            size: Some(size),
            processing_order: None,
            is_container: true,
        };
        self.push(file, Place::Container, title.to_owned());
    }

    /// Finds the members of the archive in the first store.
    fn list(&mut self, title: &str, kind: TraceType, size: u64) -> Result<(), InputsError> {
        let Some(store) = self.stores.first_mut() else {
            return Ok(());
        };
        let mut listing = Listing::new(title, self.monitor);
        match kind {
            TraceType::Tar => tar::list(store, size, &mut listing)?,
            _ => zip::list(store, size, &mut listing)?,
        }
        let is_cut = |damage: &ArchiveDamage| damage.is_cut;
        if listing.damage.iter().any(is_cut) {
            self.damage.retain(|damage| !damage.is_cut);
        }
        self.damage.append(&mut listing.damage);
        self.damage.sort_by_key(|damage| damage.offset);
        for Member { name, packed } in std::mem::take(&mut listing.members) {
            let Some(store) = self.stores.first_mut() else {
                return Ok(());
            };
            let failed = |error| listing.failed(packed.at, error);
            listing.go_on().map_err(failed)?;
            let looked = member::open(store, &packed, &Arc::default());
            let looked = looked.and_then(|bytes| Looked::at(bytes, self.formats));
            let looked = looked.map_err(failed)?;
            let (class, unpacked) = (looked.class(), packed.unpacked());
            let title = listing.shown(&name);
            let place = Place::Store { store: 0, packed };
            self.add_member(Named { name, title }, place, looked, unpacked, class)?;
        }
        self.settle();
        Ok(())
    }

    fn push(&mut self, file: TraceFile, place: Place, title: String) {
        self.files.push(file);
        self.places.push(place);
        self.titles.push(title);
    }

    /// The order of processing (rule X4).
    fn settle(&mut self) {
        self.keys.sort();
        self.order = self.keys.iter().map(|key| key.id).collect();
        for (place, &id) in self.order.iter().enumerate() {
            if let Some(file) = self.files.get_mut(id) {
                file.processing_order = Some(place);
            }
        }
    }
}

/// The two names of a file among several.
struct Named {
    /// In the manifest and the tables.
    name: Vec<u8>,
    /// In messages.
    title: String,
}

/// An archive that can be read at any place.
struct Archive {
    store: Store,
    size: u64,
    kind: TraceType,
    is_compressed: bool,
}

/// The key for the order of processing.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    class: u8,
    name: Vec<u8>,
    id: usize,
}

/// Returns an earlier error, once.
struct Late(Option<io::Error>);

impl Read for Late {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match self.0.take() {
            Some(error) => Err(error),
            None => Ok(0),
        }
    }
}

/// The size of the tag and the length before the bytes of a packet: a varint, whose last byte alone is
/// less than 128, after the tag.
fn head_of_packet(store: &mut Store, packet: u64) -> io::Result<u64> {
    const LONGEST: u64 = 11;
    let begin = packet.saturating_sub(LONGEST);
    let mut before = [0; LONGEST as usize];
    let there = usize::try_from(packet - begin).unwrap_or(0);
    let read = store.read_at(begin, before.get_mut(..there).unwrap_or_default())?;
    let head = before.get(..read).unwrap_or_default();
    let length = head.iter().rev().skip(1).take_while(|&&byte| byte >= 0x80).count() as u64 + 1;
    Ok((length + 1).min(packet - begin))
}

fn unread(title: &str, error: io::Error) -> SourceError {
    SourceError::Open { source_name: title.to_owned(), error }
}

/// A source as a store that can be read at any position, and its size.
fn stored(
    source: &Source,
    scratch: &Scratch,
    monitor: &Monitor,
) -> Result<(Store, u64), InputsError> {
    if let Some(file) = source.open_file()? {
        let size = file.metadata();
        let size = size.map_err(|error| unread(&source.to_string(), error))?.len();
        return Ok((Store::File(file), size));
    }
    let bytes = source.bytes(monitor)?;
    let mut input = Input::begin(bytes, &source.to_string(), monitor, Use::PUT_ASIDE)?;
    monitor.begin(Pass::Copy, None);
    let mut file = scratch.file().map_err(InputsError::PutAside)?;
    let size = put_aside(&mut input, &mut file, &mut Vec::new())?;
    Ok((Store::Aside(file), size))
}

/// Copies the contents of an input; returns their size.
fn put_aside(
    input: &mut Input<'_>,
    file: &mut ScratchFile,
    damage: &mut Vec<ArchiveDamage>,
) -> Result<u64, InputsError> {
    /// The limit for reported places: a file may be full of them.
    const TOLD: usize = 100;
    let mut chunk = vec![0; CHUNK];
    let mut size = 0;
    loop {
        match input.reader.read(&mut chunk) {
            Ok(0) => return Ok(size),
            Ok(read) => {
                let read = chunk.get(..read).unwrap_or_default();
                file.write_all(read).map_err(InputsError::PutAside)?;
                size += read.len() as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                if let Some(failure) = input.failed() {
                    return Err(failure.into());
                }
                let is_cut = match error.kind() {
                    ErrorKind::InvalidData => false,
                    ErrorKind::UnexpectedEof => true,
                    _ => return Err(unread(input.name(), error).into()),
                };
                let compression = input.compression().unwrap_or("whole");
                if damage.len() < TOLD {
                    damage.push(ArchiveDamage {
                        offset: size,
                        size: 0,
                        why: match is_cut {
                            true => format!("the {compression} file ends there, before its end"),
                            false => format!("the {compression} file is damaged there: {error}"),
                        },
                        is_cut,
                    });
                }
                if is_cut {
                    return Ok(size);
                }
            }
        }
    }
}
