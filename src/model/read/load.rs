//! Text of one document → tree, by the events of the YAML parser and a stack of our own.
//!
//! Nothing here recurses on the input, and every growth has a budget: a document of a few bytes may not cost more than a
//! few megabytes (CVE-2019-11253: aliases of aliases; 100 000 opening brackets).

use std::borrow::Cow;
use std::collections::BTreeMap;

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Tag};

use super::scalar;
use super::tree::{Entry, Mark, Node, Scalar, Sort, Value, shortened};

/// Deepest nesting of lists and maps. A Pod in a List needs about fifteen.
pub const MAX_DEPTH: usize = 40;
/// Aliases in one document.
const MAX_ALIASES: usize = 100;
/// Values in one document, aliases written out, however short its text is.
const MIN_NODES: usize = 20_000;

/// What is wrong with a document as YAML.
#[derive(Debug)]
pub struct Fault {
    pub mark: Mark,
    pub message: String,
    pub fix: Option<String>,
}

impl Fault {
    fn new(mark: Mark, message: impl Into<String>, fix: &str) -> Self {
        Self { mark, message: message.into(), fix: Some(fix.into()).filter(|fix: &String| !fix.is_empty()) }
    }
}

/// A document as far as it could be read.
#[derive(Debug, Default)]
pub struct Loaded<'a> {
    pub root: Option<Node<'a>>,
    pub faults: Vec<Fault>,
    /// The parser gave up here; the tree holds what came before.
    pub syntax: Option<ScanError>,
    /// A budget was exceeded; the tree is not to be judged.
    pub abandoned: bool,
}

/// A list or map that is still open.
struct Open<'a> {
    mark: Mark,
    anchor: usize,
    body: Body<'a>,
}

enum Body<'a> {
    List(Vec<Node<'a>>),
    Map {
        entries: Vec<Entry<'a>>,
        key: Option<(Cow<'a, str>, Mark, bool)>,
        /// Values of `<<`, in the order written.
        merges: Vec<Node<'a>>,
    },
}

struct Loader<'a> {
    /// Lines of the file before this document.
    lines_before: u32,
    open: Vec<Open<'a>>,
    anchors: BTreeMap<usize, Node<'a>>,
    nodes: usize,
    max_nodes: usize,
    aliases: usize,
    out: Loaded<'a>,
}

/// Reads one document. `lines_before` is how many lines of the file come before `text`.
pub fn load(text: &str, lines_before: u32) -> Loaded<'_> {
    let options = granit_parser::options! { emit_unresolved_aliases: true, emit_comments: false };
    let mut parser = Parser::new_from_str_with_options(text, options);
    let mut loader = Loader {
        lines_before,
        open: Vec::new(),
        anchors: BTreeMap::new(),
        nodes: 0,
        // A list of pods may be long; every node of it costs at least a character or two of text.
        max_nodes: MIN_NODES.max(text.len() / 4),
        aliases: 0,
        out: Loaded::default(),
    };
    while let Some(event) = parser.next_event() {
        match event {
            Ok((event, span)) => loader.event(event, span.start.line(), span.start.col()),
            Err(error) => {
                loader.out.syntax = Some(error);
                break;
            }
        }
        if loader.out.abandoned {
            break;
        }
    }
    while loader.out.root.is_none() && !loader.open.is_empty() {
        loader.close();
    }
    loader.out
}

