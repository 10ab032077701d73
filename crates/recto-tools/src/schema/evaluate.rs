//! Looks at a value by a schema: first only whether it fits, and where it does not, what is
//! wrong with it. Every step is paid for out of a [`WorkBudget`].

use std::collections::HashSet;

use serde_json::Value;

use super::budget::{Abandoned, WorkBudget};
use super::problems::{PointerStep, ProblemLog, SchemaProblem};
use super::tree::{
    NumberBound, ObjectParts, PartId, SchemaCheck, SchemaPattern, SchemaTree, SizeBound,
};
use super::values::{canonical_text, is_multiple, same_value};
use crate::blocking::Stop;

/// Whether a value fits.
type Fits = Result<bool, Abandoned>;

/// Whether a value fits the whole schema.
pub(super) fn fits(tree: &SchemaTree, value: &Value, stop: &Stop) -> Fits {
    Evaluation::new(tree, stop).part(WHOLE, value, &mut Looked::default(), Telling::No)
}

/// What is wrong with a value.
pub(super) fn find_problems(
    tree: &SchemaTree,
    value: &Value,
    stop: &Stop,
) -> Result<Vec<SchemaProblem>, Abandoned> {
    let mut evaluation = Evaluation::new(tree, stop);
    evaluation.part(WHOLE, value, &mut Looked::default(), Telling::Yes)?;
    Ok(evaluation.log.problems)
}

/// The place of the whole schema among its parts.
const WHOLE: PartId = 0;

/// Whether problems are told. What is tried out, as the parts of `anyOf` are, tells none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Telling {
    Yes,
    No,
}

/// What of a value the schemas so far have looked at, for those that ask for the rest.
#[derive(Debug, Default)]
struct Looked<'v> {
    members: HashSet<&'v str>,
    items: HashSet<usize>,
}

impl<'v> Looked<'v> {
    fn merge(&mut self, other: Looked<'v>) {
        self.members.extend(other.members);
        self.items.extend(other.items);
    }
}

struct Evaluation<'a> {
    tree: &'a SchemaTree,
    budget: WorkBudget<'a>,
    log: ProblemLog,
    /// The parts that are looking at a value, so that a circle of references comes to an end.
    active: Vec<(PartId, *const Value)>,
}

impl<'a> Evaluation<'a> {
    fn new(tree: &'a SchemaTree, stop: &'a Stop) -> Self {
        let (budget, log) = (WorkBudget::new(stop), ProblemLog::default());
        Evaluation { tree, budget, log, active: Vec::new() }
    }

