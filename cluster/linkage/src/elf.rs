//! One file: what it is, and what its dynamic section says.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use object::Endianness;
use object::elf;
use object::read::elf::{
    Dyn, FileHeader, GnuHashTable, HashTable, ProgramHeader, SectionHeader, Sym,
};
use object::read::{ReadCache, ReadRef, StringTable};

type Header = elf::FileHeader64<Endianness>;
type Segment = elf::ProgramHeader64<Endianness>;
type Data<'a> = &'a ReadCache<std::fs::File>;

/// No honest file has longer tables; a dishonest one must not make us fill the memory.
const LONGEST_TABLE: u64 = 256 << 20;

/// What a file turned out to be.
#[derive(Debug)]
pub enum File {
    /// A program or library that this machine's loader takes.
    Elf(Box<Elf>),
    /// An ELF file for another machine or word size, with a word that says which.
    OtherMachine(String),
    /// A text whose first line names an interpreter; the rest of that line.
    Script(String),
    /// Anything else.
    Unknown,
}

/// The dynamic section of a program or a shared library.
#[derive(Clone, Debug, Default)]
pub struct Elf {
    /// As it was opened.
    pub path: PathBuf,
    /// Device and inode: two names of one file are the same object to the loader.
    pub identity: (u64, u64),
    /// Whether it can be started: it names a loader, or is a static program.
    pub program: bool,
    /// Whether it has a dynamic section at all; a static program has none.
    pub dynamic: bool,
    /// Its own name for those who need it.
    pub soname: Option<OsString>,
    /// Names of the libraries it needs, in order.
    pub needed: Vec<OsString>,
    /// Folders to search before `LD_LIBRARY_PATH`, for it and for what it loads.
    pub rpath: Vec<OsString>,
    /// Folders to search after `LD_LIBRARY_PATH`, for its own needs; with it `rpath` is void.
    pub runpath: Option<Vec<OsString>>,
}

/// A symbol of the dynamic symbol table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    pub name: String,
    /// Defined here, or wanted from others.
    pub defined: bool,
    /// May be absent.
    pub weak: bool,
}

/// Looks at a file. An error is about reading it or about an ELF file that contradicts itself.
pub fn open(path: &Path) -> Result<File, String> {
    let wrong = |text: String| format!("'{}': {text}", path.display());
    let mut file = std::fs::File::open(path).map_err(|error| wrong(error.to_string()))?;
    let meta = file.metadata().map_err(|error| wrong(error.to_string()))?;
    if !meta.is_file() {
        return Err(wrong("not a file".to_string()));
    }
    let mut start = [0_u8; 256];
    let count = file.read(&mut start).map_err(|error| wrong(error.to_string()))?;
    let start = &start[..count];
    if let Some(line) = start.strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
        return Ok(File::Script(String::from_utf8_lossy(line).trim().to_string()));
    }
    if !start.starts_with(&elf::ELFMAG) {
        return Ok(File::Unknown);
    }
    if let Some(other) = other_machine(start) {
        return Ok(File::OtherMachine(other));
    }
    let data = ReadCache::new(file);
    let mut found = read(&data).map_err(|text| wrong(format!("broken ELF file: {text}")))?;
    found.path = path.to_path_buf();
    found.identity = (meta.dev(), meta.ino());
    Ok(File::Elf(Box::new(found)))
}

/// The dynamic symbols of a file that [`open`] has recognised; version suffixes are left out.
pub fn symbols(path: &Path) -> Result<Vec<Symbol>, String> {
    let wrong = |text: &str| format!("'{}': {text}", path.display());
    let file = std::fs::File::open(path).map_err(|error| wrong(&error.to_string()))?;
    let data = ReadCache::new(file);
    read_symbols(&data).map_err(|text| wrong(&format!("broken ELF file: {text}")))
}

/// Whether a file that [`open`] has recognised defines a function, also one that it does not
/// export, by its table for debuggers; a stripped file has none.
pub fn defines(path: &Path, name: &str) -> Result<bool, String> {
    let wrong = |text: &str| format!("'{}': {text}", path.display());
    let file = std::fs::File::open(path).map_err(|error| wrong(&error.to_string()))?;
    let data = ReadCache::new(file);
    find_definition(&data, name).map_err(|text| wrong(&format!("broken ELF file: {text}")))
}

