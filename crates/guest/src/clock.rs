//! A shared library for QEMU in which the time of day stands still.
//!
//! QEMU resizes its cache of address translations by its use in the last 100 ms of the time of day. With another size
//! the guest takes another course, perhaps since the accessed bits of its page tables differ. No option turns this off.
//!
//! Source: QEMU 7.2, `tlb_mmu_resize_locked` in `accel/tcg/cputlb.c`.

/// `gettimeofday`: endbr64; mov qword [rdi], 1577836800; mov qword [rdi + 8], 0; xor eax, eax; ret.
const CODE: [u8; 22] = [
    0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0xc7, 0x07, 0x00, 0xe1, 0x0b, 0x5e, 0x48, 0xc7, 0x47, 0x08, 0, 0, 0, 0, 0x31, 0xc0,
    0xc3,
];

/// Names, of which the second is that of the function.
const NAMES: &[u8; 16] = b"\0gettimeofday\0\0\0";

/// Where the parts are in the file, which is mapped twice: to run at 0, and for the loader to write in at `DATA`.
const SEGMENTS: u64 = 64;
const DYNAMIC: u64 = SEGMENTS + 4 * 56;
const SYMBOLS: u64 = DYNAMIC + 6 * 16;
const HASH: u64 = SYMBOLS + 2 * 24;
const NAMES_AT: u64 = HASH + 5 * 4 + 4;
const CODE_AT: u64 = NAMES_AT + NAMES.len() as u64;
const END: u64 = CODE_AT + CODE.len() as u64;
const PAGE: u64 = 0x1000;
const DATA: u64 = PAGE;

/// Returns the library, for x86-64.
///
/// Source: System V Application Binary Interface, chapters 4 and 5.
pub(crate) fn still() -> Vec<u8> {
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    // A shared object for x86-64, of version 1, without an entry and without sections.
    file.extend([3_u16, 62].map(u16::to_le_bytes).concat());
    file.extend(1_u32.to_le_bytes());
    file.extend([0, SEGMENTS, 0].map(u64::to_le_bytes).concat());
    file.extend(0_u32.to_le_bytes());
    file.extend([64_u16, 56, 4, 64, 0, 0].map(u16::to_le_bytes).concat());
    // Kind, flags, offset, address, length, alignment: two to load, the dynamic section, and a stack without code.
    let segments = [
        (1, 5, 0, 0, END, PAGE),
        (1, 6, 0, DATA, END, PAGE),
        (2, 6, DYNAMIC, DATA + DYNAMIC, 6 * 16, 8),
        (0x6474_e551, 6, 0, 0, 0, 16),
    ];
    for (kind, flags, offset, address, length, alignment) in segments {
        file.extend([kind, flags].map(u32::to_le_bytes).concat());
        file.extend([offset, address, address, length, length, alignment].map(u64::to_le_bytes).concat());
    }
    // The hash table, the names, the symbols, the lengths of the names and of a symbol, and the end.
    let dynamic = [(4, HASH), (5, NAMES_AT), (6, SYMBOLS), (10, NAMES.len() as u64), (11, 24), (0, 0)];
    for (tag, value) in dynamic {
        file.extend([tag, value].map(u64::to_le_bytes).concat());
    }
    // No symbol, and then a global function of the first section.
    file.extend([0; 24]);
    file.extend(1_u32.to_le_bytes());
    file.extend([0x12, 0, 1, 0]);
    file.extend([CODE_AT, CODE.len() as u64].map(u64::to_le_bytes).concat());
    // One bucket, two symbols; the bucket begins with the second, which is the last.
    file.extend([1_u32, 2, 1, 0, 0, 0].map(u32::to_le_bytes).concat());
    file.extend(NAMES);
    file.extend(CODE);
    file
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    /// A program that asks twice gets the same time; bash(1) asks this function.
    #[test]
    fn the_time_of_day_stands_still() {
        let file = still();
        assert_eq!(file.len() as u64, END);
        let folder = tempfile::tempdir().expect("a folder");
        let library = folder.path().join("clock.so");
        fs::write(&library, file).expect("it can be written");
        let mut shell = Command::new("bash");
        shell.env("LC_ALL", "C").args(["-c", "echo $EPOCHREALTIME; sleep 0.01; echo $EPOCHREALTIME"]);
        let output = shell.env("LD_PRELOAD", library).output().expect("there is a shell");
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(said, "1577836800.000000\n1577836800.000000\n", "{}", String::from_utf8_lossy(&output.stderr));
    }
}
