//! `aqmrun`: the program of a paper on variants of CHOKe. See [`fairlane_daemon::aqmrun`].
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    fairlane_daemon::aqmrun::main()
}
