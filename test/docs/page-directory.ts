import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { promisify } from "node:util";
import { requireEngine } from "../../provider/engine";
import { omitUndefined } from "../../provider/model/omit-undefined";
import { type Sandbox, type ScenarioTenant, startSandbox } from "../../provider/sandbox";
import { COMMAND } from "../support/command-process";
import { getCompileCacheVariables } from "../support/compile-cache";
import { buildLanguageHost, type HostedLanguage, installPulumiPython, installPython } from "../support/language-hosts";
import { linkPackages } from "../support/program-packages";
import type { LocalRegistry } from "./local-registry";
import type { PageEnvironment, RunnablePage } from "./page-blocks";

const run = promisify(execFile);

/** The directory that a page runs in, prepared as its front matter requires, and the environment of its blocks. */
export class PageDirectory implements AsyncDisposable {
  readonly root: string;
  /** A sibling directory for files that the page must not see. */
  readonly scratch: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly #top: string;
  readonly #sandbox: Sandbox | undefined;

  private constructor(top: string, environment: NodeJS.ProcessEnv, sandbox: Sandbox | undefined) {
    this.#top = top;
    this.root = join(top, "folder");
    this.scratch = join(top, "scratch");
    this.environment = environment;
    this.#sandbox = sandbox;
  }

  static async make(
    { scenario, languages }: RunnablePage,
    place: PageEnvironment,
    registry: LocalRegistry,
  ): Promise<PageDirectory> {
    const top = await mkdtemp(join(tmpdir(), "email-security-page-"));
    const [directory, home] = [join(top, "folder"), join(top, "home")];
    for (const name of ["folder", "scratch", "home", "temporary", "state"]) await mkdir(join(top, name));
    await writeFile(join(home, ".gitconfig"), GIT_CONFIG);
    await writeFile(join(home, ".gitignore"), "node_modules\n");
    const engine = await requireEngine();
    const hosts = await buildHosts(languages, join(top, "scratch"));
    const PATH = [...hosts.directories, process.env["PATH"]].join(delimiter);
    const environment = {
      ...engine.environment({ PATH }),
      ...hosts.environment,
      // HOME is new and empty, so the compile cache has to be set here.
      ...getCompileCacheVariables(),
      HOME: home,
      // Pulumi determines the home directory from the system, not from HOME.
      PULUMI_HOME: join(home, ".pulumi"),
      TMPDIR: join(top, "temporary"),
      // Behind a proxy that re-signs TLS connections, npm needs its certificate authority.
      ...omitUndefined({ NODE_EXTRA_CA_CERTS: process.env["NODE_EXTRA_CA_CERTS"] }),
      npm_config_registry: registry.url,
      npm_config_cache: registry.npmCache,
      npm_config_prefer_offline: "true",
      npm_config_audit: "false",
      npm_config_update_notifier: "false",
      // check-typed-blocks.ts already reports type errors in pages.
      PULUMI_NODEJS_TRANSPILE_ONLY: "true",
    };
    if (place === "empty") return new PageDirectory(top, environment, undefined);

    const sandbox = await startSandbox({
      scenario: place === "fleet" ? { name: "fleet", tenants: FLEET.map(buildPageTenant) } : scenario,
    });
    const page = new PageDirectory(
      top,
      {
        ...environment,
        PULUMI_BACKEND_URL: `file://${join(top, "state")}`,
        PULUMI_CONFIG_PASSPHRASE: "a passphrase for pages",
        ...(place === "fleet"
          ? Object.fromEntries(FLEET.map((name) => [formatKeyVariable(name), `sandbox-${name}-ci`]))
          : { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" }),
      },
      sandbox,
    );
    try {
      await linkPackages(directory);
      await page.#fill(place, sandbox.url);
    } catch (error) {
      await page[Symbol.asyncDispose]();
      throw error;
    }
    return page;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sandbox?.close();
    await rm(this.#top, { recursive: true, force: true, maxRetries: 3 });
  }

  async #fill(place: PageEnvironment, url: string): Promise<void> {
    if (place === "files") {
      await this.#run(process.execPath, COMMAND, "init", ".", "--name", "acme", "--ci", "none");
    } else await this.#write(place === "stack" ? STACK : buildFleetFiles(url));
    if (place !== "fleet") await this.#run("pulumi", "stack", "init", "dev", "--non-interactive");
    await this.#run("git", "init", "--quiet", "--initial-branch=main");
    await this.#run("git", "add", "--all");
    await this.#run("git", "commit", "--quiet", "--message", "The settings as they are");
  }

  async #write(files: Readonly<Record<string, string>>): Promise<void> {
    await mkdir(join(this.root, "settings"), { recursive: true });
    for (const [path, text] of Object.entries(files)) await writeFile(join(this.root, path), text);
  }

  async #run(command: string, ...args: string[]): Promise<void> {
    await run(command, args, { cwd: this.root, env: this.environment });
  }
}