fn find_definition(data: Data<'_>, name: &str) -> Result<bool, String> {
    let sections = said(said(Header::parse(data))?.sections(ORDER, data))?;
    let table = said(sections.symbols(ORDER, data, elf::SHT_SYMTAB))?;
    if table.is_empty() {
        return Ok(false);
    }
    let strings = said(sections.section(table.string_section()))?;
    let (start, length) = (strings.sh_offset(ORDER), strings.sh_size(ORDER));
    if length > LONGEST_TABLE {
        return Err("its string table is absurdly long".to_string());
    }
    let outside = |()| "its string table is not in the file";
    let strings = data.read_bytes_at(start, length).map_err(outside)?;
    let wanted = [name.as_bytes(), b"\0"].concat();
    let is_it = |symbol: &elf::Sym64<Endianness>| {
        let own = strings.get(symbol.st_name(ORDER) as usize..).unwrap_or_default();
        symbol.st_shndx(ORDER) != elf::SHN_UNDEF && own.starts_with(&wanted)
    };
    Ok(table.iter().any(is_it))
}

/// What stands in the way of loading a file here, from its first bytes.
fn other_machine(start: &[u8]) -> Option<String> {
    let class = start.get(4).copied().unwrap_or(0);
    let order = start.get(5).copied().unwrap_or(0);
    let machine = u16::from_le_bytes([
        start.get(18).copied().unwrap_or(0),
        start.get(19).copied().unwrap_or(0),
    ]);
    if class != elf::ELFCLASS64 {
        return Some("32-bit".to_string());
    }
    if order != elf::ELFDATA2LSB {
        return Some("big-endian".to_string());
    }
    let (own, name) = match std::env::consts::ARCH {
        "x86_64" => (elf::EM_X86_64, "x86_64"),
        "aarch64" => (elf::EM_AARCH64, "aarch64"),
        "riscv64" => (elf::EM_RISCV, "riscv64"),
        _ => return None,
    };
    (machine != own).then(|| format!("machine number {machine}, not {name}"))
}

fn said<T, E: std::fmt::Display>(result: Result<T, E>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

/// The tables that the loader uses, found by their addresses.
struct Tables<'a> {
    data: Data<'a>,
    segments: &'a [Segment],
    entries: &'a [elf::Dyn64<Endianness>],
}

const ORDER: Endianness = Endianness::Little;

impl<'a> Tables<'a> {
    fn read(data: Data<'a>) -> Result<Option<Self>, String> {
        let header = said(Header::parse(data))?;
        let segments = said(header.program_headers(ORDER, data))?;
        let Some(dynamic) = segments.iter().find(|s| s.p_type(ORDER) == elf::PT_DYNAMIC) else {
            return Ok(None);
        };
        if dynamic.p_filesz(ORDER) > LONGEST_TABLE {
            return Err("its dynamic section is absurdly long".to_string());
        }
        let entries = said(dynamic.dynamic(ORDER, data))?.unwrap_or_default();
        let end = entries.iter().position(|entry| entry.tag(ORDER) == elf::DT_NULL);
        Ok(Some(Self { data, segments, entries: &entries[..end.unwrap_or(entries.len())] }))
    }

    fn value(&self, tag: i64) -> Option<u64> {
        self.entries.iter().find(|entry| entry.tag(ORDER) == tag).map(|entry| entry.val(ORDER))
    }

    /// Where in the file the bytes of an address lie, and how many from there are in the file.
    fn place(&self, address: u64) -> Result<(u64, u64), String> {
        let found =
            self.segments.iter().filter(|s| s.p_type(ORDER) == elf::PT_LOAD).find_map(|s| {
                let offset = address.checked_sub(s.p_vaddr(ORDER))?;
                let left = s.p_filesz(ORDER).checked_sub(offset).filter(|left| *left > 0)?;
                Some((s.p_offset(ORDER).checked_add(offset)?, left))
            });
        found.ok_or_else(|| format!("address {address:#x} is in none of its segments"))
    }

    /// The string table; it is read string by string.
    fn strings(&self) -> Result<StringTable<'a, Data<'a>>, String> {
        let address = self.value(elf::DT_STRTAB).ok_or("it has no string table")?;
        let (start, left) = self.place(address)?;
        let length = self.value(elf::DT_STRSZ).unwrap_or(left).min(left);
        Ok(StringTable::new(self.data, start, start.saturating_add(length)))
    }
}

fn read(data: Data<'_>) -> Result<Elf, String> {
    let header = said(Header::parse(data))?;
    let segments = said(header.program_headers(ORDER, data))?;
    let interpreted = segments.iter().any(|s| s.p_type(ORDER) == elf::PT_INTERP);
    let program = interpreted || header.e_type(ORDER) == elf::ET_EXEC;
    let mut found = Elf { program, ..Elf::default() };
    let Some(tables) = Tables::read(data)? else { return Ok(found) };
    found.dynamic = true;
    let texts = [elf::DT_NEEDED, elf::DT_SONAME, elf::DT_RPATH, elf::DT_RUNPATH];
    if !tables.entries.iter().any(|entry| texts.contains(&entry.tag(ORDER))) {
        return Ok(found);
    }
    let strings = tables.strings()?;
    for entry in tables.entries {
        let tag = entry.tag(ORDER);
        if !texts.contains(&tag) {
            continue;
        }
        let offset = u32::try_from(entry.val(ORDER)).map_err(|_| "a name out of its table")?;
        let text = strings.get(offset).map_err(|()| "a name out of its table")?;
        let name = OsString::from_vec(text.to_vec());
        match tag {
            elf::DT_NEEDED => found.needed.push(name),
            elf::DT_SONAME => found.soname = Some(name),
            elf::DT_RPATH => found.rpath = folders(text),
            _ => found.runpath = Some(folders(text)),
        }
    }
    if found.runpath.is_some() {
        found.rpath.clear();
    }
    Ok(found)
}

