/**
 * `npm run demo`: runs the quickstart example step by step, with the real Pulumi engine against the sandbox. All its
 * data is in memory and in a temporary directory, and no process is left running.
 */
import { spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { styleText } from "node:util";
import { requireEngine } from "pulumi-email-security/engine";
import { startSandbox } from "pulumi-email-security/sandbox";

const TENANT = "acme";
const formatBold = (text: string): string => styleText("bold", text, { stream: process.stdout });
const formatDim = (text: string): string => styleText("dim", text);

const engine = await requireEngine();
const sandbox = await startSandbox({ scenario: "acme" });
const keys = sandbox.tenants.find((tenant) => tenant.name === TENANT)?.apiKeys;
if (keys === undefined) throw new Error(`the sandbox has no tenant ${TENANT}`);
const initialSettings = listSettings();
const projectDirectory = await mkdtemp(join(tmpdir(), "email-security-demo-"));
const abortController = new AbortController();
let stepCount = 0;
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => abortController.abort());

try {
  await prepareProject();
  await runDemo();
} catch (error) {
  process.exitCode = 1;
  console.error(abortController.signal.aborted ? "\nStopped." : error instanceof Error ? error.message : error);
} finally {
  await sandbox.close();
  await rm(projectDirectory, { recursive: true, force: true });
}

async function runDemo(): Promise<void> {
  console.log(`\n${formatBold("Email security as code")}`);
  printParagraph(
    `examples/quickstart, run by Pulumi ${engine.version} against a sandbox of the service at ${sandbox.url}, tenant "${TENANT}". Each step shows what Pulumi did, the number of requests to the service, and the changed settings at the service.`,
  );

  printStep("The first `pulumi up`", "creates everything");
  await expectSuccess("up", "--yes", "--skip-preview");
  printOwnSettings();

  printStep("The second", "checks the tenant, and has nothing to do");
  await expectSuccess("up", "--yes", "--skip-preview");

  printStep("A colleague's change in the console", "the next preview shows it, `up` reverts it");
  await changeInConsole("acme-login.example", { list: "allow", comment: "let it in" });
  const preview = await expectSuccess("preview", "--diff", "--suppress-outputs");
  for (const line of preview.split("\n")) {
    if (/^\s*~ (list|comment)\s*:/.test(line)) console.log(`  drift  ${line.trim()}`);
  }
  await expectSuccess("up", "--yes", "--skip-preview");
  printOwnSettings("acme-login.example");

  printStep("A comment edited in the program", "is changed in place");
  await editProgram("until the fair in May", "until the fair in June");
  await expectSuccess("up", "--yes", "--skip-preview");
  printOwnSettings("trade-fair.example");

  printStep("Another value", "the new entry is created before the old one is removed");
  await editProgram("acme-login.example", "acme-portal.example");
  await expectSuccess("up", "--yes", "--skip-preview");
  printOwnSettings("acme-portal.example");

  printStep("A mistake", "is rejected in the preview, before any write");
  await editProgram("acme-portal.example", "hxxps://acme-portal[.]example/login");
  const errorOutput = await expectFailure("preview");
  printParagraph(/has a problem: (.+)/.exec(errorOutput)?.[1] ?? errorOutput);
  await editProgram("hxxps://acme-portal[.]example/login", "acme-portal.example");

  printStep("`pulumi destroy`", "keeps the tenant's other settings");
  const destroyOutput = await expectSuccess("destroy", "--yes", "--skip-preview");
  printParagraph(/^ +(\S+@\S+ is no longer a VIP.+)$/m.exec(destroyOutput)?.[1] ?? destroyOutput);
  const remainingSettings = listSettings();
  if (remainingSettings.join("\n") !== initialSettings.join("\n"))
    throw new Error(`other settings changed:\n${remainingSettings.join("\n")}`);
  console.log(`  The tenant's other ${remainingSettings.length} settings are unchanged.`);

  console.log(`
${formatBold("Where to go next")}
  examples/quickstart/index.ts       the program of this demo
  README.md                          your own tenant, keys, the resources
  npx email-security init my-tenant  a repository of settings files and
                                     pipelines, as in examples/gitops
  npx email-security sandbox         the same sandbox, for your own tests
`);
}

/** Wraps a sentence for a terminal of 80 columns. */
function printParagraph(sentence: string): void {
  console.log(sentence.replace(/(.{1,76})(?:\s+|$)/g, "  $1\n").trimEnd());
}

function printStep(title: string, explanation: string): void {
  stepCount += 1;
  console.log(`\n${formatBold(`${stepCount}  ${title}`)}  ${formatDim(explanation)}`);
}

