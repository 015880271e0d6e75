//! CHOKe for firmware in C: a static library that asks for `malloc`, `free` and `abort` of the program, and for nothing
//! else. `firmware.h` describes its functions; `run` builds it, tests it and says how large it is.
#![no_std]

extern crate alloc;

use alloc::boxed::Box;
use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;
use core::panic::PanicInfo;
use core::ptr;

use fairlane_qdisc::discipline::choke::{Choke, Config};
use fairlane_qdisc::discipline::red::RedParameters;
use fairlane_qdisc::{DropSink, FlowKey, Packet, Qdisc, Rate, Reason, Seed, Size, Time};

unsafe extern "C" {
    fn malloc(bytes: usize) -> *mut c_void;
    fn free(memory: *mut c_void);
    fn abort() -> !;
}

/// The program's heap.
struct Heap;

// SAFETY: C's functions return memory that is free and large enough, aligned for every basic type.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() > 2 * size_of::<usize>() {
            return ptr::null_mut();
        }
        // SAFETY: any size may be asked for.
        unsafe { malloc(layout.size()).cast() }
    }

    unsafe fn dealloc(&self, memory: *mut u8, _layout: Layout) {
        // SAFETY: it is from `alloc`.
        unsafe { free(memory.cast()) };
    }
}

#[global_allocator]
static HEAP: Heap = Heap;

#[panic_handler]
fn panicked(_: &PanicInfo<'_>) -> ! {
    // SAFETY: it can be called at any time.
    unsafe { abort() }
}

/// Tables for unwinding of Rust's own code name this function where the target has an operating system. It is never
/// called, since a panic ends the program.
#[cfg(not(target_os = "none"))]
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

/// A packet: `choke_packet` in C.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct ChokePacket {
    handle: *mut c_void,
    flow: u32,
    bytes: u32,
}

impl Packet for ChokePacket {
    fn flow(&self) -> FlowKey {
        FlowKey::new(self.flow.into())
    }
    fn bytes(&self) -> u32 {
        self.bytes.max(1)
    }
    fn ecn_capable(&self) -> bool {
        false
    }
    fn mark_ce(&mut self) {}
}

/// The program's function for dropped packets.
#[derive(Clone, Copy)]
struct Dropped {
    function: unsafe extern "C" fn(context: *mut c_void, packet: *const ChokePacket),
    context: *mut c_void,
}

impl DropSink<ChokePacket> for Dropped {
    fn dropped(&mut self, _now: Time, packet: ChokePacket, _reason: Reason) {
        // SAFETY: the caller of `choke_new` promised that it can be called. The packet is valid during the call.
        unsafe { (self.function)(self.context, &raw const packet) };
    }
    fn marked(&mut self, _now: Time, _packet: &ChokePacket, _reason: Reason) {}
}

/// A queue: `choke` in C.
pub struct Queue {
    choke: Choke<ChokePacket>,
    dropped: Dropped,
}

/// See `firmware.h`.
#[unsafe(no_mangle)]
pub extern "C" fn choke_new(
    limit: u32,
    min: u32,
    max: u32,
    rate: u64,
    seed: u64,
    dropped: unsafe extern "C" fn(*mut c_void, *const ChokePacket),
    context: *mut c_void,
) -> *mut Queue {
    let red = RedParameters { min: Size::packets(min), max: Size::packets(max), ..Default::default() };
    let config = Config { limit: Size::packets(limit), red, ..Config::default() };
    let Ok(mut choke) = Choke::new(config, Seed::new(seed)) else { return ptr::null_mut() };
    choke.link_rate(Rate::from_bits_per_second(rate));
    Box::into_raw(Box::new(Queue { choke, dropped: Dropped { function: dropped, context } }))
}

/// See `firmware.h`.
///
/// # Safety
/// The queue is from `choke_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn choke_enqueue(queue: &mut Queue, now: u64, packet: &ChokePacket) {
    let mut dropped = queue.dropped;
    queue.choke.enqueue(Time::from_nanos(now), *packet, &mut dropped);
}

/// See `firmware.h`.
///
/// # Safety
/// The queue is from `choke_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn choke_dequeue(queue: &mut Queue, now: u64, packet: &mut ChokePacket) -> i32 {
    let mut dropped = queue.dropped;
    let next = queue.choke.dequeue(Time::from_nanos(now), &mut dropped);
    next.map_or(0, |next| {
        *packet = next;
        1
    })
}

/// See `firmware.h`.
///
/// # Safety
/// The queue is from `choke_new` and empty; nothing uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn choke_free(queue: *mut Queue) {
    // SAFETY: the caller promises it.
    drop(unsafe { Box::from_raw(queue) });
}
