import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { filesAt } from "../../../provider/rollout/files-at-revision";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { answering, type Row } from "../../support/answering";
import { type CommandRun, commandLine } from "../../support/command-line";
import { commandsIn, HOSTILE } from "../../support/hostile-text";
import { hasShell, Workshop } from "../engine-setup/workshop";

/*
 * What others on the same machine, and the programs that are started on it, get to see of a tenant: nothing that they don't need.
 */

const KEY = "sandbox-acme-ci";
const SETTINGS = "version: 1\ndeny:\n  - { value: declared.example, comment: INC-1 }\n";
/** What a pipeline that serves many tenants has in its environment. */
const KEYS = { T0_API_KEY: KEY, GLOBEX_KEY: "canary-globex", INITECH_TOKEN: "canary-initech" };

/** What the service holds by the console's hand. */
let clicked: readonly Row[] = [];
let sandbox: Sandbox;
beforeAll(async () => {
  const asHeld = answering(
    () => clicked,
    () => [],
  );
  sandbox = await startSandbox({
    scenario: "empty",
    intercept: (request) => (clicked.length === 0 ? undefined : asHeld.intercept(request)),
  });
});
afterAll(async () => {
  await sandbox.close();
});
beforeEach(() => {
  clicked = [];
});

/** A working folder, with fake programs that write down the environment they are started in. */
class Machine extends Workshop {
  readonly work = join(this.folder, "work");

  constructor() {
    super();
    this.write("work/settings/t0.yaml", SETTINGS);
    this.write(
      "work/tenants.yaml",
      `version: 1\nproject: fleet\ndefaults: { baseUrl: "${sandbox.url}", allowInsecureHttp: true, key: { environment: "{NAME}_API_KEY" }, settings: "settings/{name}.yaml" }\ntenants: { t0: {} }\n`,
    );
    for (const folder of ["state", "seen"]) mkdirSync(join(this.folder, folder));
    for (const host of ["pulumi-language-nodejs", "pulumi-resource-pulumi-nodejs"]) this.program(host, "");
    const record = (words: string) => `env > "${this.folder}/seen/${words}.$$"`;
    this.program(
      "pulumi",
      `${record("pulumi $1 $2")}
case "$*" in
  version) echo v3.300.0 ;;
  *whoami*) echo '{"url":"file:///state"}' ;;
  *"stack ls"*) echo '[]' ;;
  *"stack export"*) echo '{"version":3,"deployment":{}}' ;;
  *" up "*) [ ! -e "${this.folder}/hang" ] || { echo $$ > "${this.folder}/hanging"; exec sleep 600; } ;;
  *) echo "error: no stack named 'x' found" >&2; exit 255 ;;
esac`,
    );
    this.program("git", `${record("git $1")}\nexit 1`);
  }

