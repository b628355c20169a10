//! Circles of files that import one another.
//!
//! A file imports another one where its code names something that is defined there: names are followed through the facades
//! (`pub use`) of modules to the file that they lead to. Tests import from everywhere, and are left out.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{File, items};

/// A module's path, segment by segment; that of the crate has none.
type Path = Vec<String>;

/// The longest chain of facades that is followed.
const FACADES_MAX: usize = 8;

/// Returns every circle, each as the paths of its files.
pub fn circles(files: &[File]) -> Vec<Vec<String>> {
    let files: Vec<&File> = files.iter().filter(|file| !is_of_tests(file)).collect();
    let house = House::of(&files);
    let imports: Vec<BTreeSet<usize>> = (0..files.len()).map(|at| house.imports(at)).collect();
    components(&imports)
        .into_iter()
        .map(|circle| {
            circle
                .into_iter()
                .map(|at| files[at].path.clone())
                .collect()
        })
        .collect()
}

pub fn is_of_tests(file: &File) -> bool {
    file.path.contains("/tests/") || file.path.ends_with("tests.rs")
}

/// A file as far as its imports go.
struct Room {
    module: Path,
    /// Modules that are declared here.
    children: BTreeSet<String>,
    /// Its own `use`s, but for those that others see only (`pub use`).
    uses: Vec<Path>,
    /// Everything that `use` gives a name here, `pub` or not: modules below see both.
    names: BTreeMap<String, Path>,
    /// Paths in its code beside those.
    paths: Vec<Path>,
}

struct House {
    rooms: Vec<Room>,
    by_module: BTreeMap<Path, usize>,
}

impl House {
    fn of(files: &[&File]) -> Self {
        let rooms: Vec<Room> = files.iter().map(|file| Room::of(file)).collect();
        let modules = rooms.iter().enumerate();
        let by_module = modules
            .map(|(at, room)| (room.module.clone(), at))
            .collect();
        Self { rooms, by_module }
    }

    /// Returns the files that a file imports from.
    fn imports(&self, at: usize) -> BTreeSet<usize> {
        let room = &self.rooms[at];
        let paths = room.uses.iter().chain(&room.paths);
        let absolute = paths.filter_map(|path| room.absolute(path));
        let mut found: BTreeSet<usize> = absolute.filter_map(|path| self.leads_to(path)).collect();
        found.remove(&at);
        found
    }

    /// Returns the file that defines what a path names; what the crate itself defines is of nobody's circle.
    fn leads_to(&self, mut path: Path) -> Option<usize> {
        for _ in 0..FACADES_MAX {
            let length = (0..=path.len())
                .rev()
                .find(|length| self.by_module.contains_key(&path[..*length]))?;
            let at = self.by_module[&path[..length]];
            let through = path.get(length).and_then(|name| {
                let led = self.rooms[at].names.get(name)?;
                self.rooms[at].absolute(led)
            });
            match through {
                Some(mut led) => {
                    led.extend_from_slice(&path[length + 1..]);
                    path = led;
                }
                None => return (length > 0).then_some(at),
            }
        }
        None
    }
}

impl Room {
    fn of(file: &File) -> Self {
        let mut room = Self {
            module: module_of(&file.path),
            children: BTreeSet::new(),
            uses: Vec::new(),
            names: BTreeMap::new(),
            paths: Vec::new(),
        };
        let mut rest = String::new();
        let mut lines = without_tests(&file.code).lines();
        while let Some(line) = lines.next() {
            let (is_public, item) = without_visibility(line.trim());
            if let Some(child) = item
                .strip_prefix("mod ")
                .and_then(|it| it.strip_suffix(';'))
            {
                room.children.insert(child.to_owned());
            } else if let Some(tree) = item.strip_prefix("use ") {
                let mut tree = tree.to_owned();
                while !tree.contains(';') {
                    tree.push_str(lines.next().expect("a use has an end"));
                }
                room.take_use(tree.trim_end_matches(';'), is_public);
            } else {
                rest.push_str(line);
                rest.push('\n');
            }
        }
        room.paths = paths_in(&rest);
        room
    }

