//! The methods of objects that are written in Python.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// Returns true if `object` has this method.
pub(crate) fn has(object: &Bound<'_, PyAny>, method: &str) -> PyResult<bool> {
    Ok(object.getattr_opt(method)?.is_some_and(|method| method.is_callable()))
}

/// Checks that `object` has these methods, which the class `described` of the package describes.
pub(crate) fn require(object: &Bound<'_, PyAny>, methods: [&str; 2], described: &str) -> PyResult<()> {
    for method in methods {
        if !has(object, method)? {
            let class = object.get_type().name()?;
            return Err(PyTypeError::new_err(format!("{class} has no method {method}: see fairlane.{described}")));
        }
    }
    Ok(())
}
