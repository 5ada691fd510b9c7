//! What a script can ask about the request that it answers.

use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    pub name: String,
    pub call_id: String,
    pub content: String,
}

#[derive(Debug)]
pub struct Request {
    raw: Value,
}

impl Request {
    pub fn new(raw: Value) -> Self {
        Self { raw }
    }

    pub fn raw(&self) -> &Value {
        &self.raw
    }

    pub fn messages(&self) -> &[Value] {
        self.raw["messages"].as_array().map_or(&[], Vec::as_slice)
    }

    /// Every system message, in order.
    pub fn system(&self) -> String {
        let system = self.messages().iter().filter(|m| m["role"] == "system");
        system.map(content).collect::<Vec<_>>().join("\n")
    }

    pub fn last_user(&self) -> String {
        self.since_last_user()
            .first()
            .map(content)
            .unwrap_or_default()
    }

    /// From "Pass N of 4" in the last user message that says so: a nudge belongs to the pass before it.
    pub fn pass(&self) -> Option<u8> {
        let users = self.messages().iter().rev().filter(|m| m["role"] == "user");
        users.map(content).find_map(|text| pass_in(&text))
    }

    /// The part of the pass, from "Pass N of 4, part K of L" in the same message; 1 where there are no parts.
    pub fn part(&self) -> u32 {
        let users = self.messages().iter().rev().filter(|m| m["role"] == "user");
        let text = users.map(content).find(|text| pass_in(text).is_some());
        let part = text.as_deref().and_then(|text| {
            let (_, rest) = text.split_once(" of 4, part ")?;
            rest.split_once(" of ")?.0.parse().ok()
        });
        part.unwrap_or(1)
    }

    /// The section of a large change that the conversation is about, from its first prompt; 0 for the whole change.
    pub fn section(&self) -> u32 {
        let first = self.first_user();
        let section = first.split_once("yours is section ");
        let section = section.and_then(|(_, rest)| rest.split_once(" of "));
        section.map_or(0, |(number, _)| number.parse().expect("a number"))
    }

    /// Whether it is the session that consolidates what all sections found.
    pub fn is_of_all_sections(&self) -> bool {
        self.first_user().contains(": Consolidation of all ")
    }

    /// Whether the conversation is one that fixes.
    pub fn is_fix(&self) -> bool {
        self.first_user().starts_with("Fix the issues below")
    }

    /// The issues of a prompt that asks for fixes: each id with its text.
    pub fn issues(&self) -> Vec<(String, String)> {
        let prompt = self.first_user();
        let issues = prompt.split("\n## Issue ").skip(1);
        let issue = |text: &str| {
            let id = text.split(' ').next().unwrap_or_default();
            (id.to_owned(), text.to_owned())
        };
        issues.map(issue).collect()
    }

    fn first_user(&self) -> String {
        let mut users = self.messages().iter().filter(|m| m["role"] == "user");
        users.next().map(content).unwrap_or_default()
    }

    /// Whether the conversation begins with it.
    pub fn is_first(&self) -> bool {
        !self.messages().iter().any(|m| m["role"] == "assistant")
    }

    /// How often the model has answered since the last user message.
    pub fn step(&self) -> usize {
        let messages = self.since_last_user().iter();
        messages.filter(|m| m["role"] == "assistant").count()
    }

    /// The results of the tools called since the last user message, oldest first.
    pub fn tool_results(&self) -> Vec<ToolResult> {
        let messages = self.since_last_user();
        let calls: Vec<&Value> = messages
            .iter()
            .filter_map(|m| m["tool_calls"].as_array())
            .flatten()
            .collect();
        let name_of = |id: &Value| {
            let call = calls.iter().find(|call| call["id"] == *id);
            call.and_then(|call| call["function"]["name"].as_str())
                .unwrap_or_default()
                .to_owned()
        };
        messages
            .iter()
            .filter(|m| m["role"] == "tool")
            .map(|m| ToolResult {
                name: name_of(&m["tool_call_id"]),
                call_id: m["tool_call_id"].as_str().unwrap_or_default().to_owned(),
                content: content(m),
            })
            .collect()
    }

    /// The findings that the prompt of the pass lists, each with its claim.
    pub fn listed(&self) -> Vec<(String, String)> {
        let users = self.messages().iter().rev().filter(|m| m["role"] == "user");
        let prompt = users.map(content).find(|text| pass_in(text).is_some());
        let prompt = prompt.unwrap_or_default();
        let listed = prompt.lines().filter(|line| line.starts_with("new-"));
        listed
            .filter_map(|line| {
                let (id, rest) = line.split_once(' ')?;
                let (_, claim) = rest.split_once("): ")?;
                Some((id.to_owned(), claim.to_owned()))
            })
            .collect()
    }

    /// The findings that the conversation has recorded, each with its words, oldest first.
    pub fn recorded(&self) -> Vec<(String, String)> {
        let calls: Vec<&Value> = self
            .messages()
            .iter()
            .filter_map(|m| m["tool_calls"].as_array())
            .flatten()
            .collect();
        let words = |message: &Value| {
            let said = content(message);
            let id = said.strip_prefix("Recorded as ")?;
            let id = id.split([' ', ',']).next()?.to_owned();
            let mut calls = calls.iter();
            let call = calls.find(|call| call["id"] == message["tool_call_id"])?;
            let given = call["function"]["arguments"].as_str()?;
            let given: Value = serde_json::from_str(given).ok()?;
            Some((id, given["body"].as_str()?.to_owned()))
        };
        let results = self.messages().iter().filter(|m| m["role"] == "tool");
        results.filter_map(words).collect()
    }

    pub fn last_result(&self) -> Option<String> {
        self.tool_results().pop().map(|result| result.content)
    }

    /// The names of the tools on offer.
    pub fn tools(&self) -> Vec<String> {
        let tools = self.raw["tools"].as_array().into_iter().flatten();
        tools
            .filter_map(|tool| tool["function"]["name"].as_str())
            .map(str::to_owned)
            .collect()
    }

    fn since_last_user(&self) -> &[Value] {
        let messages = self.messages();
        match messages.iter().rposition(|m| m["role"] == "user") {
            Some(index) => &messages[index..],
            None => &[],
        }
    }
}

/// Plain text, or the text of the parts.
fn content(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn pass_in(text: &str) -> Option<u8> {
    text.match_indices("Pass ").find_map(|(at, word)| {
        let number = text[at + word.len()..].split_once(" of 4")?.0;
        number.parse().ok()
    })
}