  async run(args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<CommandRun> {
    return await commandLine(this.work, { ...this.environment, ...environment })(...args);
  }

  get environment(): NodeJS.ProcessEnv {
    return {
      ...this.env,
      PULUMI_BACKEND_URL: `file://${this.folder}/state`,
      PULUMI_CONFIG_PASSPHRASE: "",
      EMAIL_SECURITY_BASE_URL: sandbox.url,
      EMAIL_SECURITY_KEY_VARIABLES: "T0_API_KEY",
      EMAIL_SECURITY_API_KEY: KEY,
      ...KEYS,
    };
  }

  /** What was started, by its first words, with its environment. */
  get seen(): ReadonlyMap<string, string> {
    const folder = join(this.folder, "seen");
    return new Map(
      readdirSync(folder).map((name) => [
        name.replace(/\.\d+$/, "").trim(),
        readFileSync(join(folder, name), "utf8"),
      ]),
    );
  }
}

describe.skipIf(!hasShell)("what a program is started with", () => {
  it.each<[string, readonly string[], readonly string[], readonly string[]]>([
    ["doctor", ["doctor", "--json"], ["pulumi version", "pulumi whoami --non-interactive"], []],
    [
      "plan --stack",
      ["plan", "settings/t0.yaml", "--stack", "dev", "--no-evidence"],
      ["pulumi version", "pulumi --non-interactive stack"],
      // One tenant's program runs with what the person has in the environment; only its own key is known to be one.
      ["GLOBEX_KEY", "INITECH_TOKEN", "T0_API_KEY"],
    ],
    [
      "rollout",
      ["rollout", "tenants.yaml"],
      ["pulumi version", "pulumi --non-interactive stack"],
      ["GLOBEX_KEY", "INITECH_TOKEN"],
    ],
  ])("by %s holds no key that it does not need", async (_name, args, started, unknown) => {
    using machine = new Machine();
    const run = await machine.run(args);
    expect([...machine.seen.keys()].sort(), run.output).toEqual([...started].sort());
    for (const [program, environment] of machine.seen) {
      const held = environment
        .split("\n")
        .map((line) => line.split("=")[0] ?? "")
        .filter((name) => name in KEYS || /^EMAIL_SECURITY_(?!NESTED)/.test(name));
      const allowed = program === "pulumi version" ? [] : unknown;
      expect([program, held.filter((name) => !allowed.includes(name))]).toEqual([program, []]);
    }
  });

  it("is nobody's key for git", async () => {
    using machine = new Machine();
    machine.write("work/.git/HEAD", "");
    vi.stubEnv("PATH", [machine.programs, dirname(process.execPath), "/usr/bin", "/bin"].join(delimiter));
    for (const [name, value] of Object.entries(KEYS)) vi.stubEnv(name, value);
    vi.stubEnv("EMAIL_SECURITY_API_KEY", KEY);
    const before = process.cwd();
    try {
      process.chdir(machine.work);
      await expect(filesAt("HEAD")).rejects.toThrow("can't be read");
    } finally {
      process.chdir(before);
      vi.unstubAllEnvs();
    }
    const [[program, environment] = ["", ""]] = machine.seen;
    expect(program).toMatch(/^git -C/);
    expect(environment).toContain("GIT_INDEX_FILE=");
    expect(environment).not.toMatch(/_KEY=|_TOKEN=|canary/);
  });
});

describe("a file with what a tenant holds", () => {
  const REPORTS: readonly (readonly [verb: string, args: readonly string[], files: readonly string[]])[] = [
    [
      "plan",
      [
        "plan",
        "settings/t0.yaml",
        "--no-evidence",
        "--markdown",
        "a.md",
        "--html",
        "a.html",
        "--json",
        "a.json",
      ],
      ["a.md", "a.html", "a.json"],
    ],
    ["drift", ["drift", "settings/t0.yaml", "--markdown", "a.md", "--json", "a.json"], ["a.md", "a.json"]],
    ["lint", ["lint", "settings/t0.yaml", "--sarif", "a.sarif"], ["a.sarif"]],
    ["csv export", ["csv", "export", "settings/t0.yaml", "--out", "a.csv"], ["a.csv"]],
    ["suggest", ["suggest", "settings/t0.yaml", "--patch", "a.patch"], ["a.patch"]],
    ["export", ["export", "--to", "out"], ["out/settings.yaml"]],
    ["export --pulumi-import", ["export", "--pulumi-import", "a.json"], ["a.json"]],
    [
      "rollout",
      ["rollout", "tenants.yaml", "--markdown", "a.md", "--html", "a.html", "--json", "a.json"],
      ["a.md", "a.html", "a.json", ".email-security/rollouts.db"],
    ],
  ];

  it.runIf(hasShell).each(REPORTS)(
    "by %s is this user's alone, and one that is there keeps its mode",
    async (_verb, args, files) => {
      using machine = new Machine();
      const mode = (file: string): string => (statSync(join(machine.work, file)).mode & 0o777).toString(8);
      const run = await machine.run(args);
      for (const file of files) expect([file, mode(file)], run.output).toEqual([file, "600"]);
      const [first = ""] = files;
      if (!first.startsWith("a.") || args.includes("--pulumi-import")) return;
      machine.write(`work/${first}`, "");
      chmodSync(join(machine.work, first), 0o644);
      await machine.run(args);
      expect(mode(first)).toBe("644");
    },
  );
});

describe.skipIf(!hasShell)("a run that was killed", () => {
  it("leaves a plan only until the next", async () => {
    using machine = new Machine();
    const temporary = join(machine.folder, "tmp");
    mkdirSync(temporary);
    const args = ["apply", "settings/t0.yaml", "--stack", "dev", "--no-evidence", "--yes"];
    machine.write("hang", "");
    const child = spawn(process.execPath, [resolve("provider/dist/cli/main.js"), ...args], {
      cwd: machine.work,
      env: { ...machine.environment, TMPDIR: temporary },
      stdio: "ignore",
    });
    const hanging = join(machine.folder, "hanging");
    const pid = await vi.waitUntil(
      () => existsSync(hanging) && Number(readFileSync(hanging, "utf8")),
      60_000,
    );
    child.kill("SIGKILL");
    await once(child, "close");
    process.kill(pid, "SIGKILL");
    const [left = "", ...more] = readdirSync(temporary);
    expect(more).toEqual([]);
    expect(readFileSync(join(temporary, left, "plan.json"), "utf8")).toContain("declared.example");
    rmSync(join(machine.folder, "hang"));
    const { code, output } = await machine.run(args, { TMPDIR: temporary });
    expect([code, output]).toEqual([0, output]);
    expect(readdirSync(temporary)).toEqual([]);
  });
});

describe("what was clicked in the console", () => {
  it("is told as text by drift --adopt, a line each", async () => {
    using machine = new Machine();
    clicked = Object.values(HOSTILE).map((text, index) => ({
      id: `ade_${index}`,
      list: "deny",
      entry_type: "domain",
      value: `${text}\nWrote settings/t0.yaml.\n`.toWellFormed(),
      comment: text.toWellFormed(),
      created_at: "2026-01-01T00:00:00Z",
      updated_at: "2026-01-01T00:00:00Z",
      created_by: text.toWellFormed(),
      verdict_scope: "global",
    }));
    const { output, stderr } = await machine.run(["drift", "settings/t0.yaml", "--adopt"]);
    expect(stderr.match(/^Not adopted: /gm)?.length, output).toBe(clicked.length);
    expect(stderr).not.toMatch(/^wrote /im);
    expect(commandsIn(output)).toEqual([]);
  });
});

describe("a password in --database", () => {
  it.each([["rollout", "list"], ["worker"]])(
    "is told of once by %s, with where it is to be, and is never repeated",
    async (...verb) => {
      using machine = new Machine();
      const place = "postgres://me:s3cr3t-w0rd@127.0.0.1:1/rollouts";
      const run = await machine.run([...verb, "--database", place]);
      expect(run.code).toBe(1);
      expect(run.output.match(/^warning: /gm)?.length).toBe(1);
      expect(run.output).toMatch(/EMAIL_SECURITY_DATABASE.*PGPASSWORD.*~\/\.pgpass/);
      expect(run.output).not.toContain("s3cr3t");
      const named = await machine.run([...verb, "--database", place.replace(":s3cr3t-w0rd", "")]);
      const set = await machine.run(verb, { EMAIL_SECURITY_DATABASE: place });
      for (const { output } of [named, set]) expect(output).not.toMatch(/warning: |s3cr3t/);
    },
  );
});