/** The Git identity for the pages' commits, so that the tests don't depend on the user's configuration. */
const GIT_CONFIG = `[user]
  name = Dana Reyes
  email = dana.reyes@acme.example
[init]
  defaultBranch = main
[core]
  excludesFile = ~/.gitignore
`;

const GIT_IGNORE = "node_modules\n.email-security/\n";

const STACK = {
  ".gitignore": GIT_IGNORE,
  "Pulumi.yaml": "name: email-security\nruntime: nodejs\nmain: index.ts\noptions:\n  refresh: always\n",
  "package.json": '{ "name": "email-security", "private": true }\n',
  "index.ts": `import { AllowDenyEntry } from "pulumi-email-security";

new AllowDenyEntry("look-alike", { list: "deny", value: "acme-login.example", comment: "INC-1042" });
`,
};

const FLEET = ["acme", "globex", "initech"];

function buildFleetFiles(url: string): Record<string, string> {
  const formatSettings = (name: string) => `version: 1\ninclude: [baseline.yaml]\n\nownDomains: [${name}.example]\n`;
  return {
    ".gitignore": GIT_IGNORE,
    "package.json": '{ "name": "email-security", "private": true }\n',
    "settings/baseline.yaml": `version: 1

deny:
  - value: invoices-portal.example
    comment: Invoice fraud, seen at three tenants in March
`,
    ...Object.fromEntries(FLEET.map((name) => [`settings/${name}.yaml`, formatSettings(name)])),
    "tenants.yaml": `version: 1
project: email-security
defaults:
  baseUrl: ${url}
  key: { environment: "EMAIL_SECURITY_API_KEY_{NAME}" }
  settings: settings/{name}.yaml
tenants:
  acme: { labels: { ring: canary } }
  globex: {}
  initech: {}
waves:
  - { name: canary, match: { ring: canary }, gate: true }
  - { name: rest, maxConcurrent: 2 }
`,
  };
}

function formatKeyVariable(name: string): string {
  return `EMAIL_SECURITY_API_KEY_${name.toUpperCase()}`;
}

function buildPageTenant(name: string): ScenarioTenant {
  return {
    name,
    keyLabels: { ci: "Pulumi (ci)", console: "Dana Reyes (console)" },
    detectedAt: "2026-01-01T00:00:00Z",
    employees: [
      {
        email: `ceo@${name}.example`,
        fullName: "Ruth Castellan",
        jobTitle: "Chief Executive Officer",
        department: "Executive Office",
      },
    ],
    manualVips: [],
    exclusions: [],
    entries: [],
    threats: 0,
  };
}

/**
 * Returns the directories for PATH and the environment variables that the engine needs for programs in other languages.
 */
async function buildHosts(
  languages: readonly HostedLanguage[],
  scratch: string,
): Promise<{ directories: string[]; environment: Record<string, string> }> {
  const directories = await Promise.all(languages.map(buildLanguageHost));
  if (!languages.includes("python")) return { directories, environment: {} };
  const [python, packages] = [await installPulumiPython(), join(scratch, "packages")];
  await installPython(python, resolve("sdk/python"), packages);
  return { directories: [...directories, python], environment: { PYTHONPATH: packages } };
}
