#!/usr/bin/env node
// A fake of GitHub's `gh` with the subcommands that the workflows and commands use. It stores its data in a JSON file: GH_STATE, or
// state.json in GH_CONFIG_DIR, which commands pass on. Unknown subcommands are errors. Like the real `gh`, it runs filters (--jq)
// with gojq.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const args = process.argv.slice(2).flatMap((arg) => {
  const [, name, text] = /^(--[a-z-]+)=([\s\S]*)$/.exec(arg) ?? [];
  return name === undefined ? [arg] : [name, text];
});
const file = process.env.GH_STATE ?? join(process.env.GH_CONFIG_DIR ?? "", "state.json");
const state = JSON.parse(readFileSync(file, "utf8"));
if (!process.env.GH_TOKEN) throw new Error("gh: no GH_TOKEN");

const getFlag = (name) => {
  const index = args.indexOf(name);
  return index < 0 ? undefined : args[index + 1];
};
const readBody = () => readFileSync(getFlag("--body-file") === "-" ? 0 : getFlag("--body-file"), "utf8");
const print = (answer) => {
  const filter = getFlag("--jq");
  const text = JSON.stringify(answer);
  if (filter !== undefined) process.stdout.write(execFileSync("gojq", ["-r", filter], { input: text }));
  else if (!args.includes("--silent")) console.log(text);
};

const getPullRequestUrl = ({ number }) => `https://github.com/acme/email-security/pull/${number}`;

const commands = {
  "auth setup-git"() {},
  api() {
    const url = new URL(`https://api.github.com/${args.find((arg) => arg.startsWith("repos/"))}`);
    const path = url.pathname.replace("/repos/acme/email-security/", "");
    const method = getFlag("--method") ?? "GET";
    const [, field] = /^body=@(.+)$/.exec(getFlag("--field") ?? "") ?? [];
    if (method === "GET" && path === "actions/artifacts") {
      print({ artifacts: state.artifacts.filter(({ name }) => name === url.searchParams.get("name")) });
    } else if (method === "GET" && /^issues\/\d+\/comments$/.test(path)) {
      print(state.comments.filter(({ issue }) => issue === Number(path.split("/")[1])));
    } else if (method === "POST" && /^issues\/\d+\/comments$/.test(path)) {
      const comment = {
        id: state.comments.length + 101,
        issue: Number(path.split("/")[1]),
        user: { login: "github-actions[bot]" },
        body: readFileSync(field, "utf8"),
      };
      state.comments.push(comment);
      print(comment);
    } else if (method === "PATCH" && /^issues\/comments\/\d+$/.test(path)) {
      const comment = state.comments.find(({ id }) => id === Number(path.split("/").at(-1)));
      comment.body = readFileSync(field, "utf8");
      print(comment);
    } else if (method === "GET" && /^pulls\/\d+\/reviews$/.test(path) && args.includes("--slurp")) {
      // Two a page.
      const all = state.reviews.filter(({ pull }) => pull === Number(path.split("/")[1]));
      print(Array.from({ length: Math.ceil(all.length / 2) }, (_, page) => all.slice(2 * page, 2 * page + 2)));
    } else throw new Error(`gh: no ${method} ${path}`);
  },
  "label create"() {},
  "run list"() {
    const runs = (state.runs ?? []).filter(({ workflow }) => workflow === getFlag("--workflow"));
    print(runs.slice(0, Number(getFlag("--limit"))).map(({ status }) => ({ status })));
  },
  "issue list"() {
    const label = getFlag("--label");
    const open = state.issues.filter((issue) => issue.state === getFlag("--state") && issue.label === label);
    print(open.slice(0, Number(getFlag("--limit"))).map(({ number, title }) => ({ number, title })));
  },
  "issue create"() {
    const number = state.issues.length + 1;
    state.issues.push({
      number,
      state: "open",
      label: getFlag("--label"),
      title: getFlag("--title"),
      body: readBody(),
    });
  },
  "issue edit"() {
    state.issues.find(({ number }) => number === Number(args[2])).body = readBody();
  },
  "issue close"() {
    Object.assign(
      state.issues.find(({ number }) => number === Number(args[2])),
      { state: "closed" },
    );
  },
  "pr list"() {
    const listed = state.pulls.filter((pull) => pull.state === getFlag("--state") && pull.head === getFlag("--head"));
    print(
      listed
        .slice(0, Number(getFlag("--limit")))
        .toReversed()
        .map((pull) => ({ ...pull, url: getPullRequestUrl(pull) })),
    );
  },
  "pr edit"() {
    // As the real one: by its number, or the newest of a branch, also one that was merged.
    const pull = state.pulls.findLast(({ number, head }) => String(number) === args[2] || head === args[2]);
    if (pull === undefined) throw new Error(`gh: no pull request of ${args[2]}`);
    pull.body = readBody();
  },
  "pr create"() {
    const head = getFlag("--head");
    const isThere = state.pulls.some((pull) => pull.state === "open" && pull.head === head && !pull.isCrossRepository);
    if (isThere) throw new Error(`gh: a pull request of ${head} is open already`);
    const number = state.pulls.length + 1;
    state.pulls.push({
      number,
      state: "open",
      isCrossRepository: false,
      head,
      title: getFlag("--title"),
      body: readBody(),
    });
    console.log(getPullRequestUrl(state.pulls.at(-1)));
  },
};

const command = commands[args[0]] ?? commands[`${args[0]} ${args[1]}`];
if (command === undefined) throw new Error(`gh: no ${args.join(" ")}`);
command();
writeFileSync(file, JSON.stringify(state, undefined, 2));
