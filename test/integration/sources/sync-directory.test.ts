import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { runCli } from "../../support/cli";
import { Canary } from "../../support/leak-canary";
import { createTestDirectory } from "../../support/test-directory";
import { GraphStandIn } from "./graph-stand-in";

const GENERATED = "settings/sources/executives.yaml";

it("follows a group with `email-security sync`, and never shows the token", async () => {
  const canary = new Canary();
  await using graph = await new GraphStandIn(canary.key).start();
  using directory = createTestDirectory({
    ".git/HEAD": "ref: refs/heads/main\n",
    "settings/acme.yaml": `version: 1
include: [sources/executives.yaml]
sources:
  executives: { kind: microsoft-graph, group: Board, into: vips, comment: "Member of {group}: {name}" }
`,
  });
  const jane = graph.addUser({ mail: "jane@acme.example", displayName: "Jane Doe" });
  const joe = graph.addUser({ mail: "joe@acme.example", displayName: "Joe Doe" });
  const formerUser = graph.addUser({ mail: "left@acme.example", accountEnabled: false });
  const group = graph.addGroup("Board", [jane, joe, formerUser]);
  const environment = {
    EMAIL_SECURITY_SOURCES: `executives=${graph.origin}/`,
    EMAIL_SECURITY_SOURCE_EXECUTIVES_TOKEN: canary.key,
  };
  const outputs: string[] = [];
  const runSync = async (today: string, ...args: string[]): Promise<number | null> => {
    const run = await runCli(directory.path, ["sync", "--today", today, ...args], environment);
    outputs.push(run.stdout, run.stderr);
    return run.code;
  };

  expect(await runSync("2026-11-29")).toBe(0);
  expect(outputs.join("")).toContain("disabled account");
  const first = readFileSync(directory.at(GENERATED), "utf8");
  expect(first).toContain('email: jane@acme.example, comment: "Member of Board: Jane Doe"');
  expect(first).not.toContain("left@acme.example");

  expect(await runSync("2026-11-30")).toBe(0);
  expect(readFileSync(directory.at(GENERATED), "utf8")).toBe(first);

  graph.groups.set(group, { id: group, displayName: "Board", members: [jane] });
  expect(await runSync("2026-12-01", "--check")).toBe(2);
  expect(await runSync("2026-12-01")).toBe(0);
  expect(readFileSync(directory.at(GENERATED), "utf8")).not.toContain("joe@acme.example");

  const before = readFileSync(directory.at(GENERATED), "utf8");
  graph.permissions = ["GroupMember.Read.All"];
  expect(await runSync("2026-12-02")).toBe(1);
  expect(outputs.join("")).toContain("User.Read.All");
  expect(readFileSync(directory.at(GENERATED), "utf8")).toBe(before);
  expect(canary.find("output", outputs.join("\n"))).toEqual([]);
  expect(await canary.findInDirectory(directory.path)).toEqual([]);
});