    fn take_use(&mut self, tree: &str, is_public: bool) {
        for (path, name) in paths_of_tree(tree) {
            self.names.insert(name, path.clone());
            if !is_public {
                self.uses.push(path);
            }
        }
    }

    /// Returns a path from the crate on; `None` where it leads out of it.
    fn absolute(&self, path: &[String]) -> Option<Path> {
        let (first, rest) = path.split_first()?;
        let base = match first.as_str() {
            "crate" => &[],
            "self" => &self.module[..],
            "super" => {
                let ups = path.iter().take_while(|part| *part == "super").count();
                let above = self.module.len().checked_sub(ups)?;
                return Some([&self.module[..above], &path[ups..]].concat());
            }
            child if self.children.contains(child) => {
                return Some([&self.module[..], path].concat());
            }
            _ => return None,
        };
        Some([base, rest].concat())
    }
}

fn module_of(path: &str) -> Path {
    let module = path.strip_prefix("src/").unwrap_or(path);
    let module = module.strip_suffix(".rs").unwrap_or(module);
    let mut module: Path = module.split('/').map(str::to_owned).collect();
    if let Some("mod" | "lib" | "main") = module.last().map(String::as_str) {
        module.pop();
    }
    module
}

/// Returns the code above the tests that stand in the same file, at its end.
pub fn without_tests(code: &str) -> &str {
    let tests = code.match_indices("\n#[cfg(test)]\n").find(|(at, mark)| {
        let mut behind = code[at + mark.len()..].lines();
        let item = behind
            .find(|line| !line.starts_with("#["))
            .unwrap_or_default();
        item.starts_with("mod ") && item.ends_with('{')
    });
    tests.map_or(code, |(at, _)| &code[..at])
}

/// Returns whether an item is public in any way, and the item.
fn without_visibility(line: &str) -> (bool, &str) {
    let Some(rest) = line.strip_prefix("pub") else {
        return (false, line);
    };
    let rest = match rest.strip_prefix('(') {
        Some(within) => within.split_once(')').map_or(rest, |(_, rest)| rest),
        None => rest,
    };
    (true, rest.trim_start())
}

/// Returns what a `use` names, each with the name that it gets.
fn paths_of_tree(tree: &str) -> Vec<(Path, String)> {
    let tree = tree.trim();
    if let Some(open) = tree.find('{') {
        let before = segments(&tree[..open]);
        let of_item = |item: &str| {
            let inner = paths_of_tree(item).into_iter();
            let joined = inner.map(|(path, name)| ([&before[..], &path[..]].concat(), name));
            joined.collect::<Vec<_>>()
        };
        return items(&tree[open + 1..])
            .into_iter()
            .flat_map(of_item)
            .collect();
    }
    let (path, alias) = tree.split_once(" as ").unwrap_or((tree, ""));
    let mut path = segments(path);
    let mut name = path.last().cloned().unwrap_or_default();
    if name == "self" && path.len() > 1 {
        path.pop();
        name = path.last().cloned().unwrap_or_default();
    }
    if !alias.is_empty() {
        name = alias.trim().to_owned();
    }
    vec![(path, name)]
}

fn segments(path: &str) -> Path {
    let parts = path.split("::").map(str::trim);
    parts
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Returns every path of two segments and more in this code.
fn paths_in(code: &str) -> Vec<Path> {
    let of_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    // Who may see an item is no import.
    let mut seen = code.replace("pub(in ", "pub(");
    while let Some(at) = seen.find("pub(crate::") {
        let end = seen[at..].find(')').map_or(seen.len(), |end| at + end);
        seen.replace_range(at + "pub(".len()..end, "");
    }
    seen.split(|c: char| !of_path(c))
        .filter(|word| word.contains("::") && !word.starts_with("::"))
        .map(segments)
        .collect()
}

/// Returns the groups of more than one that reach one another, by Tarjan.
fn components(imports: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
    let mut search = Search {
        imports,
        found: vec![None; imports.len()],
        lowest: vec![0; imports.len()],
        open: Vec::new(),
        circles: Vec::new(),
        next: 0,
    };
    for at in 0..imports.len() {
        if search.found[at].is_none() {
            search.visit(at);
        }
    }
    search.circles
}

struct Search<'i> {
    imports: &'i [BTreeSet<usize>],
    found: Vec<Option<usize>>,
    lowest: Vec<usize>,
    open: Vec<usize>,
    circles: Vec<Vec<usize>>,
    next: usize,
}

