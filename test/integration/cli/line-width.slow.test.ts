import { afterAll, beforeAll, expect, it } from "vitest";
import { getTextWidth } from "../../../provider/render/text-width";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { type CliResult, runCli } from "../../support/cli";
import { buildConsoleEntry, buildTenant } from "../../support/scenario-tenant";
import { createTestDirectory, type TestDirectory } from "../../support/test-directory";

/* Text output wraps at 80 columns wherever a line has a space, however long values, names and comments are. */

const buildLongLabel = (letter: string): string => letter.repeat(60);
const buildLongDomain = (letter: string): string =>
  `${buildLongLabel(letter)}.${buildLongLabel(letter)}.${buildLongLabel(letter)}.example`;
const buildLongMailbox = (letter: string): string => `${buildLongLabel(letter)}@${buildLongDomain(letter)}`;
const COMMENT = `Seen in the campaign of ${"many small words ".repeat(8)}https://tickets.example/${"1".repeat(90)} as well`;
const DIRECTORY = `settings/${"a-long-directory-name-".repeat(4)}`;
const TENANT = `${"long-tenant-name-".repeat(3)}x`;
const DAY_MS = 24 * 60 * 60 * 1_000;
const soon = new Date(Date.now() + 10 * DAY_MS).toISOString().slice(0, 10);

let sandbox: Sandbox;
let directory: TestDirectory;

beforeAll(async () => {
  const people = Array.from({ length: 3 }, (_, index) => ({
    email: `${buildLongLabel("abc".charAt(index))}@${buildLongLabel("m")}.acme.example`,
    fullName: `Augusta ${"Wilhelmina ".repeat(9)}Smith`,
    jobTitle: "Chief Executive Officer",
    department: "Board",
  }));
  const buildLongEntry = (list: "allow" | "deny", value: string) => ({
    ...buildConsoleEntry(list, value, COMMENT),
    createdBy: `Dana ${"Margarethe ".repeat(9)}Reyes (console)`,
  });
  sandbox = await startSandbox({
    scenario: {
      name: "long",
      tenants: [
        {
          ...buildTenant("acme", [
            buildLongEntry("allow", buildLongDomain("d")),
            buildLongEntry("deny", buildLongDomain("e")),
            buildLongEntry("allow", buildLongDomain("f")),
            buildLongEntry("deny", buildLongMailbox("g")),
          ]),
          employees: people,
          threats: 200,
          manualVips: [
            {
              email: `${buildLongLabel("v")}@acme.example`,
              comment: COMMENT,
              addedBy: "Dana Reyes (console)",
              dateAdded: "2026-11-02T09:00:00Z",
            },
          ],
        },
      ],
    },
  });
  directory = createTestDirectory({
    "tenants.yaml": `version: 1
project: p
defaults:
  baseUrl: ${sandbox.url}
  key: { environment: ACME_KEY }
tenants:
  acme: { settings: settings/acme.yaml }
  ${TENANT}: { key: { environment: OTHER_KEY }, settings: settings/other.yaml }
waves: [{ name: all }]
`,
    "settings/other.yaml": "version: 1\n",
    "settings/acme.yaml": `version: 1
ownDomains: [acme.example]
include: [../${DIRECTORY}/baseline.yaml]
vips:
  - { email: "${buildLongLabel("w")}@acme.example", comment: "${COMMENT}" }
allow:
  - { value: ${buildLongDomain("e")}, comment: "${COMMENT}", owner: "Dana Reyes", expires: ${soon} }
  - { value: ${buildLongMailbox("h")}, comment: "${COMMENT}", ticket: "https://tickets.example/${"2".repeat(60)}", expires: ${soon} }
`,
    [`${DIRECTORY}/baseline.yaml`]: `version: 1
deny:
  - { value: ${buildLongDomain("x")}, comment: "${COMMENT}" }
  - { value: www.${buildLongDomain("x")}, comment: "${COMMENT}" }
  - { value: ${buildLongDomain("d")}, comment: "${COMMENT}" }
`,
  });
});
afterAll(async () => {
  directory[Symbol.dispose]();
  await sandbox.close();
});

