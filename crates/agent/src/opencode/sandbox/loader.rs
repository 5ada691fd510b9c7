//! The loader that an executable asks for. Separate, because whoever may execute a loader can run every file that it can read
//! with it, so none is granted that no program needs.
#![expect(clippy::disallowed_methods, reason = "edge: reads executables")]

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The size of the part that holds a program's table of segments and the loader's name: its beginning.
const HEAD: u64 = 64 * 1024;
const ELF64_LITTLE: [u8; 6] = [0x7f, b'E', b'L', b'F', 2, 1];
const PT_INTERP: u32 = 3;

/// The loader of a program; `None` for one that is linked statically, and for what is no program.
pub(in crate::opencode) fn find(program: &Path) -> Option<PathBuf> {
    let mut head = Vec::new();
    let file = File::open(program).ok()?;
    file.take(HEAD).read_to_end(&mut head).ok()?;
    named_in(&head)
}

fn named_in(head: &[u8]) -> Option<PathBuf> {
    if !head.starts_with(&ELF64_LITTLE) {
        return None;
    }
    let table = usize::try_from(number(head, 32, 8)?).ok()?;
    let size = usize::try_from(number(head, 54, 2)?).ok()?;
    let count = usize::try_from(number(head, 56, 2)?).ok()?;
    let segments = (0..count).filter_map(|index| head.get(table.checked_add(index * size)?..));
    let mut loaders = segments.filter(|segment| number(segment, 0, 4) == Some(PT_INTERP.into()));
    let segment = loaders.next()?;
    let begin = usize::try_from(number(segment, 8, 8)?).ok()?;
    let length = usize::try_from(number(segment, 32, 8)?).ok()?;
    let name = head.get(begin..begin.checked_add(length)?)?;
    let name = name.split(|byte| *byte == 0).next()?;
    Some(PathBuf::from(OsStr::from_bytes(name)))
}

fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(size)?)?;
    let digits = bytes.iter().rev();
    Some(digits.fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_names_its_loader_and_nothing_else_does() {
        let ours = std::env::current_exe().unwrap();
        let loader = find(&ours).expect("tests are linked dynamically");
        assert!(loader.is_absolute() && loader.is_file(), "{loader:?}");
        assert_eq!(find(&loader), None, "a loader needs none itself");
        assert_eq!(find(Path::new("Cargo.toml")), None);
        assert_eq!(find(Path::new("/no/such/file")), None);
    }

    #[test]
    fn a_table_that_leads_outside_the_file_names_no_loader() {
        let mut head = vec![0; 64];
        head[..6].copy_from_slice(&ELF64_LITTLE);
        for (at, byte) in [(32, 0xff), (39, 0xff), (54, 56), (56, 200), (57, 1)] {
            head[at] = byte;
            assert_eq!(named_in(&head), None);
        }
    }
}
