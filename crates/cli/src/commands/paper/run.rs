//! Claims run and judged.

use std::path::{Path, PathBuf};
use std::{env, fs};

use fairlane_console::Failure;
use fairlane_console::layout::{columns, paragraph};
use fairlane_outcome::Extent;
use fairlane_papers::{
    Cross, Document, Finding, Judgement, Library, Options, Plan, Status, Store, Tally, Verdict, crosses, documents,
    json, page, shown, tallies,
};
use fairlane_report::html::Provenance;
use fairlane_runner::{files, pool};
use rayon::ThreadPool;

use super::failure;
use crate::args::paper::PaperRunArgs;
use crate::features::command;
use crate::files::Outputs;
use crate::{output, progress, shared};

/// The most claims that are printed number by number.
const FEW: usize = 3;

/// Claims that are ready to run.
pub(crate) struct PaperRun {
    args: PaperRunArgs,
    claims: Library,
    pool: ThreadPool,
    /// `None` while another process keeps its finished runs in the file.
    store: Option<Store>,
}

impl PaperRun {
    /// Reads and checks everything.
    pub(crate) fn new(args: PaperRunArgs) -> Result<Self, Failure> {
        let claims = Library::asked(&args.ids).map_err(failure)?;
        claims.select(&args.ids).map_err(failure)?;
        let outputs = Outputs::default().file("--html", args.html.as_deref());
        outputs.check(&claims.files())?;
        args.docs.as_deref().map_or(Ok(()), files::folder)?;
        let store = open(&kept(&args, &claims.files())?)?;
        let pool = pool(args.threads.jobs)?;
        Ok(Self { args, claims, pool, store })
    }

    /// Runs and judges the claims.
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let options = Options { short: self.args.short, runs: self.args.runs.map(std::num::NonZeroU32::get) };
        let prepared = self
            .claims
            .select(&self.args.ids)
            .and_then(|claims| Plan::new(&self.claims, claims, options))
            .map_err(failure)?;
        let known = self.store.as_ref().map_or(0, Store::known);
        if known > 0 {
            output::tell(&format!("continuing: {known} runs are finished already\n"));
        }
        let control = progress::control()?;
        let results = progress::watched(&control, prepared.runs(), || {
            self.pool.install(|| prepared.execute(self.store.as_ref(), &control))
        })
        .map_err(failure)?;
        let verdicts = prepared.judge(&results).map_err(failure)?;
        let tables = crosses(&verdicts, &results).map_err(failure)?;
        if self.args.form.json {
            output::print_json(&json::verdicts(&verdicts, &tables, results.partial))?;
        } else {
            output::print(&(by_axes(&tables) + &text(&verdicts, output::width())))?;
        }
        if let Some(file) = &self.args.html {
            let page = page(&self.claims, &verdicts, &results, options, self.provenance(options)).map_err(failure)?;
            files::write(file, page.to_html(), Extent::of(results.partial))?;
        }
        if let Some(folder) = &self.args.docs {
            let documents = documents(self.claims.books(), &verdicts, &results).map_err(failure)?;
            write_documents(folder, &documents, Extent::of(results.partial))?;
        }
        if results.partial {
            return Err(if self.store.is_some() {
                let message = shared::interrupted("some runs are missing; finished ones are kept");
                Failure::new(message, "run it again for the rest")
            } else {
                Failure::plain(shared::interrupted("some runs are missing, and none are kept"))
            });
        }
        self.store.map_or(Ok(()), Store::remove).map_err(failure)?;
        let any = |status| verdicts.iter().any(|verdict| verdict.status() == Some(status));
        match (any(Status::Short), any(Status::Undecided)) {
            (true, _) => Err(Failure::FellShort),
            (false, true) => Err(Failure::Undecided),
            (false, false) => Ok(()),
        }
    }
}

impl PaperRun {
    fn provenance(&self, options: Options) -> Provenance {
        let form = if options.short { "short" } else { "full" };
        let facts =
            [("Version", env!("CARGO_PKG_VERSION").to_owned()), ("Form", form.to_owned()), ("Command", command())];
        Provenance { facts: facts.map(|(name, fact)| (name.to_owned(), fact)).into(), texts: Vec::new() }
    }
}

fn write_documents(folder: &Path, documents: &[Document], extent: Extent) -> Result<(), Failure> {
    for document in documents {
        let file = folder.join(&document.name);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).map_err(|error| Failure::write(folder, &error))?;
        }
        files::write(&file, &document.text, extent)?;
    }
    Ok(())
}

/// Returns the file of finished runs: one for each program, form of the experiments and contents of `files`.
fn kept(args: &PaperRunArgs, files: &[PathBuf]) -> Result<PathBuf, Failure> {
    let folder = args.state.clone().unwrap_or_else(cache);
    let program = env::current_exe().and_then(fs::read).map_err(|error| {
        Failure::plain(format!("cannot read this program, to find the runs that it finished before: {error}"))
    })?;
    // FNV-1a.
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let mut hash = program.iter().fold(0xcbf2_9ce4_8422_2325_u64, fold);
    for file in files {
        let text = fs::read(file).map_err(|error| Failure::plain(format!("{}: {error}", file.display())))?;
        hash = text.iter().fold(hash, fold);
    }
    let form = if args.short { "short" } else { "full" };
    Ok(folder.join(format!("papers-{form}-{hash:016x}.jsonl")))
}

