//! Units as data: the text that tc(8) has for them, such as `"300p"` and `"10mbit"`.

use alloc::borrow::Cow;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Bytes, Duration, Packets, Rate, Size};

macro_rules! as_text {
    ($($unit:ty),*) => {
        $(
            impl Serialize for $unit {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.collect_str(self)
                }
            }

            impl<'de> Deserialize<'de> for $unit {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    Cow::<str>::deserialize(deserializer)?.parse().map_err(D::Error::custom)
                }
            }
        )*
    };
}

as_text!(Bytes, Duration, Packets, Rate, Size);