impl<'a> Loader<'a> {
    fn event(&mut self, event: Event<'a>, line: usize, column: usize) {
        let mark = self.mark(line, column);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let node = self.scalar(mark, text, style, tag.as_deref());
                self.remember(anchor, &node);
                self.add(node, style == ScalarStyle::Plain);
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.check_tag(mark, tag.as_deref(), &["seq"]);
                self.start(Open { mark, anchor, body: Body::List(Vec::new()) });
            }
            Event::MappingStart(_, anchor, tag) => {
                self.check_tag(mark, tag.as_deref(), &["map"]);
                let body = Body::Map { entries: Vec::new(), key: None, merges: Vec::new() };
                self.start(Open { mark, anchor, body });
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(anchor) => self.alias(mark, anchor),
            Event::UnresolvedAlias(name) => {
                self.fault(
                    mark,
                    format!("alias *{name} has no anchor &{name} in this document"),
                    "anchors do not cross '---': repeat the value, or quote the word if no alias is meant",
                );
                self.add(null(mark), false);
            }
            Event::StreamStart | Event::StreamEnd | Event::DocumentStart(..) | Event::DocumentEnd => {}
            // Comments and anchor names are switched off; the parser may learn new events.
            _ => {}
        }
    }

    fn mark(&self, line: usize, column: usize) -> Mark {
        let line = u32::try_from(line).unwrap_or(u32::MAX).saturating_add(self.lines_before);
        Mark { line, column: u32::try_from(column).unwrap_or(u32::MAX).saturating_add(1) }
    }

    fn fault(&mut self, mark: Mark, message: impl Into<String>, fix: &str) {
        self.out.faults.push(Fault::new(mark, message, fix));
    }

    fn abandon(&mut self, mark: Mark, message: String) {
        self.fault(mark, message, "split the document, or write aliases out");
        self.out.abandoned = true;
    }

    fn count(&mut self, mark: Mark, nodes: usize) {
        self.nodes += nodes;
        if self.nodes > self.max_nodes && !self.out.abandoned {
            self.abandon(mark, format!("the document has more than {} values", self.max_nodes));
        }
    }

    fn start(&mut self, open: Open<'a>) {
        self.count(open.mark, 1);
        if self.open.len() >= MAX_DEPTH {
            self.abandon(open.mark, format!("the document is nested deeper than {MAX_DEPTH} levels"));
        }
        self.open.push(open);
    }

    fn close(&mut self) {
        let Some(open) = self.open.pop() else { return };
        let value = match open.body {
            Body::List(items) => Value::List(items),
            Body::Map { mut entries, key, merges } => {
                if let Some((key, key_mark, _)) = key {
                    entries.push(Entry { key, value: null(key_mark) });
                }
                let own = entries.len();
                entries.extend(merges.into_iter().flat_map(maps).flatten());
                self.keep_first_of_each_key(&mut entries, own);
                Value::Map(entries)
            }
        };
        let node = Node { mark: open.mark, value };
        self.remember(open.anchor, &node);
        self.add(node, false);
    }

    /// A key that the map itself has twice is an error; what `<<` brings gives way: the map's own keys win, then
    /// earlier maps. By sorting, because a map of 20 000 keys must not cost the square of it.
    fn keep_first_of_each_key(&mut self, entries: &mut Vec<Entry<'a>>, own: usize) {
        let mut order: Vec<usize> = (0..entries.len()).collect();
        order.sort_by(|&a, &b| entries[a].key.cmp(&entries[b].key));
        let mut first = 0;
        let mut drop = Vec::new();
        for place in 1..order.len() {
            if entries[order[first]].key != entries[order[place]].key {
                first = place;
                continue;
            }
            let (kept, lost) = (&entries[order[first]], &entries[order[place]]);
            if order[place] < own {
                let message = format!(
                    "key '{}' is given twice in one map (first at line {})",
                    shortened(&lost.key),
                    kept.value.mark.line
                );
                let mark = lost.value.mark;
                self.fault(mark, message, "keep one of them, or merge both values: the other would be lost");
            }
            drop.push(order[place]);
        }
        drop.sort_unstable();
        for index in drop.into_iter().rev() {
            entries.remove(index);
        }
    }

    fn remember(&mut self, anchor: usize, node: &Node<'a>) {
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
    }

    fn alias(&mut self, mark: Mark, anchor: usize) {
        self.aliases += 1;
        if self.aliases > MAX_ALIASES {
            self.abandon(mark, format!("the document has more than {MAX_ALIASES} aliases"));
            return;
        }
        // An anchor is known only when its node is complete: an alias inside its own anchor is a loop.
        let Some(known) = self.anchors.get(&anchor) else {
            self.fault(mark, "this alias stands inside the value it names", "write the value out");
            self.add(null(mark), false);
            return;
        };
        let (size, depth) = (known.size(), known.depth());
        if self.open.len() + depth > MAX_DEPTH {
            self.abandon(mark, format!("the document is nested deeper than {MAX_DEPTH} levels"));
            return;
        }
        self.count(mark, size);
        if !self.out.abandoned {
            let node = Node { mark, value: self.anchors[&anchor].value.clone() };
            self.add(node, false);
        }
    }

    fn scalar(&mut self, mark: Mark, text: Cow<'a, str>, style: ScalarStyle, tag: Option<&Tag>) -> Node<'a> {
        self.count(mark, 1);
        let sort = match (tag.and_then(Tag::core_suffix), style) {
            (Some("str"), _) => Sort::Text,
            (_, ScalarStyle::Plain) => scalar::resolve(&text),
            _ => Sort::Text,
        };
        self.check_tag(mark, tag, &["str", "int", "bool", "float", "null"]);
        Node { mark, value: Value::Scalar(Scalar { text, sort }) }
    }

    fn check_tag(&mut self, mark: Mark, tag: Option<&Tag>, known: &[&str]) {
        if let Some(tag) = tag
            && !tag.core_suffix().is_some_and(|suffix| known.contains(&suffix))
        {
            self.fault(mark, format!("the tag {} means nothing here", tag.original()), "remove it");
        }
    }

    /// Puts a finished node where it belongs: root, list item, key or value.
    fn add(&mut self, mut node: Node<'a>, plain: bool) {
        let Some(open) = self.open.last_mut() else {
            if self.out.root.is_some() {
                self.fault(node.mark, "a second document begins here", "put a '---' line before it");
            }
            self.out.root.get_or_insert(node);
            return;
        };
        match &mut open.body {
            Body::List(items) => items.push(node),
            Body::Map { entries, key, merges } => match key.take() {
                None => {
                    let mark = node.mark;
                    let text = match node.value {
                        Value::Scalar(scalar) => Some(scalar.text),
                        Value::List(_) | Value::Map(_) => None,
                    };
                    *key = Some((text.clone().unwrap_or_default(), mark, plain));
                    if text.is_none() {
                        self.fault(
                            mark,
                            "a key must be a word, not a list or map",
                            "an unquoted '{{ … }}' is read as one: quote it",
                        );
                    }
                }
                Some((name, mark, true)) if name == "<<" => {
                    let fits = match &node.value {
                        Value::Map(_) => true,
                        Value::List(items) => items.iter().all(|item| matches!(item.value, Value::Map(_))),
                        Value::Scalar(_) => false,
                    };
                    merges.push(node);
                    if !fits {
                        self.fault(mark, "<< takes a map or a list of maps", "give it an alias of a map");
                    }
                }
                Some((name, mark, _)) => {
                    node.mark = mark;
                    entries.push(Entry { key: name, value: node });
                }
            },
        }
    }
}

/// The maps that one `<<` names.
fn maps(node: Node<'_>) -> Vec<Vec<Entry<'_>>> {
    match node.value {
        Value::Map(entries) => vec![entries],
        Value::List(items) => items.into_iter().flat_map(maps).collect(),
        Value::Scalar(_) => vec![],
    }
}

fn null<'a>(mark: Mark) -> Node<'a> {
    Node { mark, value: Value::Scalar(Scalar { text: Cow::Borrowed(""), sort: Sort::Null }) }
}
