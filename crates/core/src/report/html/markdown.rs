//! Markdown of others as HTML: a tree of the few elements that it may have, and text. HTML in it is text, a picture is its
//! words, and a link that may not be followed is its words, too.

use maud::{Markup, html};
use pulldown_cmark::{Event, Options, Parser, Tag};

/// The depth from which further elements leave only their content.
const DEEPEST: usize = 24;

/// Makes HTML of Markdown. `follows` is the address that a link leads to, if it may.
pub(super) fn blocks(text: &str, follows: &dyn Fn(&str) -> Option<String>) -> Markup {
    let tree = parse(text, follows);
    html! { @for node in &tree { (block(node)) } }
}

/// The same of a text that is a part of a line.
pub(super) fn inline(text: &str, follows: &dyn Fn(&str) -> Option<String>) -> Markup {
    // Behind a word, because a line that begins like a list or a quote would be read as one.
    const BEFORE: &str = "x ";
    let mut tree = parse(&format!("{BEFORE}{text}"), follows);
    if let Some(first) = first_text(&mut tree) {
        *first = first
            .strip_prefix(BEFORE)
            .or_else(|| first.strip_prefix(BEFORE.trim()))
            .unwrap_or(first)
            .to_owned();
    }
    html! { @for node in &tree { (words(node)) } }
}

fn first_text(nodes: &mut [Node]) -> Option<&mut String> {
    match nodes.first_mut()? {
        Node::Text(text) => Some(text),
        Node::Element(_, children) => first_text(children),
        _ => None,
    }
}

#[derive(Debug)]
enum Node {
    Text(String),
    Code(String),
    Block(String),
    Break,
    Rule,
    Element(Element, Vec<Node>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Element {
    Paragraph,
    /// Headings of others are no headings of the page.
    Heading,
    Quote,
    /// The number of the first item; `None`: without numbers.
    List(Option<u64>),
    Item,
    Table,
    Head,
    Row,
    Cell,
    Emphasis,
    Strong,
    Struck,
    Link(String),
    /// Its content, and nothing around it.
    Nothing,
}

impl Element {
    fn new(tag: &Tag<'_>, follows: &dyn Fn(&str) -> Option<String>) -> Self {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => Self::Paragraph,
            Tag::Heading { .. } => Self::Heading,
            Tag::BlockQuote(_) => Self::Quote,
            Tag::List(first) => Self::List(*first),
            Tag::Item => Self::Item,
            Tag::Table(_) => Self::Table,
            Tag::TableHead => Self::Head,
            Tag::TableRow => Self::Row,
            Tag::TableCell => Self::Cell,
            Tag::Emphasis => Self::Emphasis,
            Tag::Strong => Self::Strong,
            Tag::Strikethrough => Self::Struck,
            Tag::Link { dest_url, .. } => follows(dest_url).map_or(Self::Nothing, Self::Link),
            _ => Self::Nothing,
        }
    }

    /// True for elements that can stand in each other without end.
    fn nests(&self) -> bool {
        matches!(
            self,
            Self::Quote | Self::List(_) | Self::Item | Self::Emphasis | Self::Strong | Self::Struck
        )
    }
}

fn parse(text: &str, follows: &dyn Fn(&str) -> Option<String>) -> Vec<Node> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let mut builder = Builder::default();
    for event in Parser::new_ext(text, options) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => builder.code = Some(String::new()),
            Event::Start(tag) => builder.open(Element::new(&tag, follows)),
            Event::End(_) => builder.close(),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => builder.text(&text),
            Event::Code(code) => builder.add(Node::Code(code.into_string())),
            Event::SoftBreak => builder.text("\n"),
            Event::HardBreak => builder.add(Node::Break),
            Event::Rule => builder.add(Node::Rule),
            // Of extensions that are off.
            _ => {}
        }
    }
    builder.done
}

/// The elements that are open, and those that are done.
#[derive(Default)]
struct Builder {
    /// For each open tag: true if its element is open, too.
    tags: Vec<bool>,
    open: Vec<(Element, Vec<Node>)>,
    done: Vec<Node>,
    /// The number of open elements that nest.
    depth: usize,
    /// The content of the code block that is open.
    code: Option<String>,
}

impl Builder {
    fn add(&mut self, node: Node) {
        match self.open.last_mut() {
            Some((_, children)) => children.push(node),
            None => self.done.push(node),
        }
    }

    fn text(&mut self, text: &str) {
        match &mut self.code {
            Some(code) => code.push_str(text),
            None => self.add(Node::Text(text.to_owned())),
        }
    }

    fn open(&mut self, element: Element) {
        let nests = element.nests();
        let is_kept = element != Element::Nothing && !(nests && self.depth >= DEEPEST);
        self.tags.push(is_kept);
        if is_kept {
            self.depth += usize::from(nests);
            self.open.push((element, Vec::new()));
        }
    }

    fn close(&mut self) {
        if let Some(code) = self.code.take() {
            return self.add(Node::Block(code));
        }
        if self.tags.pop() == Some(true)
            && let Some((element, children)) = self.open.pop()
        {
            self.depth -= usize::from(element.nests());
            self.add(Node::Element(element, children));
        }
    }
}