async function prepareProject(): Promise<void> {
  await cp("examples/quickstart", projectDirectory, { recursive: true });
  await symlink(resolve("node_modules"), join(projectDirectory, "node_modules"), "junction");
  await mkdir(join(projectDirectory, ".state"));
  await runEngine(["stack", "init", "demo"]);
}

async function editProgram(from: string, to: string): Promise<void> {
  const file = join(projectDirectory, "index.ts");
  const text = await readFile(file, "utf8");
  if (!text.includes(from)) throw new Error(`examples/quickstart/index.ts doesn't contain ${from}`);
  await writeFile(file, text.replace(from, to));
}

/** Runs the CLI and prints one line with the result and the requests that the service received. */
async function expectSuccess(...args: string[]): Promise<string> {
  return await runAndReport(args, "succeeds");
}

/** Like {@link expectSuccess}, for a command that must fail. */
async function expectFailure(...args: string[]): Promise<string> {
  return await runAndReport(args, "fails");
}

async function runAndReport(args: string[], expected: ExpectedOutcome): Promise<string> {
  sandbox.clearRequests();
  const startedAt = performance.now();
  const output = await runEngine(args, expected);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const summary = /\nResources:\n((?: {4}.+\n)+)/.exec(output)?.[1] ?? "";
  const summaryText = summary
    .split("\n")
    .map((line) => line.trim().replace(/^\W+(?=\d)/, ""))
    .filter((line) => line !== "")
    .join(", ");
  const writes = sandbox.requests.filter((request) => request.method !== "GET").length;
  const reads = sandbox.requests.length - writes;
  const requestText =
    reads + writes === 0
      ? "no request"
      : `${formatRequestCount(reads, "read")}, ${formatRequestCount(writes, "write")}`;
  console.log(
    `  ${`pulumi ${args[0]}`.padEnd(15)} ${summaryText.padEnd(27)} ${requestText.padEnd(18)} ${formatDim(`${seconds} s`)}`,
  );
  return output;
}

function formatRequestCount(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

type ExpectedOutcome = "succeeds" | "fails";

async function runEngine(args: string[], expected: ExpectedOutcome = "succeeds"): Promise<string> {
  return await new Promise((resolve, reject) => {
    const child = spawn(engine.command, ["--non-interactive", "--color", "never", ...args], {
      cwd: projectDirectory,
      env: {
        ...engine.environment(removeUserSettings(process.env)),
        PULUMI_BACKEND_URL: `file://${join(projectDirectory, ".state").replaceAll("\\", "/")}`,
        PULUMI_CONFIG_PASSPHRASE: "demo",
        PULUMI_HOME: join(projectDirectory, ".home"),
        EMAIL_SECURITY_BASE_URL: sandbox.url,
        EMAIL_SECURITY_API_KEY: keys?.ci,
      },
      signal: abortController.signal,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => {
        output += chunk.toString();
      });
    }
    child.once("error", reject);
    child.once("close", (code) => {
      if ((code === 0) === (expected === "succeeds")) resolve(output);
      else reject(new Error(`pulumi ${args.join(" ")} exited with ${code}:\n${output}`));
    });
  });
}

/** The demo must not use the user's own tenant or Pulumi account. */
function removeUserSettings(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const ownVariables = /^(PULUMI_|EMAIL_SECURITY_)/;
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !ownVariables.test(name)));
}

async function changeInConsole(value: string, change: Record<string, string>): Promise<void> {
  const entry = sandbox.allowDenyEntries(TENANT).find((row) => row.value === value);
  const response = await fetch(`${sandbox.url}/api/v1/settings/allow_deny_entries/${entry?.id}`, {
    method: "PATCH",
    headers: { "x-api-key": keys?.console ?? "", "content-type": "application/json" },
    body: JSON.stringify(change),
  });
  if (!response.ok) throw new Error(`the console's request returned ${response.status}`);
}

/** Prints the settings that the demo added to the service, or only those that contain `value`. */
function printOwnSettings(value = ""): void {
  for (const line of listSettings()) {
    if (!initialSettings.includes(line) && line.includes(value)) console.log(`  ${line}`);
  }
}

/** Lists the tenant's settings in the service, one on each line. */
function listSettings(): string[] {
  const formatEntry = (kind: string, value: string, comment: string): string =>
    `${kind.padEnd(6)} ${value.padEnd(27)} "${comment}"`;
  const entries = sandbox.allowDenyEntries(TENANT).map((row) => formatEntry(row.list, row.value, row.comment));
  const vips = sandbox.vips(TENANT).map((row) => formatEntry("VIP", row.email, row.comment));
  return [...entries, ...vips].sort();
}
