//! The functions that a page calls. Each acts on the one [`Machine`] of its thread.
//!
//! The only thing here that the compiler does not check is that no other symbol of the module has one of these names:
//! hence their prefix. No function takes a pointer. Those that return one return the begin of a buffer of the machine,
//! which the page reads, or fills, before its next call: WebAssembly runs one call at a time, and a call to another
//! function may move the buffer.
#![allow(unsafe_code, reason = "`no_mangle` is unsafe, since symbols of one name would be one function")]

use std::cell::RefCell;

use crate::machine::Machine;

thread_local! {
    static MACHINE: RefCell<Machine> = RefCell::new(Machine::default());
}

macro_rules! exports {
    ($($(#[$meta:meta])* fn $name:ident($machine:ident $(, $argument:ident: $type:ty)*) $(-> $result:ty)? { $body:expr })*) => {
        $($(#[$meta])*
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $name($($argument: $type),*) $(-> $result)? {
            MACHINE.with_borrow_mut(|$machine| $body)
        })*
    };
}

exports! {
    /// See [`Machine::input`].
    fn fairlane_input(machine, bytes: usize) -> *mut u8 { machine.input(bytes).as_mut_ptr() }
    /// The begin of [`Machine::output`].
    fn fairlane_output(machine) -> *const u8 { machine.output().as_ptr() }
    /// The length of [`Machine::output`] in bytes.
    fn fairlane_output_len(machine) -> usize { machine.output().len() }
    /// The begin of [`Machine::numbers`].
    fn fairlane_numbers(machine) -> *const f64 { machine.numbers().as_ptr() }
    /// The length of [`Machine::numbers`].
    fn fairlane_numbers_len(machine) -> usize { machine.numbers().len() }
    /// See [`Machine::error_line`].
    fn fairlane_error_line(machine) -> usize { machine.error_line() }
    /// See [`Machine::constants`].
    fn fairlane_constants(machine) { machine.constants() }
    /// See [`Machine::create`].
    fn fairlane_create(machine, side: usize, run: u32) -> bool { machine.create(side, run) }
    /// See [`Machine::remove`].
    fn fairlane_remove(machine, side: usize) { machine.remove(side) }
    /// See [`Machine::advance`].
    fn fairlane_advance(machine, side: usize, until_ns: f64) -> bool { machine.advance(side, until_ns) }
    /// See [`Machine::set_interval`].
    fn fairlane_set_interval(machine, side: usize, interval_ns: f64) { machine.set_interval(side, interval_ns) }
    /// See [`Machine::update`].
    fn fairlane_update(machine, side: usize) -> u32 { machine.update(side) }
    /// See [`Machine::frame`].
    fn fairlane_frame(machine, side: usize) { machine.frame(side) }
    /// See [`Machine::series`].
    fn fairlane_series(machine, side: usize) -> usize { machine.series(side) }
    /// See [`Machine::toml`].
    fn fairlane_toml(machine) -> bool { machine.toml() }
    /// See [`Machine::prepare`].
    fn fairlane_prepare(machine) -> bool { machine.prepare() }
    /// See [`Machine::run`].
    fn fairlane_run(machine) -> bool { machine.run() }
    /// See [`Machine::outcome`].
    fn fairlane_outcome(machine) { machine.outcome() }
}
