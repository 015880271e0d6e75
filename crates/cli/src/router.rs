//! `fairlane router`: a discipline on a real link.

#[cfg(all(test, target_os = "linux"))]
mod example;
#[cfg(target_os = "linux")]
mod file;
#[cfg(target_os = "linux")]
mod http;
#[cfg(target_os = "linux")]
mod metrics;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod serve;
#[cfg(target_os = "linux")]
mod settings;
#[cfg(target_os = "linux")]
mod state;

#[cfg(target_os = "linux")]
pub(crate) use plan::Plan;

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::Plan;

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use crate::args;
    use crate::error::Failure;

    /// What cannot be.
    #[derive(Debug)]
    pub(crate) enum Plan {}

    impl Plan {
        #[allow(clippy::needless_pass_by_value, reason = "as on Linux")]
        pub(crate) fn new(_args: args::Router) -> Result<Self, Failure> {
            let message = "fairlane router works on the packet queues of Linux, and this is another system";
            Err(Failure::new(message, "run it on Linux; simulations and replays work here"))
        }

        pub(crate) fn execute(self) -> Result<(), Failure> {
            match self {}
        }
    }
}
