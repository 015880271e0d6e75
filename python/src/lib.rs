//! The compiled part of the Python package `fairlane`.
//!
//! It hands over what the crates below do; what a Python user sees is in `package/fairlane`.

use pyo3::prelude::*;

/// Private: import `fairlane` instead.
#[pymodule]
mod _core {
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
