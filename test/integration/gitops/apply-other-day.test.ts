import { expect, it } from "vitest";
import { runCli } from "../../support/cli";
import { createTestDirectory } from "../../support/test-directory";

const FILE = "version: 1\ndeny:\n  - { value: evil.example, expires: 2035-01-31 }\n";

it.each([
  { day: "2020-01-01", more: [] },
  { day: "2035-02-01", more: [] },
  { day: "2035-02-01", more: ["--only-expired"] },
])("refuses to apply a plan for $day $more before it starts the engine", async ({ day, more }) => {
  using directory = createTestDirectory({ "settings.yaml": FILE });
  const args = ["apply", "--stack", "dev", "--today", day, "--yes", ...more];
  // No key, service or engine is configured, because the refusal needs none.
  const { code, stdout, stderr } = await runCli(directory.path, args);
  expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
  expect(stderr).toContain(`--yes can't apply a plan for ${day}`);
  expect(stderr).toContain("Nothing was changed.");
  expect(stderr).not.toContain("running this again does what is left");
});

it("accepts every value shown in the help for --for", async () => {
  using directory = createTestDirectory({ "settings.yaml": "version: 1\ndeny: [bad.example]\n" });
  const help = (await runCli(directory.path, ["add", "--help"])).stdout.replaceAll(/\s+/g, " ");
  const example = /--for <term> Set the expiry: (\S+), (\S+), the last day as (\S+), or (\w+)/.exec(help);
  expect(example?.slice(1)).toHaveLength(4);
  for (const term of example?.slice(1) ?? []) {
    const value = `${term.toLowerCase()}.example`;
    // The date in the help is only an example of the format. It will be in the past one day, so the test uses a later
    // year.
    const laterTerm = term.replace(/^\d{4}/, "2035");
    const args = ["add", "deny", value, "--for", laterTerm, "--offline", "--dry-run"];
    const { code, stderr } = await runCli(directory.path, args);
    expect({ term, code, stderr }).toMatchObject({ term, code: 0 });
  }
});