impl Search<'_> {
    fn visit(&mut self, at: usize) {
        let number = self.next;
        self.next += 1;
        self.found[at] = Some(number);
        self.lowest[at] = number;
        self.open.push(at);
        for to in &self.imports[at] {
            match self.found[*to] {
                None => {
                    self.visit(*to);
                    self.lowest[at] = self.lowest[at].min(self.lowest[*to]);
                }
                Some(known) if self.open.contains(to) => {
                    self.lowest[at] = self.lowest[at].min(known)
                }
                Some(_) => {}
            }
        }
        if self.lowest[at] == number {
            let from = self.open.iter().position(|open| *open == at).unwrap_or(0);
            let mut circle = self.open.split_off(from);
            circle.sort_unstable();
            if circle.len() > 1 {
                self.circles.push(circle);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sources: &[(&str, &str)]) -> Vec<Vec<String>> {
        let files = sources.iter().map(|(path, text)| File::of(path, text));
        circles(&files.collect::<Vec<_>>())
    }

    #[test]
    fn circles_are_found_however_a_file_is_named() {
        let circle = [vec!["src/a/b.rs".to_owned(), "src/a/c.rs".to_owned()]];
        for (case, b, c, a) in [
            ("by use", "use super::c::C;", "use crate::a::b::B;", ""),
            (
                "by a list",
                "use super::{c::{C, D}, x};",
                "use super::b;",
                "",
            ),
            (
                "in code",
                "fn f() -> super::c::C {}",
                "fn g() { crate::a::b::f() }",
                "",
            ),
            (
                "through a facade",
                "use super::C;",
                "use super::b::B;",
                "mod b;\nmod c;\npub use c::C;",
            ),
            (
                "through a facade with another name",
                "use super::D;",
                "use super::b::B;",
                "mod b;\nmod c;\npub(crate) use self::c::C as D;",
            ),
        ] {
            let all = [("src/a/mod.rs", a), ("src/a/b.rs", b), ("src/a/c.rs", c)];
            assert_eq!(found(&all), circle, "{case}");
        }
    }

    #[test]
    fn a_module_whose_code_calls_what_is_below_is_in_the_circle() {
        let above = ("src/a/mod.rs", "mod b;\npub fn f() { b::g() }");
        let below = ("src/a/b.rs", "pub fn g() { super::f() }");
        assert_eq!(found(&[above, below]).len(), 1);
    }

    #[test]
    fn facades_tests_comments_and_one_way_make_no_circle() {
        for (case, sources) in [
            (
                "one way",
                [("src/a.rs", "use crate::b::B;"), ("src/b.rs", "")],
            ),
            (
                "a comment",
                [
                    ("src/a.rs", "use crate::b::B;"),
                    ("src/b.rs", "// crate::a::A"),
                ],
            ),
            (
                "a facade",
                [
                    ("src/a/mod.rs", "mod b;\npub use b::B;"),
                    ("src/a/b.rs", "use super::x;"),
                ],
            ),
            (
                "tests in the file",
                [
                    ("src/a.rs", "use crate::b::B;"),
                    (
                        "src/b.rs",
                        "\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}",
                    ),
                ],
            ),
            (
                "a file of tests",
                [
                    ("src/a.rs", "use crate::b::tests::B;"),
                    ("src/b/tests.rs", "use crate::a::A;"),
                ],
            ),
        ] {
            assert_eq!(found(&sources), Vec::<Vec<String>>::new(), "{case}");
        }
    }
}