fn folders(list: &[u8]) -> Vec<OsString> {
    let parts = list.split(|byte| *byte == b':').filter(|part| !part.is_empty());
    parts.map(|part| OsString::from_vec(part.to_vec())).collect()
}

fn read_symbols(data: Data<'_>) -> Result<Vec<Symbol>, String> {
    let Some(tables) = Tables::read(data)? else { return Ok(Vec::new()) };
    let Some(address) = tables.value(elf::DT_SYMTAB) else { return Ok(Vec::new()) };
    let (start, left) = tables.place(address)?;
    let size = size_of::<elf::Sym64<Endianness>>() as u64;
    let count = symbol_count(&tables, address, left)?.min(left / size);
    let outside = |()| "its symbol table is not in the file";
    let symbols: &[elf::Sym64<Endianness>] =
        data.read_slice_at(start, count as usize).map_err(outside)?;
    let strings = tables.value(elf::DT_STRTAB).ok_or("it has no string table")?;
    let (start, left) = tables.place(strings)?;
    let length = tables.value(elf::DT_STRSZ).unwrap_or(left).min(left);
    if length > LONGEST_TABLE {
        return Err("its string table is absurdly long".to_string());
    }
    // In one piece: nearly all of it is names of symbols.
    let strings = data.read_bytes_at(start, length).map_err(outside)?;
    let copied = copied(&tables)?;
    let mut found = Vec::with_capacity(symbols.len());
    for (index, symbol) in symbols.iter().enumerate().skip(1) {
        let name = strings.get(symbol.st_name(ORDER) as usize..).unwrap_or_default();
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        let local = symbol.st_bind() == elf::STB_LOCAL;
        if !name.is_empty() && !local {
            found.push(Symbol {
                name: String::from_utf8_lossy(name).into_owned(),
                defined: symbol.st_shndx(ORDER) != elf::SHN_UNDEF
                    && !copied.contains(&(index as u32)),
                weak: symbol.st_bind() == elf::STB_WEAK,
            });
        }
    }
    Ok(found)
}

/// The symbols that a program has room for but that libraries fill when it is loaded (copy
/// relocations): they look defined and are needed.
fn copied(tables: &Tables<'_>) -> Result<Vec<u32>, String> {
    let copy = if cfg!(target_arch = "aarch64") { elf::R_AARCH64_COPY } else { elf::R_X86_64_COPY };
    let (Some(address), Some(size)) = (tables.value(elf::DT_RELA), tables.value(elf::DT_RELASZ))
    else {
        return Ok(Vec::new());
    };
    let (start, left) = tables.place(address)?;
    let count = size.min(left).min(LONGEST_TABLE) / size_of::<elf::Rela64<Endianness>>() as u64;
    let entries: &[elf::Rela64<Endianness>] = tables
        .data
        .read_slice_at(start, count as usize)
        .map_err(|()| "its relocations are not in the file")?;
    let copies = entries.iter().filter(|entry| entry.r_type(ORDER, false) == copy);
    Ok(copies.map(|entry| entry.r_sym(ORDER, false)).collect())
}

