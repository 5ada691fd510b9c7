// Makes github-openapi.json, github.graphql, sarif.json and ../fixtures/events anew from the official descriptions.
// Run by hand (`node tests/schema/make.mjs`); the packages go to a temporary directory, because together they
// are 400 MB and the tests need a thousandth of that.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const PACKAGES = [
  "@octokit/openapi@23.0.2",
  "@octokit/graphql-schema@15.26.1",
  "@octokit/webhooks-examples@7.6.1",
  "graphql@16.11.0",
  "@microsoft/jest-sarif@1.0.0-beta.0",
];
const here = dirname(fileURLToPath(import.meta.url));
const temporary = mkdtempSync(join(tmpdir(), "github-schema-"));
try {
  writeFileSync(join(temporary, "package.json"), "{}");
  execFileSync("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", ...PACKAGES], {
    cwd: temporary,
    stdio: "inherit",
  });
  const modules = join(temporary, "node_modules");
  makeOpenApi(readJson(join(modules, "@octokit/openapi/generated/api.github.com.json")));
  makeGraphql(
    readFileSync(join(modules, "@octokit/graphql-schema/schema.graphql"), "utf8"),
    await import(join(modules, "graphql/index.mjs")),
  );
  makeSarif(readJson(join(modules, "@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json")));
  makeEvents(readJson(join(modules, "@octokit/webhooks-examples/api.github.com/index.json")));
} finally {
  rmSync(temporary, { recursive: true, force: true });
}

function readJson(path) {
  return JSON.parse(readFileSync(path, "utf8"));
}

// ---- REST: the operations that the reviewer may use, and those of the tools that it is compared with in `make bench`,
// ---- with every component they reach ----

function makeOpenApi(api) {
  const repository = "/repos/{owner}/{repo}";
  const operations = {
    "/rate_limit": ["get"],
    "/user": ["get"],
    "/app": ["get"],
    "/app/installations": ["get"],
    "/app/installations/{installation_id}/access_tokens": ["post"],
    "/app/hook/config": ["get"],
    "/app/hook/deliveries": ["get"],
    "/app/hook/deliveries/{delivery_id}/attempts": ["post"],
    "/installation/repositories": ["get"],
    [`${repository}/hooks`]: ["get"],
    [`${repository}/installation`]: ["get"],
    [repository]: ["get"],
    [`${repository}/pulls`]: ["get", "post"],
    [`${repository}/pulls/{pull_number}`]: ["get"],
    [`${repository}/pulls/{pull_number}/files`]: ["get"],
    [`${repository}/pulls/{pull_number}/commits`]: ["get"],
    [`${repository}/pulls/{pull_number}/comments`]: ["get", "post"],
    [`${repository}/pulls/{pull_number}/comments/{comment_id}/replies`]: ["post"],
    [`${repository}/pulls/{pull_number}/requested_reviewers`]: ["get", "post"],
    [`${repository}/pulls/{pull_number}/merge`]: ["put"],
    [`${repository}/pulls/{pull_number}/reviews`]: ["get", "post"],
    [`${repository}/pulls/{pull_number}/reviews/{review_id}`]: ["delete"],
    [`${repository}/pulls/{pull_number}/reviews/{review_id}/comments`]: ["get"],
    [`${repository}/pulls/{pull_number}/reviews/{review_id}/events`]: ["post"],
    [`${repository}/pulls/{pull_number}/reviews/{review_id}/dismissals`]: ["put"],
    [`${repository}/pulls/comments/{comment_id}`]: ["get", "patch", "delete"],
    [`${repository}/pulls/comments/{comment_id}/reactions`]: ["post"],
    [`${repository}/issues/{issue_number}/comments`]: ["get", "post"],
    [`${repository}/issues/{issue_number}/labels`]: ["get", "post", "put"],
    [`${repository}/issues/{issue_number}/labels/{name}`]: ["delete"],
    [`${repository}/issues/comments/{comment_id}`]: ["get", "patch", "delete"],
    [`${repository}/issues/comments/{comment_id}/reactions`]: ["post"],
    [`${repository}/check-runs`]: ["post"],
    [`${repository}/check-runs/{check_run_id}`]: ["patch"],
    [`${repository}/commits/{ref}/check-runs`]: ["get"],
    [`${repository}/commits/{ref}`]: ["get"],
    [`${repository}/compare/{basehead}`]: ["get"],
    [`${repository}/branches/{branch}`]: ["get"],
    [`${repository}/rules/branches/{branch}`]: ["get"],
    [`${repository}/git/refs`]: ["post"],
    [`${repository}/contents/{path}`]: ["get"],
    [`${repository}/languages`]: ["get"],
    [`${repository}/collaborators/{username}/permission`]: ["get"],
  };
  const subset = { openapi: api.openapi, info: { title: api.info.title, version: api.info.version }, paths: {} };
  for (const [path, methods] of Object.entries(operations)) {
    subset.paths[path] = {};
    for (const method of methods) {
      const operation = api.paths[path]?.[method];
      if (!operation) throw new Error(`the official description has no ${method} ${path}`);
      subset.paths[path][method] = keepOperation(operation);
    }
  }
  // Known mistake: a bare list of names is taken, too, and is what PyGithub sends.
  const labels = subset.paths[`${repository}/issues/{issue_number}/labels`].put.requestBody;
  labels.content["application/json"].schema.oneOf.push({ type: "array", items: { type: "string" } });
  // Known mistake: in the list the account is a user and an enterprise at once.
  const installations = subset.paths["/app/installations"].get.responses["200"];
  installations.content["application/json"].schema.items = { $ref: "#/components/schemas/installation" };
  const components = {};
  for (const pending = [subset.paths]; pending.length > 0; ) {
    for (const [kind, name] of references(pending.pop())) {
      components[kind] ??= {};
      if (components[kind][name]) continue;
      components[kind][name] = withoutProse(api.components[kind][name]);
      pending.push(components[kind][name]);
    }
  }
  // Known mistake: a label without a description has null for it, in lists of pull requests as everywhere.
  const listed = components.schemas["pull-request-simple"].properties.labels.items.properties;
  listed.description.nullable = true;
  subset.components = components;
  writeFileSync(join(here, "github-openapi.json"), oneLinePerEntry(subset));
}

