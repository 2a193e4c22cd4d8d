/**
 * `npm run demo`: the quickstart example, run by the real Pulumi engine against the sandbox, step by step. Everything
 * it makes is in a temporary folder and in memory; nothing stays running.
 */
import { spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { styleText } from "node:util";
import { requireEngine } from "pulumi-email-security/engine";
import { startSandbox } from "pulumi-email-security/sandbox";

const TENANT = "acme";
const bold = (text: string): string => styleText("bold", text);
const dim = (text: string): string => styleText("dim", text);

const engine = await requireEngine();
const sandbox = await startSandbox({ scenario: "acme" });
const keys = sandbox.tenants.find((tenant) => tenant.name === TENANT)?.apiKeys;
if (keys === undefined) throw new Error(`the sandbox has no tenant ${TENANT}`);
const untouched = settings();
const folder = await mkdtemp(join(tmpdir(), "email-security-demo-"));
const running = new AbortController();
let steps = 0;
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => running.abort());

try {
  await prepare();
  await demo();
} catch (error) {
  process.exitCode = 1;
  console.error(running.signal.aborted ? "\nStopped." : error instanceof Error ? error.message : error);
} finally {
  await sandbox.close();
  await rm(folder, { recursive: true, force: true });
}

async function demo(): Promise<void> {
  console.log(`\n${bold("Email security as code")}`);
  say(
    `examples/quickstart, run by Pulumi ${engine.version} against a sandbox of the service at ${sandbox.url}, tenant "${TENANT}". Each step shows what Pulumi did, how many requests the service saw, and what it holds of what has changed.`,
  );

  step("The first `pulumi up`", "makes everything");
  await pulumi("up", "--yes", "--skip-preview");
  holds();

  step("The second", "looks at the tenant, and has nothing to do");
  await pulumi("up", "--yes", "--skip-preview");

  step("A colleague's click in the console", "the next preview shows it, `up` mends it");
  await clickInConsole("acme-login.example", { list: "allow", comment: "let it in" });
  const preview = await pulumi("preview", "--diff", "--suppress-outputs");
  for (const line of preview.split("\n")) {
    if (/^\s*~ (list|comment)\s*:/.test(line)) console.log(`  drift  ${line.trim()}`);
  }
  await pulumi("up", "--yes", "--skip-preview");
  holds("acme-login.example");

  step("A comment edited in the program", "is changed in place");
  await edit("until the fair in May", "until the fair in June");
  await pulumi("up", "--yes", "--skip-preview");
  holds("trade-fair.example");

  step("Another value", "the new entry is there before the old one goes");
  await edit("acme-login.example", "acme-portal.example");
  await pulumi("up", "--yes", "--skip-preview");
  holds("acme-portal.example");

  step("A mistake", "is refused in preview, before any write");
  await edit("acme-portal.example", "hxxps://acme-portal[.]example/login");
  const told = await refused("preview");
  say(/has a problem: (.+)/.exec(told)?.[1] ?? told);
  await edit("hxxps://acme-portal[.]example/login", "acme-portal.example");

  step("`pulumi destroy`", "leaves the tenant's other settings alone");
  const destroyed = await pulumi("destroy", "--yes", "--skip-preview");
  say(/^ +(\S+@\S+ is no VIP any more.+)$/m.exec(destroyed)?.[1] ?? destroyed);
  const left = settings();
  if (left.join("\n") !== untouched.join("\n"))
    throw new Error(`other settings changed:\n${left.join("\n")}`);
  console.log(`  The tenant's other ${left.length} settings are as they were before.`);

  console.log(`
${bold("Where to go next")}
  examples/quickstart/index.ts       the program you have just seen
  README.md                          your own tenant, keys, the resources
  npx email-security init my-tenant  a repository of settings files and
                                     pipelines, as in examples/gitops
  npx email-security sandbox         the same sandbox, for your own trials
`);
}

/** Prints a sentence in lines that fit a terminal of 80 columns. */
function say(sentence: string): void {
  console.log(sentence.replace(/(.{1,76})(?:\s+|$)/g, "  $1\n").trimEnd());
}

function step(what: string, why: string): void {
  steps += 1;
  console.log(`\n${bold(`${steps}  ${what}`)}  ${dim(why)}`);
}