/// How many symbols there are: the loader never needs to know, so the hash tables must tell. The
/// string table follows the symbols in files of all usual linkers and is an upper bound.
fn symbol_count(tables: &Tables<'_>, symbols: u64, left: u64) -> Result<u64, String> {
    let bytes = |address: u64| -> Result<&[u8], String> {
        let (start, left) = tables.place(address)?;
        let length = left.min(LONGEST_TABLE);
        tables.data.read_bytes_at(start, length).map_err(|()| "a hash table out of the file".into())
    };
    if let Some(address) = tables.value(elf::DT_HASH) {
        let table = said(HashTable::<Header>::parse(ORDER, bytes(address)?))?;
        return Ok(table.symbol_table_length().into());
    }
    if let Some(address) = tables.value(elf::DT_GNU_HASH) {
        let table = said(GnuHashTable::<Header>::parse(ORDER, bytes(address)?))?;
        if let Some(count) = table.symbol_table_length(ORDER) {
            return Ok(count.into());
        }
        // Nothing is exported: the base is no more than a beginning.
    }
    let size = size_of::<elf::Sym64<Endianness>>() as u64;
    let after = tables.value(elf::DT_STRTAB).and_then(|strings| strings.checked_sub(symbols));
    Ok(after.unwrap_or(left).min(LONGEST_TABLE) / size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn own() -> PathBuf {
        std::env::current_exe().expect("a program")
    }

    fn elf_of(path: &Path) -> Elf {
        match open(path).expect("readable") {
            File::Elf(elf) => *elf,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn this_program() {
        let elf = elf_of(&own());
        assert!(elf.program && elf.dynamic);
        assert!(elf.needed.iter().any(|name| name == "libc.so.6"), "{elf:?}");
        let symbols = symbols(&own()).expect("symbols");
        let wanted = |name: &str| symbols.iter().any(|s| s.name == name && !s.defined);
        assert!(wanted("malloc") || wanted("free") || wanted("write"), "{symbols:?}");
    }

    #[test]
    fn other_files() {
        let dir = tempfile::tempdir().expect("folder");
        let file = dir.path().join("x");
        let kind = |bytes: &[u8]| {
            std::fs::write(&file, bytes).expect("write");
            open(&file)
        };
        assert!(matches!(kind(b""), Ok(File::Unknown)));
        assert!(matches!(kind(b"hello"), Ok(File::Unknown)));
        let Ok(File::Script(line)) = kind(b"#! /usr/bin/env python3\nx") else { panic!() };
        assert_eq!(line, "/usr/bin/env python3");
        assert!(matches!(kind(b"\x7fELF\x01\x01"), Ok(File::OtherMachine(_))));
        assert!(kind(&own_start(64)[..64]).is_err());
        let error = open(dir.path()).expect_err("a folder");
        assert!(error.contains("not a file"), "{error}");
        assert!(open(Path::new("/no/such/file")).is_err());
    }

    fn own_start(count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        std::fs::File::open(own()).expect("open").read_exact(&mut bytes).expect("read");
        bytes
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// Damage is an error or a wrong answer, never a crash or a giant allocation.
        #[test]
        fn damaged_files(damage in proptest::collection::vec((0_usize..4096, any::<u8>()), 1..20)) {
            let dir = tempfile::tempdir().expect("folder");
            let file = dir.path().join("x");
            let mut bytes = small_library();
            for (place, value) in damage {
                let length = bytes.len();
                bytes[place % length] = value;
            }
            std::fs::write(&file, &bytes).expect("write");
            let _ = open(&file);
            let _ = symbols(&file);
        }
    }

    /// A file with one segment that holds everything: dynamic section, strings, symbols, hash.
    fn small_library() -> Vec<u8> {
        let mut bytes = vec![0_u8; 1024];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, b"\x7fELF\x02\x01\x01");
        put(16, &3_u16.to_le_bytes());
        let machine = if cfg!(target_arch = "aarch64") { 183_u16 } else { 62 };
        put(18, &machine.to_le_bytes());
        put(20, &1_u32.to_le_bytes());
        put(32, &64_u64.to_le_bytes());
        for (at, value) in [(52, 64_u16), (54, 56), (56, 2)] {
            put(at, &value.to_le_bytes());
        }
        for (at, kind, start, size) in [(64, 1_u32, 0_u64, 1024_u64), (120, 2, 256, 112)] {
            put(at, &kind.to_le_bytes());
            for (field, value) in [(8, start), (16, start), (32, size), (40, size)] {
                put(at + field, &value.to_le_bytes());
            }
        }
        let entries = [(1_u64, 1_u64), (15, 14), (5, 512), (10, 64), (6, 640), (4, 768), (0, 0)];
        for (index, (tag, value)) in entries.into_iter().enumerate() {
            put(256 + index * 16, &tag.to_le_bytes());
            put(264 + index * 16, &value.to_le_bytes());
        }
        put(512, b"\0libmpi.so.12\0/a:$ORIGIN/b\0MPI_Send\0");
        put(664, &27_u32.to_le_bytes());
        put(668, &[0x10]);
        for (at, value) in [(768, 1_u32), (772, 2), (776, 1)] {
            put(at, &value.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn a_small_library() {
        let dir = tempfile::tempdir().expect("folder");
        let file = dir.path().join("x.so");
        std::fs::write(&file, small_library()).expect("write");
        let elf = elf_of(&file);
        assert!(!elf.program);
        assert_eq!(elf.needed, ["libmpi.so.12"]);
        assert_eq!(elf.rpath, ["/a", "$ORIGIN/b"]);
        let expected = Symbol { name: "MPI_Send".into(), defined: false, weak: false };
        assert_eq!(symbols(&file).expect("symbols"), [expected]);
    }
}