function keepOperation({ operationId, parameters, requestBody, responses }) {
  const success = Object.entries(responses)
    .filter(([status, { content }]) => status.startsWith("2") && content?.["application/json"])
    .map(([status, { content }]) => [
      status,
      { content: { "application/json": { schema: content["application/json"].schema } } },
    ]);
  return withoutProse({ operationId, parameters, requestBody, responses: Object.fromEntries(success) });
}

// Under `properties` a key is a name, and a property may well be called `description`.
function withoutProse(node, insideProperties = false) {
  if (Array.isArray(node)) return node.map((item) => withoutProse(item));
  if (node === null || typeof node !== "object") return node;
  const kept = {};
  for (const [key, value] of Object.entries(node)) {
    const prose = ["description", "example", "examples", "title", "externalDocs"];
    if (!insideProperties && (prose.includes(key) || key.startsWith("x-"))) continue;
    kept[key] = withoutProse(value, key === "properties" && !insideProperties);
  }
  return kept;
}

function* references(node) {
  if (node === null || typeof node !== "object") return;
  if (typeof node.$ref === "string") yield node.$ref.split("/").slice(2);
  for (const value of Object.values(node)) yield* references(value);
}

// Small, and still a readable diff when the version changes.
function oneLinePerEntry({ paths, components, ...rest }) {
  const block = (entries) =>
    Object.entries(entries)
      .map(([key, value]) => `    ${JSON.stringify(key)}: ${JSON.stringify(value)}`)
      .join(",\n");
  const groups = Object.entries(components)
    .map(([kind, entries]) => `   ${JSON.stringify(kind)}: {\n${block(entries)}\n   }`)
    .join(",\n");
  const head = JSON.stringify(rest).slice(1, -1);
  return `{\n ${head},\n "paths": {\n${block(paths)}\n },\n "components": {\n${groups}\n }\n}\n`;
}

// ---- GraphQL: whole types, minus the fields that lead out of the list. A query that is valid here is valid
// ---- at GitHub; one that leaves the list fails, and then the list grows.

