//! Tables in Arrow's C data interface.

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch, RecordBatchIterator};
use arrow_schema::{Schema, SchemaRef, ffi::FFI_ArrowSchema};
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};

use std::sync::Arc;

/// A table that is passed on through Arrow's C interface without a copy.
#[pyclass(module = "fairlane._core", frozen)]
pub(crate) struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Table {
    pub(crate) fn new(batches: Vec<RecordBatch>) -> Self {
        let schema = batches.first().map_or_else(|| Arc::new(Schema::empty()), RecordBatch::schema);
        Self { schema, batches }
    }
}

#[pymethods]
impl Table {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer keep to its own schema.
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref());
        let schema = schema.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        let Ok(at) = self.schema.index_of(name) else { return Err(PyKeyError::new_err(name.to_owned())) };
        for batch in &self.batches {
            append(&list, batch.column(at).as_ref())?;
        }
        Ok(list)
    }
}

/// Adds the values of a column to a list; `None` where there is none.
fn append(list: &Bound<'_, PyList>, column: &dyn Array) -> PyResult<()> {
    if let Some(texts) = column.as_string_opt::<i32>() {
        return texts.iter().try_for_each(|text| list.append(text));
    }
    if let Some(numbers) = column.as_primitive_opt::<Float64Type>() {
        return numbers.iter().try_for_each(|number| list.append(number));
    }
    if let Some(numbers) = column.as_primitive_opt::<UInt64Type>() {
        return numbers.iter().try_for_each(|number| list.append(number));
    }
    if let Some(numbers) = column.as_primitive_opt::<UInt32Type>() {
        return numbers.iter().try_for_each(|number| list.append(number));
    }
    Err(PyRuntimeError::new_err(format!("no column of the type {} is known", column.data_type())))
}
