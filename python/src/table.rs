//! Tables in Arrow's C data interface.

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch, RecordBatchIterator};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef, ffi::FFI_ArrowSchema};
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyList};

use crate::errors;
use std::io::Cursor;
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

    /// The types of the columns: `text`, `u32`, `u64` or `f64`.
    #[getter]
    fn types(&self) -> Vec<&'static str> {
        let name = |kind: &DataType| match kind {
            DataType::UInt32 => "u32",
            DataType::UInt64 => "u64",
            DataType::Float64 => "f64",
            _ => "text",
        };
        self.schema.fields().iter().map(|field| name(field.data_type())).collect()
    }

    /// Returns the first `rows` rows.
    fn head(&self, rows: usize) -> Self {
        let mut left = rows;
        let cut = |batch: &RecordBatch| {
            let here = left.min(batch.num_rows());
            left -= here;
            batch.slice(0, here)
        };
        Self { schema: Arc::clone(&self.schema), batches: self.batches.iter().map(cut).collect() }
    }

    /// Returns the columns that have a value in some row; all columns of a table without rows.
    fn filled(&self) -> PyResult<Self> {
        let has = |at: &usize| self.batches.iter().any(|batch| batch.column(*at).null_count() < batch.num_rows());
        if self.__len__() == 0 {
            return Ok(Self { schema: Arc::clone(&self.schema), batches: self.batches.clone() });
        }
        let kept: Vec<usize> = (0..self.schema.fields().len()).filter(has).collect();
        let of = |error: ArrowError| PyRuntimeError::new_err(error.to_string());
        let schema = Arc::new(self.schema.project(&kept).map_err(of)?);
        let batches = self.batches.iter().map(|batch| batch.project(&kept)).collect::<Result<_, _>>();
        Ok(Self { schema, batches: batches.map_err(of)? })
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let other = other.cast::<Self>();
        other.is_ok_and(|other| self.schema == other.get().schema && self.batches == other.get().batches)
    }

    /// The table in Arrow's form for streams.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        to_bytes(py, &self.schema, &self.batches)
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        let mistake = |error: ArrowError| errors::argument(error.to_string());
        let reader = StreamReader::try_new(Cursor::new(bytes), None).map_err(mistake)?;
        let schema = reader.schema();
        Ok(Self { schema, batches: reader.collect::<Result<_, _>>().map_err(mistake)? })
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

/// Returns batches in Arrow's form for streams.
pub(crate) fn to_bytes<'py>(
    py: Python<'py>,
    schema: &Schema,
    batches: &[RecordBatch],
) -> PyResult<Bound<'py, PyBytes>> {
    let write = || {
        let mut bytes = Vec::new();
        let mut writer = StreamWriter::try_new(&mut bytes, schema)?;
        batches.iter().try_for_each(|batch| writer.write(batch))?;
        writer.finish()?;
        drop(writer);
        Ok(bytes)
    };
    let written: Result<_, ArrowError> = write();
    written.map(|bytes| PyBytes::new(py, &bytes)).map_err(|error| PyRuntimeError::new_err(error.to_string()))
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