fn block(node: &Node) -> Markup {
    let Node::Element(element, children) = node else {
        return words(node);
    };
    let content = html! { @for child in children { (block(child)) } };
    match element {
        Element::Paragraph => html! { p { (content) } },
        Element::Heading => html! { p class="heading" { strong { (content) } } },
        Element::Quote => html! { blockquote { (content) } },
        Element::List(None) => html! { ul { (items(children)) } },
        Element::List(Some(first)) => html! { ol start=(first) { (items(children)) } },
        Element::Table => table(children),
        _ => words(node),
    }
}

/// The content of a list, which has items only.
fn items(children: &[Node]) -> Markup {
    html! {
        @for child in children {
            @match child {
                Node::Element(Element::Item, content) => li { @for node in content { (block(node)) } },
                other => li { (block(other)) },
            }
        }
    }
}

fn table(rows: &[Node]) -> Markup {
    let cells = |wanted: Element| {
        rows.iter().filter_map(move |row| match row {
            Node::Element(element, cells) if *element == wanted => Some(cells.as_slice()),
            _ => None,
        })
    };
    html! {
        div class="scroll" tabindex="0" {
            table {
                thead { @for row in cells(Element::Head) { tr { @for cell in row { th scope="col" { (words(cell)) } } } } }
                tbody { @for row in cells(Element::Row) { tr { @for cell in row { td { (words(cell)) } } } } }
            }
        }
    }
}

/// A part of a line. Of an element that is more, the content.
fn words(node: &Node) -> Markup {
    match node {
        Node::Text(text) => html! { (text) },
        Node::Code(text) => html! { code { (text) } },
        Node::Block(text) => html! { pre tabindex="0" { code { (text) } } },
        Node::Break => html! { br; },
        Node::Rule => html! { hr; },
        Node::Element(element, children) => {
            let content = html! { @for child in children { (words(child)) } };
            match element {
                Element::Emphasis => html! { em { (content) } },
                Element::Strong => html! { strong { (content) } },
                Element::Struck => html! { s { (content) } },
                Element::Link(target) => html! { a href=(target) rel="noreferrer" { (content) } },
                _ => content,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn docs(target: &str) -> Option<String> {
        target
            .starts_with("https://docs.rs/")
            .then(|| target.to_owned())
    }

    fn shown(text: &str) -> String {
        blocks(text, &docs).into_string()
    }

    #[test]
    fn text_keeps_its_paragraphs_lists_code_and_tables() {
        assert_eq!(
            shown(
                "A *b* **c** ~~d~~ `e<f>`\\\ng\n\n1. x\n2. y\n   - z\n\n> q\n\n```ts\nlet a = 1 < 2;\n```\n\n# H\n\n---\n"
            ),
            "<p>A <em>b</em> <strong>c</strong> <s>d</s> <code>e&lt;f&gt;</code><br>g</p>\
             <ol start=\"1\"><li>x</li><li>y<ul><li>z</li></ul></li></ol><blockquote><p>q</p></blockquote>\
             <pre tabindex=\"0\"><code>let a = 1 &lt; 2;\n</code></pre><p class=\"heading\"><strong>H</strong></p><hr>"
        );
        assert_eq!(
            shown("| a | b |\n| --- | --- |\n| `1` | 2 |\n"),
            "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th scope=\"col\">a</th><th scope=\"col\">b</th></tr></thead>\
             <tbody><tr><td><code>1</code></td><td>2</td></tr></tbody></table></div>"
        );
    }

    #[test]
    fn html_is_text_a_picture_is_its_words_and_a_link_is_followed_where_it_may_be() {
        assert_eq!(
            shown(
                "a <img src=x onerror=alert(1)> ![p](https://evil.example/x) [l](javascript:alert(1)) [d](https://docs.rs/x)"
            ),
            "<p>a &lt;img src=x onerror=alert(1)&gt; p l <a href=\"https://docs.rs/x\" rel=\"noreferrer\">d</a></p>"
        );
        assert_eq!(
            shown("<script>\nalert(1)\n</script>\n"),
            "<p>&lt;script&gt;\nalert(1)\n&lt;/script&gt;\n</p>"
        );
    }

    #[test]
    fn a_part_of_a_line_has_no_blocks() {
        let shown = |text: &str| inline(text, &docs).into_string();
        assert_eq!(
            shown("- a `b` **c**"),
            "- a <code>b</code> <strong>c</strong>"
        );
        assert_eq!(shown("`x` y"), "<code>x</code> y");
        assert_eq!(shown("# a"), "# a");
        assert_eq!(shown(""), "");
    }

    #[test]
    fn what_nests_without_end_ends() {
        for deep in ["> ", "- ", "1. "] {
            let page = shown(&format!("{}x", deep.repeat(20_000)));
            let opened = page.matches('<').count();
            assert!(page.contains('x') && opened < 200, "{deep}: {opened}");
        }
        let page = shown(&"*a **b ".repeat(5_000));
        assert!(page.contains('b'), "it ends");
    }
}
