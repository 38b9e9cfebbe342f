//! The extension module `spanwise._spanwise`: arrays in, library calls, arrays out.
//!
//! Nothing is computed here. The Python files beside it turn what people pass (tables, tensors, lists) into arrays of the
//! storage types this module takes, and its answers into the documented objects; see `spanwise/_spanwise.pyi`.

mod array;
mod attention;
mod design;
mod errors;
mod explain;
mod layers;
mod linear;
mod table;
mod team;
mod tensor;
mod work;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
fn _spanwise(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(work::after_fork, module)?)?;
    module.add_function(wrap_pyfunction!(team::use_openmp, module)?)?;
    module.add_function(wrap_pyfunction!(tensor::use_tensors, module)?)?;
    module.add_function(wrap_pyfunction!(tensor::tensors_attention, module)?)?;
    module.add_function(wrap_pyfunction!(table::matrix_of_stream, module)?)?;
    module.add_function(wrap_pyfunction!(table::columns_of_stream, module)?)?;
    module.add_function(wrap_pyfunction!(design::encode, module)?)?;
    attention::register(module)?;
    explain::register(module)?;
    layers::register(module)?;
    linear::register(module)
}