    fn part<'v>(
        &mut self,
        id: PartId,
        value: &'v Value,
        looked: &mut Looked<'v>,
        telling: Telling,
    ) -> Fits {
        let tree = self.tree;
        let part = &tree.parts[id];
        let entry = (id, std::ptr::from_ref(value));
        if self.active.contains(&entry) {
            return Ok(true);
        }
        self.budget.enter(part.weight)?;
        self.active.push(entry);
        let mut fits = true;
        for check in &part.checks {
            fits &= self.check(check, value, looked, telling)?;
            if !fits && telling == Telling::No {
                break;
            }
        }
        self.active.pop();
        self.budget.leave();
        Ok(fits)
    }

    /// Looks at the same value by another part. What it looked at counts if the value fits.
    fn beside<'v>(
        &mut self,
        id: PartId,
        value: &'v Value,
        looked: &mut Looked<'v>,
        telling: Telling,
    ) -> Fits {
        let mut own = Looked::default();
        let fits = self.part(id, value, &mut own, telling)?;
        if fits && self.tree.asks_for_rest {
            self.budget.spend((own.members.len() + own.items.len()) as u64)?;
            looked.merge(own);
        }
        Ok(fits)
    }

    /// Looks at a value inside the value.
    fn inside(&mut self, id: PartId, value: &Value, step: PointerStep, telling: Telling) -> Fits {
        self.log.path.push(step);
        let fits = self.part(id, value, &mut Looked::default(), telling);
        self.log.path.pop();
        fits
    }

    /// Notes a problem, if it is one.
    fn demand(
        &mut self,
        fits: bool,
        telling: Telling,
        problem: impl FnOnce(&[PointerStep]) -> SchemaProblem,
    ) -> Fits {
        if !fits && telling == Telling::Yes {
            let problem = problem(&self.log.path);
            self.log.add(problem);
        }
        Ok(fits)
    }

    fn check<'v>(
        &mut self,
        check: &SchemaCheck,
        value: &'v Value,
        looked: &mut Looked<'v>,
        telling: Telling,
    ) -> Fits {
        match check {
            SchemaCheck::Reference(_)
            | SchemaCheck::AllOf(_)
            | SchemaCheck::AnyOf(_)
            | SchemaCheck::OneOf(_)
            | SchemaCheck::Not(_)
            | SchemaCheck::If { .. }
            | SchemaCheck::WherePresent(_) => self.combination(check, value, looked, telling),
            SchemaCheck::Properties(_)
            | SchemaCheck::PropertyNames(_)
            | SchemaCheck::Required(_)
            | SchemaCheck::Together(_)
            | SchemaCheck::RestOfProperties(_) => self.members(check, value, looked, telling),
            SchemaCheck::Items { .. }
            | SchemaCheck::Contains { .. }
            | SchemaCheck::UniqueItems
            | SchemaCheck::RestOfItems(_) => self.items(check, value, looked, telling),
            plain => self.plain(plain, value, telling),
        }
    }

    /// Checks of a value by itself.
    fn plain(&mut self, check: &SchemaCheck, value: &Value, telling: Telling) -> Fits {
        let fits = match check {
            SchemaCheck::Never => false,
            SchemaCheck::Kind(kinds) => kinds.iter().any(|kind| kind.fits(value)),
            SchemaCheck::Enum(options) => options.iter().any(|option| same_value(option, value)),
            SchemaCheck::Const(only) => same_value(only, value),
            SchemaCheck::Bound(bound, limit) => match value.as_f64() {
                Some(number) => bound.holds(number, limit.as_f64().unwrap_or(f64::NAN)),
                None => true,
            },
            SchemaCheck::MultipleOf(of) => {
                value.as_number().is_none_or(|number| is_multiple(number, of))
            }
            SchemaCheck::Size(bound, limit) => {
                // Characters have to be counted.
                let length = value.as_str().map_or(0, str::len);
                self.budget.spend(length as u64 / 256)?;
                bound.holds(value, *limit)
            }
            SchemaCheck::Pattern(pattern) => match value.as_str() {
                Some(text) => self.matches(pattern, text)?,
                None => true,
            },
            _ => true,
        };
        self.demand(fits, telling, |path| SchemaProblem::of_check(check, value, path))
    }

    fn matches(&mut self, pattern: &SchemaPattern, text: &str) -> Fits {
        self.budget.spend(pattern.weight * (1 + text.len() as u64 / 16))?;
        Ok(pattern.regex.is_match(text))
    }
}

