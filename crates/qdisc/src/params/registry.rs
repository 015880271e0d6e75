//! Types generated from the list of kinds: [`Kind`](crate::Kind), [`AnyConfig`](crate::AnyConfig), and the conversions
//! between them.

/// Generates `Kind` and `AnyConfig` from the list.
///
/// `configs` has a line for each type: the feature that compiles it, the variant of `AnyConfig`, and the discipline
/// whose `Config` it holds. `kinds` has a line a name: the variant of `Kind`, its `Info`, what resolves parameters into
/// its configuration, and the variant of `AnyConfig` that this is.
macro_rules! kinds {
    (
        configs {
            $($(#[doc = $config_doc:literal])* #[cfg($config_cfg:meta)] $variant:ident($module:ident::$discipline:ident),)*
        }
        kinds {
            $($(#[doc = $kind_doc:literal])* #[cfg($kind_cfg:meta)] $kind:ident: $info:path, $resolve:path => $built:ident,)*
        }
    ) => {
        /// Every discipline that can be asked for by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Kind {
            $($(#[doc = $kind_doc])* #[cfg($kind_cfg)] $kind,)*
        }

        impl Kind {
            /// Every kind.
            pub const ALL: [Self; [$(#[cfg($kind_cfg)] Self::$kind),*].len()] = [$(#[cfg($kind_cfg)] Self::$kind),*];

            pub(crate) const fn info(self) -> &'static Info {
                match self {
                    $(#[cfg($kind_cfg)] Self::$kind => &$info,)*
                }
            }

            /// Resolves the parameters that `resolver` was given into a configuration.
            pub(crate) fn resolve(self, resolver: &mut Resolver<'_>) -> Result<AnyConfig, ParameterError> {
                match self {
                    $(#[cfg($kind_cfg)] Self::$kind => $resolve(resolver).map(AnyConfig::$built),)*
                }
            }
        }

        /// The configuration of any of the disciplines.
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(tag = "discipline", rename_all = "kebab-case"))]
        #[non_exhaustive]
        pub enum AnyConfig {
            $($(#[doc = $config_doc])* #[cfg($config_cfg)] $variant($module::Config),)*
        }

        impl AnyConfig {
            /// Creates the discipline, empty; tell it the rate of its link with
            /// [`Qdisc::link_rate`](crate::Qdisc::link_rate).
            ///
            /// # Errors
            /// A value is out of its range, or values contradict each other.
            pub fn build<P: Packet + Send + Sync + 'static>(&self, seed: Seed) -> Result<BoxQdisc<P>, ParameterError> {
                match self {
                    $(#[cfg($config_cfg)] Self::$variant(config) => Ok(Box::new($module::$discipline::new(config.clone(), seed)?)),)*
                }
            }
        }
    };
}
pub(crate) use kinds;
