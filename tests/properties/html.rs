//! What holds of every page of HTML that the reviewer writes, whatever is told on it: a browser's parser reads it without a
//! single error, it consists of the elements and attributes that are listed here, and every address in it leads to the
//! server of the pull request, to documentation, or to a place on the page.

use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::{StrTendril, TendrilSink as _};
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{Attribute, ExpandedName, ParseOpts, QualName, parse_document};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Every element that a page may have, with its attributes.
const ELEMENTS: &[(&str, &[&str])] = &[
    ("a", &["href", "rel"]),
    ("article", &["class", "id"]),
    ("blockquote", &[]),
    ("body", &[]),
    ("br", &[]),
    ("code", &[]),
    ("details", &["class"]),
    ("div", &["class", "tabindex"]),
    ("em", &[]),
    ("figcaption", &[]),
    ("figure", &[]),
    ("footer", &[]),
    ("h1", &[]),
    ("h2", &["id"]),
    ("h3", &[]),
    ("head", &[]),
    ("header", &[]),
    ("hr", &[]),
    ("html", &["lang"]),
    ("li", &[]),
    ("main", &[]),
    ("mark", &["class"]),
    ("meta", &["charset", "content", "http-equiv", "name"]),
    ("nav", &["aria-label"]),
    ("ol", &["class", "start"]),
    ("p", &["class"]),
    ("pre", &["class", "tabindex"]),
    ("s", &[]),
    ("section", &["aria-labelledby", "id"]),
    ("span", &["aria-hidden", "class"]),
    ("strong", &[]),
    ("style", &[]),
    ("summary", &[]),
    ("table", &[]),
    ("tbody", &[]),
    ("td", &["class"]),
    ("th", &["class", "scope"]),
    ("thead", &[]),
    ("title", &[]),
    ("tr", &[]),
    ("ul", &["class"]),
];

/// Attributes whose value is a fixed word, or made of fixed words.
const PLAIN: [&str; 10] = [
    "aria-hidden",
    "aria-label",
    "aria-labelledby",
    "class",
    "id",
    "lang",
    "rel",
    "scope",
    "start",
    "tabindex",
];

/// An element, and the text of a document between them.
#[derive(Debug)]
pub struct Node {
    name: Option<QualName>,
    attributes: Vec<(String, String)>,
    text: RefCell<String>,
    children: RefCell<Vec<Rc<Node>>>,
}

impl Node {
    fn new(name: Option<QualName>, attributes: Vec<(String, String)>, text: &str) -> Rc<Self> {
        Rc::new(Self {
            name,
            attributes,
            text: RefCell::new(text.to_owned()),
            children: RefCell::default(),
        })
    }

    pub fn name(&self) -> &str {
        self.name.as_ref().map_or("", |name| &*name.local)
    }

