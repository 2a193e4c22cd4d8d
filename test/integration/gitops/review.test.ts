import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { reviewSchema } from "../../../provider/commands/review/review-schema";
import { startSandbox } from "../../../provider/sandbox";
import { runCli } from "../../support/cli";
import { createTestDirectory } from "../../support/test-directory";

/* `email-security review` through the real command, against the sandbox. */

const DAY_MS = 24 * 60 * 60 * 1_000;
const soon = new Date(Date.now() + 5 * DAY_MS).toISOString().slice(0, 10);

it("reads the lists and the mail once", async () => {
  await using sandbox = await startSandbox({ scenario: "acme" });
  const lately = Date.now() - 20 * 86_400_000;
  const listed = new Set(sandbox.allowDenyEntries("acme").map(({ value }) => value));
  const bad = sandbox
    .threats("acme")
    .find(
      ({ verdict, sender_email: from = "", time }) =>
        verdict === "malicious" && Date.parse(time) > lately && /@(?!.*acme)/.test(from) && !listed.has(from),
    );
  const sender = bad?.sender_email ?? "";
  using directory = createTestDirectory({
    "settings.yaml": `version: 1\nallow:\n  - { value: ${sender}, owner: Dana, expires: ${soon} }\n`,
  });
  const environment = { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" };
  const files = ["--output", "r.html", "--output", "r.csv", "--output", "r.md"] as const;
  const first = await runCli(directory.path, ["review", "--output", "json=-", ...files], environment);
  expect({ code: first.code, stderr: first.stderr }).toEqual({
    code: 2,
    stderr: "Wrote r.html, r.csv, r.md.\n",
  });
  const report = reviewSchema.parse(JSON.parse(first.stdout));
  const [worst] = report.items;
  expect([worst?.value, worst?.reasons.map(({ kind }) => kind)]).toEqual([
    sender,
    expect.arrayContaining(["malicious", "expiring"]),
  ]);
  const undeclared = report.items.filter(({ reasons }) => reasons.some(({ kind }) => kind === "undeclared"));
  const rows = sandbox.allowDenyEntries("acme").filter(({ list }) => list === "allow");
  expect(undeclared).toHaveLength(rows.length);
  for (const name of ["r.html", "r.csv", "r.md"]) {
    expect(readFileSync(directory.at(name), "utf8")).toContain(sender);
  }
  const requests = sandbox.requests.map(({ method, path }) => `${method} ${path.replace(/^.*\/v1/, "")}`);
  const pages = Math.ceil(sandbox.threats("acme").length / 100);
  expect(requests.filter((request) => request.startsWith("GET /settings"))).toHaveLength(3);
  expect(requests.filter((request) => request.startsWith("GET /threats")).length).toBeLessThanOrEqual(pages);
  expect(requests.filter((request) => !request.startsWith("GET "))).toEqual([]);
});
