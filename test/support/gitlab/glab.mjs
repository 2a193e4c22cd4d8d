#!/usr/bin/env node
// A fake of GitLab's `glab` with the subcommands that commands use. Like the real one, it calls the API of the server in GITLAB_HOST with
// the token in GITLAB_TOKEN. Unknown subcommands are errors.
const [group, action, ...rest] = process.argv.slice(2);
const flags = new Map(
  rest.flatMap((arg) => {
    const [, name, value] = /^--([a-z-]+)=([\s\S]*)$/.exec(arg) ?? [];
    return name === undefined ? [] : [[name, value]];
  }),
);

async function request(method, path, fields = {}) {
  const url = new URL(`${process.env.GITLAB_HOST}/api/v4/projects/acme%2Femail-security/merge_requests${path}`);
  const form = new URLSearchParams(Object.entries(fields).filter(([, value]) => value !== undefined));
  if (method === "GET") url.search = String(form);
  const response = await fetch(url, {
    method,
    headers: { "private-token": process.env.GITLAB_TOKEN ?? "" },
    ...(method === "GET" ? {} : { body: form }),
  });
  if (!response.ok) throw new Error(`glab: ${method} ${url} returned ${response.status}`);
  return await response.json();
}

const commands = {
  "--version undefined": () => console.log("glab 1.77.0"),
  "mr list": async () => {
    const source = flags.get("source-branch");
    console.log(JSON.stringify(await request("GET", "", { source_branch: source, state: "opened" })));
  },
  "mr create": async () => {
    const { web_url: url } = await request("POST", "", {
      source_branch: flags.get("source-branch"),
      title: flags.get("title"),
      description: flags.get("description"),
    });
    console.log(`!1 Opened\n ${url}`);
  },
  "mr update": async () => {
    await request("PUT", `/${rest[0]}`, { description: flags.get("description") });
  },
};

const command = commands[`${group} ${action}`];
if (command === undefined) throw new Error(`glab: no ${process.argv.slice(2).join(" ")}`);
await command();