/// Schemas that look at the same value.
impl Evaluation<'_> {
    fn combination<'v>(
        &mut self,
        check: &SchemaCheck,
        value: &'v Value,
        looked: &mut Looked<'v>,
        telling: Telling,
    ) -> Fits {
        match check {
            SchemaCheck::Reference(part) => self.beside(*part, value, looked, telling),
            SchemaCheck::AllOf(parts) => {
                let mut fits = true;
                for part in parts {
                    fits &= self.beside(*part, value, looked, telling)?;
                    if !fits && telling == Telling::No {
                        break;
                    }
                }
                Ok(fits)
            }
            SchemaCheck::AnyOf(parts) => {
                let mut fits = false;
                for part in parts {
                    fits |= self.beside(*part, value, looked, Telling::No)?;
                    // What the others look at counts as well.
                    if fits && !self.tree.asks_for_rest {
                        break;
                    }
                }
                self.demand(fits, telling, |path| SchemaProblem::of_check(check, value, path))
            }
            SchemaCheck::OneOf(parts) => self.one_of(parts, value, looked, telling),
            SchemaCheck::Not(part) => {
                let fits = !self.part(*part, value, &mut Looked::default(), Telling::No)?;
                self.demand(fits, telling, |path| SchemaProblem::of_check(check, value, path))
            }
            SchemaCheck::If { condition, then, otherwise } => {
                let holds = self.beside(*condition, value, looked, Telling::No)?;
                match if holds { then } else { otherwise } {
                    Some(part) => self.beside(*part, value, looked, telling),
                    None => Ok(true),
                }
            }
            SchemaCheck::WherePresent(parts) => {
                let mut fits = true;
                for (name, part) in parts {
                    if value.get(name).is_some() {
                        fits &= self.beside(*part, value, looked, telling)?;
                    }
                }
                Ok(fits)
            }
            _ => Ok(true),
        }
    }

    fn one_of<'v>(
        &mut self,
        parts: &[PartId],
        value: &'v Value,
        looked: &mut Looked<'v>,
        telling: Telling,
    ) -> Fits {
        let mut fitting = 0;
        for part in parts {
            fitting += usize::from(self.beside(*part, value, looked, Telling::No)?);
            if fitting > 1 {
                break;
            }
        }
        self.demand(fitting == 1, telling, |path| SchemaProblem::of_one_of(fitting, path))
    }
}

/// Members of objects.
impl Evaluation<'_> {
    fn members<'v>(
        &mut self,
        check: &SchemaCheck,
        value: &'v Value,
        looked: &mut Looked<'v>,
        telling: Telling,
    ) -> Fits {
        let Value::Object(members) = value else { return Ok(true) };
        let mut fits = true;
        match check {
            SchemaCheck::Required(names) => {
                for name in names.iter().filter(|name| !members.contains_key(*name)) {
                    fits &=
                        self.demand(false, telling, |path| SchemaProblem::missing(name, path))?;
                }
            }
            SchemaCheck::Together(needed) => {
                let needed = needed.iter().filter(|(name, _)| members.contains_key(name));
                let lacking = needed.flat_map(|(_, names)| names);
                for name in lacking.filter(|name| !members.contains_key(*name)) {
                    fits &=
                        self.demand(false, telling, |path| SchemaProblem::missing(name, path))?;
                }
            }
            SchemaCheck::PropertyNames(part) => {
                for name in members.keys() {
                    let value = Value::from(name.as_str());
                    fits &= self.inside(*part, &value, PointerStep::Name(name.clone()), telling)?;
                }
            }
            SchemaCheck::Properties(parts) => {
                for (name, member) in members {
                    fits &= self.member(parts, name, member, looked, telling)?;
                }
            }
            SchemaCheck::RestOfProperties(part) => {
                for (name, member) in members {
                    if !looked.members.contains(name.as_str()) {
                        fits &= self.other_member(*part, name, member, telling)?;
                    }
                }
                looked.members.extend(members.keys().map(String::as_str));
            }
            _ => {}
        }
        Ok(fits)
    }

    fn member<'v>(
        &mut self,
        parts: &ObjectParts,
        name: &'v str,
        member: &Value,
        looked: &mut Looked<'v>,
        telling: Telling,
    ) -> Fits {
        self.budget.spend(1)?;
        let named = parts.named.get(name);
        let mut is_known = named.is_some();
        let mut fits = true;
        if let Some(part) = named {
            fits &= self.inside(*part, member, PointerStep::Name(name.to_owned()), telling)?;
        }
        for (pattern, part) in &parts.patterns {
            if self.matches(pattern, name)? {
                is_known = true;
                fits &= self.inside(*part, member, PointerStep::Name(name.to_owned()), telling)?;
            }
        }
        if let (false, false, Some(part)) = (is_known, parts.others_unknown, parts.others) {
            is_known = true;
            fits &= self.other_member(part, name, member, telling)?;
        }
        if is_known && self.tree.asks_for_rest {
            looked.members.insert(name);
        }
        Ok(fits)
    }

    /// A member that no schema names.
    fn other_member(&mut self, part: PartId, name: &str, member: &Value, telling: Telling) -> Fits {
        if matches!(self.tree.parts[part].checks[..], [SchemaCheck::Never]) {
            return self.demand(false, telling, |path| SchemaProblem::unexpected(name, path));
        }
        self.inside(part, member, PointerStep::Name(name.to_owned()), telling)
    }
}

