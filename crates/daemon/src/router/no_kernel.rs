//! The place of disciplines in the kernel, in builds without the feature `bpf`.

use std::io;

use fairlane_linux::{Link, Report};
use fairlane_qdisc::{QdiscConfig, Rate};

const MISSING: &str = "this build has no BPF programs, which need the feature bpf";

pub(super) fn check() -> Result<(), String> {
    Err(MISSING.to_owned())
}

pub(super) fn has_program(_discipline: &QdiscConfig, _rate: Rate) -> Result<(), String> {
    Err(MISSING.to_owned())
}

/// There is none.
pub(super) enum NoRouter {}

pub(super) use self::NoRouter as KernelRouter;

impl NoRouter {
    pub(super) fn attach(
        _interface: &str,
        _down: bool,
        _discipline: &QdiscConfig,
        _link: Link,
    ) -> Result<Self, String> {
        Err(MISSING.to_owned())
    }

    pub(super) fn report(&self) -> Report {
        match *self {}
    }

    pub(super) fn reload(&self, _discipline: &QdiscConfig, _link: Link) -> Result<(), String> {
        match *self {}
    }

    pub(super) fn stop(&self) {
        match *self {}
    }

    pub(super) fn run(&self) -> io::Result<Report> {
        match *self {}
    }
}