async function prepare(): Promise<void> {
  await cp("examples/quickstart", folder, { recursive: true });
  await symlink(resolve("node_modules"), join(folder, "node_modules"), "junction");
  await mkdir(join(folder, ".state"));
  await runEngine(["stack", "init", "demo"]);
}

async function edit(from: string, to: string): Promise<void> {
  const file = join(folder, "index.ts");
  const text = await readFile(file, "utf8");
  if (!text.includes(from)) throw new Error(`examples/quickstart/index.ts has no ${from}`);
  await writeFile(file, text.replace(from, to));
}

/** Runs the CLI and says in one line what it did and what the service saw. */
async function pulumi(...args: string[]): Promise<string> {
  return await runAndTell(args, "succeeds");
}

/** The same of what is to fail. */
async function refused(...args: string[]): Promise<string> {
  return await runAndTell(args, "fails");
}

async function runAndTell(args: string[], end: End): Promise<string> {
  sandbox.clearRequests();
  const started = performance.now();
  const output = await runEngine(args, end);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  const summary = /\nResources:\n((?: {4}.+\n)+)/.exec(output)?.[1] ?? "";
  const did = summary
    .split("\n")
    .map((line) => line.trim().replace(/^\W+(?=\d)/, ""))
    .filter((line) => line !== "")
    .join(", ");
  const writes = sandbox.requests.filter((request) => request.method !== "GET").length;
  const reads = sandbox.requests.length - writes;
  const seen = reads + writes === 0 ? "no request" : `${count(reads, "read")}, ${count(writes, "write")}`;
  console.log(
    `  ${`pulumi ${args[0]}`.padEnd(15)} ${did.padEnd(27)} ${seen.padEnd(18)} ${dim(`${seconds} s`)}`,
  );
  return output;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

type End = "succeeds" | "fails";

async function runEngine(args: string[], end: End = "succeeds"): Promise<string> {
  return await new Promise((done, fail) => {
    const child = spawn(engine.command, ["--non-interactive", "--color", "never", ...args], {
      cwd: folder,
      env: {
        ...engine.environment(withoutOwnSettings(process.env)),
        PULUMI_BACKEND_URL: `file://${join(folder, ".state").replaceAll("\\", "/")}`,
        PULUMI_CONFIG_PASSPHRASE: "demo",
        PULUMI_HOME: join(folder, ".home"),
        EMAIL_SECURITY_BASE_URL: sandbox.url,
        EMAIL_SECURITY_API_KEY: keys?.ci,
      },
      signal: running.signal,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => {
        output += chunk.toString();
      });
    }
    child.once("error", fail);
    child.once("close", (code) => {
      if ((code === 0) === (end === "succeeds")) done(output);
      else fail(new Error(`pulumi ${args.join(" ")} ended with ${code}:\n${output}`));
    });
  });
}

/** The user's own tenant and Pulumi account are no business of a demo. */
function withoutOwnSettings(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const own = /^(PULUMI_|EMAIL_SECURITY_)/;
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !own.test(name)));
}

async function clickInConsole(value: string, change: Record<string, string>): Promise<void> {
  const entry = sandbox.allowDenyEntries(TENANT).find((row) => row.value === value);
  const response = await fetch(`${sandbox.url}/api/v1/settings/allow_deny_entries/${entry?.id}`, {
    method: "PATCH",
    headers: { "x-api-key": keys?.console ?? "", "content-type": "application/json" },
    body: JSON.stringify(change),
  });
  if (!response.ok) throw new Error(`the console's request was answered ${response.status}`);
}

/** What the service holds beside what it held before the demo; only of one value, when it is given. */
function holds(value = ""): void {
  for (const line of settings()) {
    if (!untouched.includes(line) && line.includes(value)) console.log(`  ${line}`);
  }
}

/** What the service holds of the tenant, a line each. */
function settings(): string[] {
  const line = (kind: string, value: string, comment: string): string =>
    `${kind.padEnd(6)} ${value.padEnd(27)} "${comment}"`;
  const entries = sandbox.allowDenyEntries(TENANT).map((row) => line(row.list, row.value, row.comment));
  const vips = sandbox.vips(TENANT).map((row) => line("VIP", row.email, row.comment));
  return [...entries, ...vips].sort();
}
