//! Prints the result, and decides whether it is a success.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;

use crate::sources::Source;
use crate::survivors;
use crate::tree;
use crate::tries::Verdict;

const SURVIVORS: &str = "plan/tests/survivors.txt";
/// The minimum share of caught mutants among those that compile.
const LEAST_PERCENT: usize = 95;

/// The outcomes of all mutants of some files.
pub(crate) struct Outcomes<'a> {
    pub(crate) sources: &'a [Source],
    /// The verdicts of the mutants that compile.
    pub(crate) verdicts: &'a BTreeMap<u32, Verdict>,
    /// The requested files. Empty: all.
    pub(crate) files: &'a [String],
}

impl Outcomes<'_> {
    /// Prints the result. False if too few mutants are caught, or if the list of survivors differs.
    pub(crate) fn report(&self, root: &Path, work: &Path) -> Result<bool, Box<dyn Error>> {
        let outcomes = work.join("outcomes.txt");
        tree::write(&outcomes, self.lines().join("").as_bytes())?;
        println!("each mutant with its place: {}", outcomes.display());

        let count = |verdict| self.verdicts.values().filter(|is| **is == verdict).count();
        let caught = count(Verdict::Caught);
        let (missed, hang) = (count(Verdict::Missed), count(Verdict::Hangs));
        let compiled = self.verdicts.len();
        let all: usize = self
            .sources
            .iter()
            .map(|source| source.mutants().count())
            .sum();
        let share = 1000 * caught / compiled.max(1);
        println!(
            "verified: {all} mutants of plan, {} do not compile; of {compiled}: {caught} caught, {missed} missed, \
             {hang} hang: {}.{} % caught",
            all - compiled,
            share / 10,
            share % 10,
        );

        let list = fs::read_to_string(root.join(SURVIVORS))?;
        let listed = survivors::listed(&list, self.files);
        let found = survivors::counted(self.survivors());
        let mut well = compiled > 0 && caught * 100 >= LEAST_PERCENT * compiled;
        for name in survivors::missing(&found, &listed) {
            println!("survives, and {SURVIVORS} gives no reason: {name}");
            well = false;
        }
        for name in survivors::missing(&listed, &found) {
            println!("does not survive, and still stands in {SURVIVORS}: {name}");
            well = false;
        }
        Ok(well)
    }

    fn survivors(&self) -> impl Iterator<Item = String> {
        self.sources.iter().flat_map(|source| {
            let survive = source.mutants().filter(|(_, mutant)| {
                let verdict = self.verdicts.get(&mutant.id);
                matches!(verdict, Some(Verdict::Missed | Verdict::Hangs))
            });
            survive.map(|(_, mutant)| format!("{}: {}", source.path, mutant.name))
        })
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for source in self.sources {
            for (_, mutant) in source.mutants() {
                let what = match self.verdicts.get(&mutant.id) {
                    None => "does not compile",
                    Some(Verdict::Caught) => "caught",
                    Some(Verdict::Missed) => "missed",
                    Some(Verdict::Hangs) => "hangs",
                };
                lines.push(format!(
                    "{what}: {}:{}:{}: {}\n",
                    source.path, mutant.line, mutant.column, mutant.name
                ));
            }
        }
        lines
    }
}