function makeGraphql(text, { parse, print, visit }) {
  const objects = new Set(
    `Query Mutation Repository RepositoryOwner PullRequest PullRequestConnection PageInfo RateLimit Node Actor Bot User
    Organization Mannequin EnterpriseUserAccount Team RequestedReviewer ReviewRequest ReviewRequestConnection Ref
    GitObject Blob Tree Commit CommitConnection PullRequestCommit PullRequestCommitConnection CommitHistoryConnection
    CheckSuite CheckSuiteConnection CheckRun CheckRunConnection App Label LabelConnection
    PullRequestTimelineItemsConnection PullRequestTimelineItems HeadRefForcePushedEvent
    PullRequestReview PullRequestReviewConnection PullRequestReviewThread PullRequestReviewThreadConnection
    PullRequestReviewComment PullRequestReviewCommentConnection IssueComment IssueCommentConnection Comment Minimizable Issue IssueConnection StatusCheckRollup
    StatusCheckRollupContextConnection StatusCheckRollupContext StatusContext CheckAnnotation CheckAnnotationConnection
    CheckAnnotationSpan CheckAnnotationPosition
    ResolveReviewThreadPayload ResolveReviewThreadInput UnresolveReviewThreadPayload UnresolveReviewThreadInput
    AddPullRequestReviewThreadPayload AddPullRequestReviewThreadInput
    AddPullRequestReviewThreadReplyPayload AddPullRequestReviewThreadReplyInput MinimizeCommentPayload MinimizeCommentInput
    MergeQueue MergeQueueEntry MergeQueueEntryConnection CreateCommitOnBranchPayload AutoMergeRequest TreeEntry GitActor
    EnablePullRequestAutoMergePayload DisablePullRequestAutoMergePayload EnqueuePullRequestPayload
    DequeuePullRequestPayload`
      .split(/\s+/),
  );
  const mutations = [
    "resolveReviewThread",
    "unresolveReviewThread",
    "addPullRequestReviewThread",
    "addPullRequestReviewThreadReply",
    "minimizeComment",
    "createCommitOnBranch",
    "enablePullRequestAutoMerge",
    "disablePullRequestAutoMerge",
    "enqueuePullRequest",
    "dequeuePullRequest",
  ];
  const document = visit(parse(text), { StringValue: (node) => (node.block ? null : undefined) });
  const definitions = new Map(document.definitions.map((definition) => [definition.name?.value, definition]));
  const named = (type) => (type.type ? named(type.type) : type.name.value);
  const leaf = (name) =>
    ["ScalarTypeDefinition", "EnumTypeDefinition"].includes(definitions.get(name)?.kind) ||
    ["Int", "Float", "String", "Boolean", "ID"].includes(name);
  const needed = new Set(objects);
  const inputs = (name) => {
    needed.add(name);
    for (const field of definitions.get(name)?.fields ?? []) if (!needed.has(named(field.type))) inputs(named(field.type));
  };
  const keptFields = (definition) =>
    definition.fields?.filter((field) => {
      const name = named(field.type);
      if (definition.name.value === "Mutation") return mutations.includes(field.name.value);
      return objects.has(name) || leaf(name);
    });
  const kept = [];
  for (const definition of document.definitions) {
    if (!objects.has(definition.name?.value)) continue;
    const fields = keptFields(definition);
    for (const field of fields ?? []) {
      needed.add(named(field.type));
      for (const argument of field.arguments ?? []) inputs(named(argument.type));
    }
    kept.push({
      ...definition,
      fields,
      interfaces: definition.interfaces?.filter((one) => objects.has(one.name.value)),
      types: definition.types?.filter((one) => objects.has(one.name.value)),
    });
  }
  const rest = document.definitions.filter(({ name }) => needed.has(name?.value) && !objects.has(name.value));
  const directives = new Set(["possibleTypes", "preview", "docsCategory"]);
  const subset = visit(
    { kind: "Document", definitions: [...kept, ...rest].sort((a, b) => (a.name.value < b.name.value ? -1 : 1)) },
    {
      Directive: (node) => (directives.has(node.name.value) ? null : undefined),
      StringValue: { enter: (node, key) => (key === "description" ? null : undefined) },
    },
  );
  writeFileSync(join(here, "github.graphql"), print(subset) + "\n");
}

// ---- Events: one official example each ----

function makeEvents(examples) {
  const wanted = [
    ["pull_request", "opened"],
    ["pull_request", "reopened"],
    ["pull_request", "synchronize"],
    ["pull_request", "ready_for_review"],
    ["pull_request", "closed"],
    ["pull_request", "labeled"],
    ["pull_request", "unlabeled"],
    ["pull_request", "converted_to_draft"],
    ["merge_group", "checks_requested"],
    ["pull_request_review", "submitted"],
    ["pull_request_review_comment", "created"],
    ["pull_request_review", "dismissed"],
    ["pull_request_review_thread", "resolved"],
    ["pull_request_review_thread", "unresolved"],
    ["issue_comment", "created"],
    ["check_suite", "completed"],
    ["status"],
    ["repository", "renamed"],
    ["repository", "transferred"],
    ["installation", "created"],
    ["installation", "deleted"],
    ["installation_repositories", "added"],
    ["installation_repositories", "removed"],
    ["ping"],
    ["workflow_dispatch"],
    ["push"],
  ];
  for (const [name, action] of wanted) {
    const event = examples.find((one) => one.name === name);
    const example = event?.examples.find((one) => action === undefined || one.action === action);
    if (!example) throw new Error(`no official example of ${name} ${action ?? ""}`);
    const file = [name, action].filter(Boolean).join(".") + ".json";
    writeFileSync(join(here, "../fixtures/events", file), JSON.stringify(example, null, 1) + "\n");
  }
}

// ---- SARIF: the whole schema ----

function makeSarif(schema) {
  const { definitions, ...rest } = withoutProse(schema);
  // No regular expression there; mended in later editions of the standard.
  for (const { properties } of [definitions.run, definitions.toolComponent]) {
    properties.language.pattern = "^[a-zA-Z]{2}(-[a-zA-Z]{2})?$";
  }
  const lines = Object.entries(definitions).map(
    ([name, definition]) => `${JSON.stringify(name)}: ${JSON.stringify(definition)}`,
  );
  const head = JSON.stringify(rest).slice(0, -1);
  writeFileSync(join(here, "sarif.json"), `${head},"definitions":{\n${lines.join(",\n")}\n}}\n`);
}