/// Opens the file of finished runs, or tells that another process has it.
fn open(path: &Path) -> Result<Option<Store>, Failure> {
    let store = Store::open(path).map_err(failure)?;
    if store.is_none() {
        let path = path.display();
        output::tell(&format!(
            "another `fairlane paper run` keeps its finished runs in {path}; those of this one are not kept (--state DIR has another folder)\n"
        ));
    }
    Ok(store)
}

/// Returns the user's cache folder.
fn cache() -> PathBuf {
    // Never a folder that others may have made, as one in /tmp.
    let set = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || env::home_dir().map(|home| home.join(".cache"));
    set.or_else(home).unwrap_or_else(|| PathBuf::from("/var/cache")).join("fairlane")
}

fn text(verdicts: &[Verdict<'_>], width: usize) -> String {
    let mut text = String::new();
    if verdicts.len() > FEW {
        let row = |verdict: &Verdict<'_>| {
            let (met, run) = verdict.count();
            let count = if run == 0 { String::new() } else { format!("{met} of {run}") };
            [verdict.claim.id.clone(), shown::standing(verdict.status()).to_owned(), count, verdict.claim.place.clone()]
        };
        text += &columns(&verdicts.iter().map(row).collect::<Vec<_>>(), width);
    }
    for verdict in verdicts {
        if verdicts.len() <= FEW || matches!(verdict.status(), Some(Status::Short | Status::Undecided)) {
            if !text.is_empty() {
                text += "\n";
            }
            text += &number_by_number(verdict, verdicts.len() <= FEW, width);
        }
    }
    let of = |status| verdicts.iter().filter(|verdict| verdict.status() == status).count();
    let counts = [
        (Some(Status::Met), "met"),
        (Some(Status::Short), "fell short"),
        (Some(Status::Undecided), "not decided"),
        (Some(Status::Out), "not testable"),
        (None, "not run"),
    ];
    let counts = counts.into_iter().map(|(status, word)| (of(status), word)).filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, word)| format!("{count} {word}")).collect();
    let noun = if verdicts.len() == 1 { "claim" } else { "claims" };
    text += &format!("\n{} {noun}: {}\n", verdicts.len(), counts.join(", "));
    let tallies = tallies(verdicts);
    if tallies.len() > 1 { text + &columns(&tallies.iter().map(counted).collect::<Vec<_>>(), width) } else { text }
}

/// Returns the tables of the experiments; their lines are as long as they are.
fn by_axes(tables: &[Cross]) -> String {
    let length = |cell: &String| cell.chars().count();
    let mut text = String::new();
    for table in tables {
        text += &format!("{}\n", table.title);
        let rows = [&table.head].into_iter().chain(&table.lines);
        let mut widths = vec![0; table.head.len()];
        for row in rows.clone() {
            row.iter().zip(&mut widths).for_each(|(cell, width)| *width = length(cell).max(*width));
        }
        for row in rows {
            let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            text += &format!("  {}\n", cells.join("  ").trim_end());
        }
        text += "\n";
    }
    text
}

/// Returns the line of the claims that rest on one thing.
fn counted(tally: &Tally) -> [String; 2] {
    let counts = [(tally.met, "met"), (tally.short, "fell short"), (tally.undecided, "not decided")];
    let counts: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    [format!("rest on {}", tally.basis.phrase()), counts.join(", ")]
}

/// Returns a claim with all of its numbers, or those that are not met.
fn number_by_number(verdict: &Verdict<'_>, all: bool, width: usize) -> String {
    let claim = verdict.claim;
    let title =
        format!("{} ({}, {}): {}", claim.id, verdict.book.paper.id, claim.place, shown::standing(verdict.status()));
    let mut text = paragraph(&title, "", "  ", width);
    text += &paragraph(&claim.says, "  ", "  ", width);
    let row = |finding: &Finding<'_>| {
        let number = match finding.ours {
            Some(_) => finding.shown(),
            None if finding.judgement.is_none() => "not in this form".to_owned(),
            None => "no number".to_owned(),
        };
        let others = finding.others();
        let asked = format!(
            "asked: {}{}",
            shown::demand(finding.demand),
            if others.is_empty() { String::new() } else { format!(" ({others})") }
        );
        [shown::sign(finding.judgement).to_owned(), finding.what.clone(), number, asked]
    };
    let is_shown =
        |finding: &&Finding<'_>| all || matches!(finding.judgement, Some(Judgement::Missed | Judgement::Undecided));
    let rows: Vec<[String; 4]> = verdict.findings.iter().filter(is_shown).map(row).collect();
    text += &columns(&rows, width);
    if verdict.findings.iter().any(|finding| finding.judgement == Some(Judgement::Undecided)) {
        text += &paragraph("? not decided: the interval is too wide; more runs are needed (--runs)", "  ", "  ", width);
    }
    if !claim.remark.is_empty() {
        text += &paragraph(&claim.remark, "  ", "  ", width);
    }
    text
}
