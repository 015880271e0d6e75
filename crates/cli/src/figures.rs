//! `--svg` and `--pdf`: figures of outcomes.

use fairlane_console::Failure;
use fairlane_outcome::{Extent, Outcome};
#[cfg(feature = "html")]
use fairlane_report::{Figure, Measure, compare_figure, sweep_figure};

use crate::args::shared::FigureFiles;
use crate::features;
use crate::files::Outputs;

impl FigureFiles {
    /// Returns the outputs with the figures.
    ///
    /// # Errors
    /// This build cannot draw them.
    pub(crate) fn outputs(&self, outputs: Outputs) -> Result<Outputs, Failure> {
        if !cfg!(feature = "html") && self.svg.is_some() {
            return Err(features::missing("figures (--svg)", "html"));
        }
        if !cfg!(feature = "pdf") && self.pdf.is_some() {
            return Err(features::missing("figures as PDF (--pdf)", "pdf"));
        }
        Ok(outputs.file("--svg", self.svg.as_deref()).file("--pdf", self.pdf.as_deref()))
    }

    /// Returns true if no figure is requested.
    #[cfg(feature = "html")]
    pub(crate) const fn is_none(&self) -> bool {
        self.svg.is_none() && self.pdf.is_none()
    }

    /// Draws the shares of outcomes, if a figure is requested: those of a sweep against the first key with numbers.
    #[cfg(feature = "html")]
    pub(crate) fn draw(&self, outcomes: &[Outcome], extent: Extent) -> Option<Result<(), Failure>> {
        (!self.is_none() && !outcomes.is_empty()).then(|| self.write(&default_figure(outcomes), extent))
    }

    /// Draws nothing: [`outputs`](Self::outputs) has refused figures.
    #[cfg(not(feature = "html"))]
    pub(crate) const fn draw(&self, _outcomes: &[Outcome], _extent: Extent) -> Option<Result<(), Failure>> {
        None
    }

    /// Writes the figure into the requested files.
    #[cfg(feature = "html")]
    pub(crate) fn write(&self, figure: &Figure, extent: Extent) -> Result<(), Failure> {
        use fairlane_runner::files;

        if let Some(file) = &self.svg {
            files::write(file, figure.to_svg(), extent)?;
        }
        #[cfg(feature = "pdf")]
        if let Some(file) = &self.pdf {
            files::write(file, figure.to_pdf().map_err(Failure::plain)?, extent)?;
        }
        Ok(())
    }
}

/// The shares against the varied key, or as bars if its values are no numbers.
#[cfg(feature = "html")]
pub(crate) fn default_figure(outcomes: &[Outcome]) -> Figure {
    sweep_figure(outcomes, Measure::Share, None).unwrap_or_else(|| compare_figure(outcomes))
}
