//! Large allocations have huge pages, and all have their contents.
#![cfg(target_os = "linux")]

use std::hint::black_box;
use std::path::Path;

use fairlane_alloc::HugePages;

#[global_allocator]
static MEMORY: HugePages = HugePages;

/// Returns true if the kernel has been asked for huge pages at an address (proc_pid_smaps(5): the flag `hg`).
fn is_advised(address: *const u8) -> bool {
    let maps = std::fs::read_to_string("/proc/self/smaps").expect("the kernel shows the memory of a process");
    let mut here = false;
    for line in maps.lines() {
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        let hexadecimal = |text| usize::from_str_radix(text, 16).ok();
        if let Some((from, to)) = range.and_then(|(from, to)| hexadecimal(from).zip(hexadecimal(to))) {
            here = (from..to).contains(&address.addr());
        } else if here && let Some(flags) = line.strip_prefix("VmFlags:") {
            return flags.split(' ').any(|flag| flag == "hg");
        }
    }
    panic!("there is no memory at {address:?}");
}

/// Returns the memory of the process in megabytes (proc_pid_status(5): `VmRSS`).
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the kernel shows the state of a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it shows the memory");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("it is a number") / 1024
}

/// Returns the address in the middle, as the kernel takes advice about whole pages.
fn middle<T>(items: &[T]) -> *const u8 {
    std::ptr::from_ref(&items[items.len() / 2]).cast()
}

/// In one test, since the allocator of the system gives memory that has been freed, with its flags, to whoever asks
/// next. Would catch advice that is not given, or for small allocations, which would take a page of 2 MB each, contents
/// that are lost when an allocation becomes large, or small, and memory that is never freed.
#[test]
fn large_allocations_have_huge_pages() {
    // It is allocated by itself, but is not large.
    let small = black_box(vec![1_u8; 1 << 20]);
    assert!(!is_advised(middle(&small)));
    let zeroed = black_box(vec![0_u64; 1 << 20]);
    let mut growing = black_box(small);
    growing.resize(16 << 20, 3);
    if Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
        assert!(is_advised(middle(&zeroed)) && is_advised(middle(&growing)));
    } else {
        skip::because("hugepages", "this kernel has no transparent huge pages");
    }
    assert!(zeroed.iter().all(|item| *item == 0));
    assert!(growing.iter().enumerate().all(|(place, item)| *item == if place < 1 << 20 { 1 } else { 3 }));
    growing.truncate(100_000);
    growing.shrink_to_fit();
    assert!(growing.iter().all(|item| *item == 1));
    drop(zeroed);
    let again = black_box(vec![0_u8; 8 << 20]);
    assert!(again.iter().all(|item| *item == 0));
    let before = resident();
    for _ in 0..50 {
        black_box(vec![1_u8; 8 << 20]);
    }
    assert!(resident() < before + 100, "{} MB, and {before} before", resident());
}
