//! The options: one definition of each, from which help, completions and manual pages come too.

mod address;
#[cfg(feature = "router")]
mod aqmrun;
#[cfg(feature = "router")]
pub(crate) mod router;
#[cfg(feature = "top")]
mod top;

#[cfg(feature = "top")]
pub(crate) use self::address::USUAL;
#[cfg(feature = "router")]
pub use self::aqmrun::AqmrunArgs;
#[cfg(all(feature = "router", target_os = "linux"))]
pub(crate) use self::aqmrun::Variant;
#[cfg(feature = "router")]
pub use self::router::RouterArgs;
#[cfg(feature = "top")]
pub use self::top::TopArgs;
