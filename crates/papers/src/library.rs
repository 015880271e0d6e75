//! All claims, and the scenarios that they run.

use fairlane_scenario::suggest;

use crate::book::{Book, Claim, Experiment};
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
}

impl Library {
    /// Reads the claims that are part of this crate.
    ///
    /// # Errors
    /// A book cannot be read or contradicts itself; tests ensure that this does not happen.
    pub fn open() -> Result<Self, Error> {
        Self::of(&BOOKS)
    }

    /// The claims in `books`: names of files and their texts.
    ///
    /// # Errors
    /// A book cannot be read, or a name in it does not exist or exists twice.
    pub fn of(books: &[(&str, &str)]) -> Result<Self, Error> {
        let books = books.iter().map(|(name, text)| Book::parse(name, text)).collect::<Result<Vec<_>, _>>()?;
        check::check(&books)?;
        Ok(Self { books })
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
    /// order.
    ///
    /// # Errors
    /// There is no such claim; the error names the nearest.
    pub fn select(&self, asked: &[String]) -> Result<Vec<(&Book, &Claim)>, Error> {
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