/** Returns the lines over 80 columns that have a space to break at outside of backticks. */
function findOverlongLines(text: string): string[] {
  return text
    .split("\n")
    .filter((line) => getTextWidth(line) > 80 && /\S\s+\S/.test(line.replace(/`[^`]+`/g, "command")));
}

const IN_FILE = ["--file", "settings/acme.yaml", "--dry-run"];

it.each([
  { args: ["suggest", "settings/acme.yaml", "--patch", "suggested.patch"], shows: buildLongDomain("x") },
  { args: ["drift", "settings/acme.yaml"], shows: buildLongDomain("f") },
  { args: ["plan", "settings/acme.yaml"], shows: buildLongDomain("x") },
  {
    args: ["find", buildLongDomain("e"), buildLongMailbox("h"), buildLongDomain("d"), "--file", "settings/acme.yaml"],
    shows: buildLongMailbox("h"),
  },
  { args: ["find", buildLongDomain("x"), "--offline", "--file", "settings/acme.yaml"], shows: buildLongDomain("x") },
  { args: ["review", "settings/acme.yaml"], shows: buildLongMailbox("h") },
  { args: ["why", buildLongDomain("x"), "settings/acme.yaml"], shows: buildLongDomain("x") },
  { args: ["fleet", "status"], shows: buildLongDomain("f") },
  { args: ["doctor", "settings/acme.yaml"], shows: `${DIRECTORY}/baseline.yaml:4:14` },
  {
    args: ["add", "deny", buildLongDomain("y"), buildLongDomain("x"), ...IN_FILE, "--comment", COMMENT],
    shows: buildLongDomain("y"),
  },
  { args: ["remove", buildLongDomain("e"), ...IN_FILE], shows: buildLongDomain("e") },
  { args: ["move", buildLongDomain("e"), "--to", "deny", ...IN_FILE], shows: buildLongDomain("e") },
  { args: ["extend", buildLongDomain("e"), "--for", "2099-12-31", ...IN_FILE], shows: buildLongDomain("e") },
  { args: ["export", "--to", `${DIRECTORY}/exported`], shows: `${DIRECTORY}/exported/settings.yaml` },
  { args: ["tenant", "remove", TENANT, "--dry-run"], shows: `stack rm --force --yes --stack ${TENANT}\`` },
  { args: ["explain", "ERR_CONFIGURATION"], shows: "ERR_CONFIGURATION" },
  { args: ["explain"], shows: "ERR_CONFIGURATION" },
])("wraps the long lines of `$args.0` at spaces", async ({ args, shows }) => {
  const { stdout } = await runInSandbox(args);
  // Commands to type and diffs aren't wrapped.
  const [text = ""] = stdout.replace(/^ +export PATH=.*/m, "").split(/^--- /m);
  expect(text).toContain(shows);
  expect(findOverlongLines(text)).toEqual([]);
});

it("wraps the stderr report of `drift --revert`", async () => {
  const { stderr } = await runInSandbox(["drift", "settings/acme.yaml", "--revert"]);
  expect(stderr).toContain(buildLongDomain("f"));
  expect(findOverlongLines(stderr)).toEqual([]);
});

it("wraps the report of `drift --adopt`", async () => {
  const { stderr } = await runInSandbox(["drift", "settings/acme.yaml", "--adopt", "added", "--dry-run"]);
  expect(stderr).toContain("would be adopted");
  expect(stderr).toContain("more differ");
  expect(findOverlongLines(stderr)).toEqual([]);
});

it("wraps the output of `rollout skip`", async () => {
  await runInSandbox(["rollout", "tenants.yaml", "--only", TENANT]);
  const reasonArgs = ["--reason", `its key is refused ${"over and over ".repeat(9)}OPS-412`];
  const { stdout, stderr } = await runInSandbox(["rollout", "skip", TENANT, ...reasonArgs]);
  expect(stdout.replaceAll(/\s+/g, " "), stderr).toContain("over and over OPS-412");
  expect(findOverlongLines(stdout)).toEqual([]);
});

async function runInSandbox(args: readonly string[]): Promise<CliResult> {
  return await runCli(directory.path, args, {
    EMAIL_SECURITY_BASE_URL: sandbox.url,
    EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
    EMAIL_SECURITY_KEY_VARIABLES: "ACME_KEY,OTHER_KEY",
    ACME_KEY: "sandbox-acme-ci",
  });
}