    pub fn attribute(&self, name: &str) -> Option<&str> {
        let mut attributes = self.attributes.iter();
        let found = attributes.find(|(one, _)| one == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The attributes with their values.
    #[allow(dead_code, reason = "each binary that includes this uses its own part")]
    pub fn attributes(&self) -> &[(String, String)] {
        &self.attributes
    }

    /// The element and everything below it, in the order of the page.
    pub fn all(self: &Rc<Self>) -> Vec<Rc<Self>> {
        let mut all = Vec::new();
        let mut open = vec![Rc::clone(self)];
        while let Some(node) = open.pop() {
            open.extend(node.children.borrow().iter().rev().cloned());
            all.push(node);
        }
        all
    }

    /// The elements of a name below this one.
    pub fn named(self: &Rc<Self>, name: &str) -> Vec<Rc<Self>> {
        let all = self.all().into_iter();
        all.filter(|node| node.name() == name).collect()
    }

    /// The text below it, as a reader copies it.
    pub fn text(self: &Rc<Self>) -> String {
        let all = self.all().into_iter();
        all.map(|node| node.text.borrow().clone()).collect()
    }
}

/// Collects the tree, and everything that a parser would have to mend.
struct Sink {
    document: Rc<Node>,
    errors: RefCell<Vec<String>>,
}

impl Sink {
    fn error(&self, what: impl Into<String>) {
        self.errors.borrow_mut().push(what.into());
    }
}

impl TreeSink for Sink {
    type Handle = Rc<Node>;
    type Output = Self;
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) -> Self {
        self
    }

    fn parse_error(&self, message: Cow<'static, str>) {
        self.error(message);
    }

    fn get_document(&self) -> Rc<Node> {
        Rc::clone(&self.document)
    }

    fn elem_name<'a>(&'a self, target: &'a Rc<Node>) -> ExpandedName<'a> {
        target.name.as_ref().expect("an element").expanded()
    }

    fn create_element(&self, name: QualName, given: Vec<Attribute>, _: ElementFlags) -> Rc<Node> {
        let given = given.into_iter();
        let attributes = given.map(|one| (one.name.local.to_string(), one.value.to_string()));
        Node::new(Some(name), attributes.collect(), "")
    }

    fn create_comment(&self, text: StrTendril) -> Rc<Node> {
        self.error(format!("a comment: {text}"));
        Node::new(None, Vec::new(), "")
    }

    fn create_pi(&self, target: StrTendril, _: StrTendril) -> Rc<Node> {
        self.error(format!("an instruction: {target}"));
        Node::new(None, Vec::new(), "")
    }

    fn append(&self, parent: &Rc<Node>, child: NodeOrText<Rc<Node>>) {
        let child = match child {
            NodeOrText::AppendNode(node) => node,
            NodeOrText::AppendText(text) => Node::new(None, Vec::new(), &text),
        };
        parent.children.borrow_mut().push(child);
    }

    fn append_based_on_parent_node(&self, _: &Rc<Node>, _: &Rc<Node>, _: NodeOrText<Rc<Node>>) {
        self.error("something in a table that is in no cell");
    }

    fn append_doctype_to_document(&self, name: StrTendril, _: StrTendril, _: StrTendril) {
        assert_eq!(&*name, "html");
    }

    fn get_template_contents(&self, target: &Rc<Node>) -> Rc<Node> {
        Rc::clone(target)
    }

    fn same_node(&self, one: &Rc<Node>, other: &Rc<Node>) -> bool {
        Rc::ptr_eq(one, other)
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        if mode != QuirksMode::NoQuirks {
            self.error("it is read as pages were read long ago");
        }
    }

    fn append_before_sibling(&self, _: &Rc<Node>, _: NodeOrText<Rc<Node>>) {
        self.error("something at a place where it cannot stand");
    }

    fn add_attrs_if_missing(&self, target: &Rc<Node>, _: Vec<Attribute>) {
        self.error(format!("twice: {}", target.name()));
    }

    fn remove_from_parent(&self, target: &Rc<Node>) {
        self.error(format!("moved: {}", target.name()));
    }

    fn reparent_children(&self, node: &Rc<Node>, _: &Rc<Node>) {
        self.error(format!("its content moved: {}", node.name()));
    }
}

/// The tree that a browser makes of a page. Panics if it had to mend something.
pub fn parse(page: &str) -> Rc<Node> {
    let sink = Sink {
        document: Node::new(None, Vec::new(), ""),
        errors: RefCell::default(),
    };
    let options = ParseOpts {
        tree_builder: TreeBuilderOpts {
            exact_errors: true,
            scripting_enabled: false,
            ..TreeBuilderOpts::default()
        },
        ..ParseOpts::default()
    };
    let sink = parse_document(sink, options).one(page);
    let errors = sink.errors.borrow();
    assert!(
        errors.is_empty(),
        "{:?}\n{page}",
        &errors[..errors.len().min(5)]
    );
    Rc::clone(&sink.document)
}

/// True for an address that a page may lead to.
fn is_expected(address: &str, server: Option<&str>) -> bool {
    let of_server = server.is_some_and(|server| {
        let rest = address.strip_prefix(server);
        rest.is_some_and(|rest| rest.starts_with('/'))
    });
    address.starts_with('#') || of_server || reviewer_text::sanitize::is_allowed(address)
}

/// Asserts what holds of every page, and returns its tree. `server` is the server of the pull request, if there is one.
pub fn hold(page: &str, server: Option<&str>) -> Rc<Node> {
    let document = parse(page);
    let (mut ids, mut wanted) = (BTreeSet::new(), BTreeSet::new());
    for node in document.all() {
        let Some(name) = &node.name else { continue };
        assert_eq!(&*name.ns, "http://www.w3.org/1999/xhtml", "{}", node.name());
        let row = ELEMENTS.iter().find(|(one, _)| *one == node.name());
        let (_, allowed) = row.unwrap_or_else(|| panic!("a foreign element: {}", node.name()));
        for (attribute, value) in &node.attributes {
            assert!(
                allowed.contains(&attribute.as_str()),
                "a foreign attribute: {} {attribute}={value:?}",
                node.name()
            );
            let is_plain = value
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || " -".contains(c));
            match attribute.as_str() {
                "href" => {
                    assert!(is_expected(value, server), "a foreign address: {value:?}");
                    wanted.extend(value.strip_prefix('#').map(str::to_owned));
                }
                "id" => assert!(ids.insert(value.clone()), "twice: #{value}"),
                "aria-labelledby" => wanted.extend([value.clone()]),
                _ => {}
            }
            if PLAIN.contains(&attribute.as_str()) {
                assert!(is_plain, "{} {attribute}={value:?}", node.name());
            }
        }
    }
    assert!(wanted.is_subset(&ids), "{wanted:?} are not all of {ids:?}");
    hold_head(&document);
    document
}

/// The head is the page's own, to the letter, but for the title.
fn hold_head(document: &Rc<Node>) {
    let head = &document.named("head")[0];
    let metas: Vec<String> = head
        .named("meta")
        .iter()
        .map(|meta| {
            let name = ["http-equiv", "name", "charset"];
            let name = name.iter().find_map(|name| meta.attribute(name));
            name.expect("a name").to_owned()
        })
        .collect();
    let expected = [
        "utf-8",
        "Content-Security-Policy",
        "referrer",
        "viewport",
        "color-scheme",
    ];
    assert_eq!(metas, expected);
    assert_eq!(
        document.named("meta").len(),
        metas.len(),
        "all are in the head"
    );
    assert_eq!(document.named("style").len(), 1);
    assert_eq!(document.named("title").len(), 1);
    let policy = head.named("meta")[1]
        .attribute("content")
        .expect("a policy")
        .to_owned();
    let directives: Vec<&str> = policy.split("; ").collect();
    let style = directives.get(1).expect("a directive");
    let hash = style.strip_prefix("style-src 'sha256-").expect("a hash");
    assert!(hash.ends_with("='") && !hash.contains(' '), "{policy}");
    let others = [directives[0], directives[2], directives[3]];
    assert_eq!(
        others,
        [
            "default-src 'none'",
            "base-uri 'none'",
            "form-action 'none'"
        ]
    );
    assert_eq!(directives.len(), 4);
}
