//! All claims, and the scenarios that they run.

use std::fs;
use std::path::PathBuf;

use fairlane_scenario::{bundled, suggest};

use crate::book::{Book, Claim, Experiment, Place, line_of};
use crate::{Error, check};

/// The books, one a paper, in the order of the papers' years.
const BOOKS: [(&str, &str); 7] = [
    ("choke-report.toml", include_str!("../claims/choke-report.toml")),
    ("choke.toml", include_str!("../claims/choke.toml")),
    ("blue-sfb.toml", include_str!("../claims/blue-sfb.toml")),
    ("bare.toml", include_str!("../claims/bare.toml")),
    ("choke-variants.toml", include_str!("../claims/choke-variants.toml")),
    ("bbr.toml", include_str!("../claims/bbr.toml")),
    ("echo.toml", include_str!("../claims/echo.toml")),
];

/// All claims of all papers.
#[derive(Clone, Debug)]
pub struct Library {
    books: Vec<Book>,
    /// The files of the books, if they are not those of this crate.
    files: Vec<PathBuf>,
}

impl Library {
    /// Reads the claims that are part of this crate.
    ///
    /// # Errors
    /// A book cannot be read or contradicts itself; tests ensure that this does not happen.
    pub fn open() -> Result<Self, Error> {
        Self::of(&BOOKS)
    }

    /// Opens the claims that are `asked` for: the files that are named, which end in `.toml`, or else those of this
    /// crate.
    ///
    /// # Errors
    /// A file cannot be read, a name in it does not exist or exists twice, or files and names of claims are mixed.
    pub fn asked(asked: &[String]) -> Result<Self, Error> {
        let files: Vec<&str> = asked.iter().map(String::as_str).filter(|name| is_file(name)).collect();
        match files.len() {
            0 => Self::open(),
            count if count < asked.len() => Err(Error::Mixed),
            _ => Self::load(&files),
        }
    }

    fn load(files: &[&str]) -> Result<Self, Error> {
        let read =
            |name: &&str| fs::read_to_string(name).map_err(|source| Error::Read { path: PathBuf::from(name), source });
        let texts = files.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let sources: Vec<(&str, &str)> = files.iter().copied().zip(texts.iter().map(String::as_str)).collect();
        let mut books = sources.iter().map(|(name, text)| Book::parse(name, text)).collect::<Result<Vec<_>, _>>()?;
        for (book, (name, text)) in books.iter_mut().zip(&sources) {
            for experiment in &mut book.experiments {
                let line = line_of(text, "experiments", &experiment.id).unwrap_or(1);
                experiment.place = Some(Place { file: PathBuf::from(name), line });
            }
        }
        check::check(&books, &sources)?;
        Ok(Self { books, files: files.iter().map(PathBuf::from).collect() })
    }

    /// The files outside of this crate that the claims depend on: those of the claims, of their scenarios and of the
    /// traces that these read.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        let own = self.books.iter().flat_map(|book| &book.experiments).filter(|own| own.place.is_some());
        let scenarios = own.filter_map(|experiment| {
            let name = experiment.scenario.as_deref().filter(|name| bundled(name).is_none())?;
            let path = experiment.place.as_ref()?.file.with_file_name(name);
            let read = experiment.document().map(|document| document.files()).unwrap_or_default();
            Some([path].into_iter().chain(read))
        });
        self.files.iter().cloned().chain(scenarios.flatten()).collect()
    }

    /// The claims in `books`: names of files and their texts.
    ///
    /// # Errors
    /// A book cannot be read, or a name in it does not exist or exists twice.
    pub fn of(books: &[(&str, &str)]) -> Result<Self, Error> {
        let parsed = books.iter().map(|(name, text)| Book::parse(name, text)).collect::<Result<Vec<_>, _>>()?;
        check::check(&parsed, books)?;
        Ok(Self { books: parsed, files: Vec::new() })
    }

    /// The books, one a paper.
    #[must_use]
    pub fn books(&self) -> &[Book] {
        &self.books
    }

    /// All claims, each with its book.
    pub fn claims(&self) -> impl Iterator<Item = (&Book, &Claim)> {
        self.books.iter().flat_map(|book| book.claims.iter().map(move |claim| (book, claim)))
    }

    /// The experiment called `id`.
    #[must_use]
    pub fn experiment(&self, id: &str) -> Option<&Experiment> {
        self.books.iter().flat_map(|book| &book.experiments).find(|experiment| experiment.id == id)
    }

    /// The claims called `asked`: `all`, a paper's id for all of its claims, or claims' ids; each once, in the books'
    /// order. Of books in files it is all of them.
    ///
    /// # Errors
    /// There is no such claim; the error names the nearest.
    pub fn select(&self, asked: &[String]) -> Result<Vec<(&Book, &Claim)>, Error> {
        if !self.files.is_empty() {
            return Ok(self.claims().collect());
        }
        for name in asked {
            let known = || {
                self.claims()
                    .map(|(_, claim)| claim.id.as_str())
                    .chain(self.books.iter().map(|book| book.paper.id.as_str()))
            };
            if name != "all" && !known().any(|id| id == name) {
                let help = match suggest::nearest(name, known()) {
                    Some(id) => format!("did you mean \"{id}\"? `fairlane paper list` shows them all"),
                    None => "`fairlane paper list` shows them all".to_owned(),
                };
                return Err(Error::Unknown { asked: name.clone(), help });
            }
        }
        let wanted = |(book, claim): &(&Book, &Claim)| {
            asked.iter().any(|name| name == "all" || *name == claim.id || *name == book.paper.id)
        };
        Ok(self.claims().filter(wanted).collect())
    }
}

/// Returns true if a name of claims is that of a file.
fn is_file(name: &str) -> bool {
    name.ends_with(".toml")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_books_are_read() {
        let library = Library::open().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(library.books().len(), BOOKS.len());
        assert_eq!(library.select(&["all".to_owned()]).map(|all| all.len()).ok(), Some(library.claims().count()));
    }

    #[test]
    fn a_slip_is_told_what_was_meant() {
        let library = Library::open().unwrap_or_else(|error| panic!("{error}"));
        let error = library.select(&["choke-fgi3".to_owned()]).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(
            error.contains("there is no claim \"choke-fgi3\"") && error.contains("did you mean \"choke-fig3"),
            "{error}"
        );
    }
}
