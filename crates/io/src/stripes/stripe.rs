//! One stripe: a file with a header that says whose it is, and the data behind it.

use super::{Layout, Manifest};
use crate::amode::Amode;
use crate::error;
use crate::file::File;
use hpvm_mpi::error::Result;
use hpvm_mpi::{Class, Error};
use std::fs::OpenOptions;
use std::io::{self, IoSlice};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// Bytes before the data: a page, so that blocks of the data lie on those of the device.
pub const HEADER: u64 = 4096;
const MAGIC: &str = "hpvm stripe 1\n";

/// What the header of a stripe has to be.
fn header(set: &str, number: u64, layout: Layout) -> Vec<u8> {
    let Layout { unit, count } = layout;
    let text = format!("{MAGIC}set {set}\nnumber {number} of {count}\nunit {unit}\n");
    let mut bytes = text.into_bytes();
    bytes.resize(HEADER as usize, 0);
    bytes
}

/// An open stripe. Positions are those of its data.
#[derive(Debug)]
pub struct Stripe {
    file: File,
    pub number: u64,
    pub layout: Layout,
}

impl Stripe {
    /// Makes a stripe, which must not be there.
    pub fn create(manifest: &Manifest, number: u64, amode: Amode) -> Result<Stripe> {
        let path = &manifest.stripes[number as usize].path;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o666);
        let inner = options.custom_flags(libc::O_CLOEXEC | libc::O_NOFOLLOW).open(path);
        let inner = inner.map_err(|e| error::of("cannot make the stripe", path, &e))?;
        let layout = manifest.layout();
        if let Err(e) = inner.write_all_at(&header(&manifest.set, number, layout), 0) {
            // It is ours, and nobody knows of it.
            let _ = std::fs::remove_file(path);
            return Err(error::of("cannot write the stripe", path, &e));
        }
        Ok(Stripe { file: File::over(inner, path, amode), number, layout })
    }

    /// Opens a stripe, if it is that of this set and number.
    pub fn open(
        (set, layout): (&str, Layout),
        number: u64,
        path: &Path,
        amode: Amode,
    ) -> Result<Stripe> {
        let mut options = OpenOptions::new();
        options.read(true).write(amode.writes());
        let flags = libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let inner = options.custom_flags(flags).open(path);
        let inner = inner.map_err(|e| error::of("cannot open the stripe", path, &e))?;
        let regular = inner.metadata().is_ok_and(|data| data.is_file());
        let mut there = vec![0; HEADER as usize];
        let whole = regular && inner.read_exact_at(&mut there, 0).is_ok();
        if !whole || there != header(set, number, layout) {
            let what = match whole && there.starts_with(MAGIC.as_bytes()) {
                true => format!("a stripe of another file; expected number {number} of {set}"),
                false => "no stripe".to_owned(),
            };
            return Err(Error::new(Class::BadFile, format!("'{}' is {what}", error::shown(path))));
        }
        Ok(Stripe { file: File::over(inner, path, amode), number, layout })
    }

    /// Bytes of data.
    pub fn len(&self) -> Result<u64> {
        Ok(self.file.size()?.saturating_sub(HEADER))
    }

    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    pub fn write_at(&self, at: u64, data: &[u8]) -> Result<()> {
        self.file.write_at(self.behind_header(at)?, data)
    }

    /// As [`File::write_parts_at`].
    pub fn write_parts_at(&self, at: u64, parts: &mut [IoSlice<'_>]) -> Result<()> {
        self.file.write_parts_at(self.behind_header(at)?, parts)
    }

    /// Reads until `out` is full or the stripe ends; says how much that was.
    pub fn read_at(&self, at: u64, out: &mut [u8]) -> Result<usize> {
        self.file.read_at(self.behind_header(at)?, out)
    }

    pub fn set_len(&self, len: u64) -> Result<()> {
        self.file.set_size(self.behind_header(len)?)
    }

    /// As [`File::preallocate`].
    pub fn preallocate(&self, len: u64) -> Result<()> {
        self.file.preallocate(self.behind_header(len)?)
    }

    pub fn sync(&self) -> Result<()> {
        self.file.sync()
    }

    fn behind_header(&self, at: u64) -> Result<u64> {
        let too_large =
            || self.file.failed("cannot reach", &io::Error::from_raw_os_error(libc::EFBIG));
        at.checked_add(HEADER).ok_or_else(too_large)
    }
}

/// Deletes a stripe, if it is that of this set and number. False: it is not there.
pub fn remove(of: (&str, Layout), number: u64, path: &Path) -> Result<bool> {
    let amode = Amode::new(crate::amode::RDONLY)?;
    match Stripe::open(of, number, path, amode) {
        Ok(_) => {}
        Err(error) if error.class == Class::NoSuchFile => return Ok(false),
        Err(error) => return Err(error),
    }
    std::fs::remove_file(path).map_err(|e| error::of("cannot delete the stripe", path, &e))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::amode::{CREATE, RDONLY, RDWR};
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn only_the_stripe_of_the_set_is_opened_or_deleted() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().as_os_str().as_bytes();
        let hosts = ["a", "b"].map(String::from);
        let of = |random| Manifest::new(b"f", folder, &hosts, 4096, [random; 16]).unwrap();
        let (one, other) = (of(1), of(2));
        let amode = Amode::new(RDWR | CREATE).unwrap();
        let stripe = Stripe::create(&one, 1, amode).unwrap();
        assert_eq!(Stripe::create(&one, 1, amode).unwrap_err().class, Class::FileExists);
        stripe.write_at(3, b"abc").unwrap();
        assert_eq!(stripe.len().unwrap(), 6);
        let path = &one.stripes[1].path;
        let reads = Amode::new(RDONLY).unwrap();
        let open = |m: &Manifest, n| Stripe::open((&m.set, m.layout()), n, path, reads);
        let mut out = [9; 8];
        assert_eq!(open(&one, 1).unwrap().read_at(1, &mut out).unwrap(), 5);
        assert_eq!(out, *b"\0\0abc\x09\x09\x09");
        for refused in [open(&one, 0), open(&other, 1)] {
            let error = refused.unwrap_err();
            assert_eq!(error.class, Class::BadFile);
            assert!(error.to_string().contains("of another file"), "{error}");
        }
        let wider = Manifest { unit: 8192, ..one.clone() };
        assert!(open(&wider, 1).is_err());
        assert!(remove((&other.set, other.layout()), 1, path).is_err());
        let plain = home.path().join("plain");
        std::fs::write(&plain, "x").unwrap();
        assert!(remove((&one.set, one.layout()), 1, &plain).is_err() && plain.exists());
        let link = home.path().join("link");
        std::os::unix::fs::symlink(path, &link).unwrap();
        assert!(remove((&one.set, one.layout()), 1, &link).is_err() && link.exists());
        assert_eq!(remove((&one.set, one.layout()), 1, path), Ok(true));
        assert_eq!(remove((&one.set, one.layout()), 1, path), Ok(false));
    }
}