/// Items of arrays.
impl Evaluation<'_> {
    fn items<'v>(
        &mut self,
        check: &SchemaCheck,
        value: &'v Value,
        looked: &mut Looked<'v>,
        telling: Telling,
    ) -> Fits {
        let Value::Array(items) = value else { return Ok(true) };
        let mut fits = true;
        match check {
            SchemaCheck::Items { first, rest } => {
                for (at, item) in items.iter().enumerate() {
                    let Some(part) = first.get(at).or(rest.as_ref()) else { break };
                    fits &= self.inside(*part, item, PointerStep::Item(at), telling)?;
                    if self.tree.asks_for_rest {
                        looked.items.insert(at);
                    }
                }
            }
            SchemaCheck::Contains { part, least, most } => {
                let mut found = 0;
                for (at, item) in items.iter().enumerate() {
                    if self.inside(*part, item, PointerStep::Item(at), Telling::No)? {
                        found += 1;
                        if self.tree.asks_for_rest {
                            looked.items.insert(at);
                        }
                    }
                }
                fits = found >= *least && most.is_none_or(|most| found <= most);
                self.demand(fits, telling, |path| SchemaProblem::of_check(check, value, path))?;
            }
            SchemaCheck::UniqueItems => {
                let texts: Vec<String> = items.iter().map(canonical_text).collect();
                self.budget.spend(texts.iter().map(|text| 1 + text.len() as u64 / 64).sum())?;
                fits = texts.iter().collect::<HashSet<_>>().len() == texts.len();
                self.demand(fits, telling, |path| SchemaProblem::of_check(check, value, path))?;
            }
            SchemaCheck::RestOfItems(part) => {
                for (at, item) in items.iter().enumerate() {
                    if !looked.items.contains(&at) {
                        fits &= self.inside(*part, item, PointerStep::Item(at), telling)?;
                    }
                }
                looked.items.extend(0..items.len());
            }
            _ => {}
        }
        Ok(fits)
    }
}

impl NumberBound {
    fn holds(self, number: f64, limit: f64) -> bool {
        match self {
            NumberBound::Minimum => number >= limit,
            NumberBound::Maximum => number <= limit,
            NumberBound::Above => number > limit,
            NumberBound::Below => number < limit,
        }
    }
}

impl SizeBound {
    fn holds(self, value: &Value, limit: u64) -> bool {
        let size = match (self, value) {
            (SizeBound::MinLength | SizeBound::MaxLength, Value::String(text)) => {
                text.chars().count()
            }
            (SizeBound::MinItems | SizeBound::MaxItems, Value::Array(items)) => items.len(),
            (SizeBound::MinProperties | SizeBound::MaxProperties, Value::Object(members)) => {
                members.len()
            }
            _ => return true,
        } as u64;
        match self {
            SizeBound::MinLength | SizeBound::MinItems | SizeBound::MinProperties => size >= limit,
            SizeBound::MaxLength | SizeBound::MaxItems | SizeBound::MaxProperties => size <= limit,
        }
    }
}
