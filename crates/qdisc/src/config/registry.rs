//! What follows from the list of kinds: [`Kind`](crate::Kind), [`AnyQdisc`](crate::AnyQdisc), and how one becomes the
//! other.

/// Makes `Kind` and `AnyQdisc` of the list.
///
/// `disciplines` has a line a type: the variant of `AnyQdisc`, and what it holds (in a `Box` if it is much larger than
/// the others). `kinds` has a line a name: the variant of `Kind`, its `About`, what resolves its settings, and the
/// variant and constructor that take them.
macro_rules! kinds {
    (
        disciplines {
            $($(#[$discipline_doc:meta])* $discipline:ident($type:ty),)*
        }
        kinds {
            $($(#[$kind_doc:meta])* $kind:ident: $about:path, $resolve:path => $built:ident($new:path),)*
        }
    ) => {
        /// Every discipline that can be asked for by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Kind {
            $($(#[$kind_doc])* $kind,)*
        }

        impl Kind {
            /// Every kind.
            pub const ALL: [Self; [$(Self::$kind),*].len()] = [$(Self::$kind),*];

            pub(crate) const fn about(self) -> &'static About {
                match self {
                    $(Self::$kind => &$about,)*
                }
            }

            /// Resolves its settings for what they say: `resolver` notes it.
            pub(crate) fn resolve(self, resolver: &mut Resolver<'_>) -> Result<(), ParameterError> {
                match self {
                    $(Self::$kind => $resolve(resolver).map(|_| ()),)*
                }
            }
        }

        /// Any of the disciplines, chosen at run time without `dyn` on the packet path.
        #[derive(Debug)]
        #[non_exhaustive]
        pub enum AnyQdisc<P> {
            $($(#[$discipline_doc])* $discipline($type),)*
        }

        impl<P: Packet> AnyQdisc<P> {
            /// The discipline that `resolver` was asked for.
            pub(crate) fn new(resolver: &mut Resolver<'_>, seed: Seed) -> Result<Self, ParameterError> {
                Ok(match resolver.kind() {
                    // `into` moves a large discipline into its box and leaves the others alone.
                    $(Kind::$kind => Self::$built($new($resolve(resolver)?, seed).into()),)*
                })
            }
        }

        impl<P: Packet> Qdisc<P> for AnyQdisc<P> {
            fn enqueue(&mut self, now: Time, packet: P, fate: &mut impl Fate<P>) {
                match self {
                    $(Self::$discipline(queue) => queue.enqueue(now, packet, fate),)*
                }
            }
            fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
                match self {
                    $(Self::$discipline(queue) => queue.dequeue(now, fate),)*
                }
            }
            fn packets(&self) -> usize {
                match self {
                    $(Self::$discipline(queue) => queue.packets(),)*
                }
            }
            fn bytes(&self) -> u64 {
                match self {
                    $(Self::$discipline(queue) => queue.bytes(),)*
                }
            }
            fn counters(&self) -> &Counters {
                match self {
                    $(Self::$discipline(queue) => queue.counters(),)*
                }
            }
            fn average(&self) -> Option<f64> {
                match self {
                    $(Self::$discipline(queue) => queue.average(),)*
                }
            }
            fn probability(&self) -> Option<f64> {
                match self {
                    $(Self::$discipline(queue) => queue.probability(),)*
                }
            }
            fn ready_at(&self) -> Option<Time> {
                match self {
                    $(Self::$discipline(queue) => queue.ready_at(),)*
                }
            }
        }
    };
}
pub(crate) use kinds;
