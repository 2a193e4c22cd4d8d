import { execFile } from "node:child_process";
import { cp, readFile, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Sandbox, startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";
import {
  buildLanguageHost,
  findMissingToolchain,
  GO_BUILD,
  installJava,
  installPulumiPython,
  installPython,
  prependToPath,
} from "../support/language-hosts";
import { writeExamples } from "../support/schema-examples";
import { createTestDirectory, type TestDirectory } from "../support/test-directory";

const run = promisify(execFile);

const KEY = "sandbox-acme-ci";
const GO_SDK = "github.com/pulumi-email-security/pulumi-email-security/sdk/go";

/** The write requests that each example causes, sorted by text. All examples cause the same ones. */
const WRITTEN = [
  'POST /allow_deny_entries {"list":"allow","entry_type":"domain","value":"trade-fair.example","verdict_scope":"global","comment":"Exhibitor portal, until the fair in May"}',
  'POST /allow_deny_entries {"list":"deny","entry_type":"domain","value":"acme-login.example","verdict_scope":"global","comment":"Look-alike of our own domain, INC-1042"}',
  'POST /allow_deny_entries {"list":"deny","entry_type":"ip","value":"192.0.2.66","verdict_scope":"global","comment":"Bulletproof hoster, INC-1051"}',
  'POST /vip_employees {"emails":["lena.hartmann@acme.example"],"comment":"Releases payments; often impersonated"}',
];

/** The write requests of `destroy`. Removing the VIP creates an exclusion. */
const REMOVAL_REQUESTS = [
  ...Array<string>(3).fill("DELETE /allow_deny_entries/…"),
  'POST /vip_employees/remove {"emails":["lena.hartmann@acme.example"]}',
];

/** A language: the reason why it can't run here, if there is one, and its setup in addition to the example's files. */
interface Language {
  readonly name: string;
  readonly missing: string | undefined;
  /** Prepares the copied example, and returns extra environment variables. */
  readonly prepare: (directory: string) => Promise<Record<string, string>>;
}

export const LANGUAGES = {
  nodejs: {
    name: "nodejs",
    missing: undefined,
    // The repository's type check covers this example.
    prepare: async () => ({ PULUMI_NODEJS_TRANSPILE_ONLY: "true" }),
  },
  python: {
    name: "python",
    missing: findMissingToolchain("python"),
    async prepare(directory) {
      const [host, python] = [await buildLanguageHost("python"), await installPulumiPython()];
      const packages = join(directory, "packages");
      await installPython(python, resolve("sdk/python"), packages);
      // This host doesn't read the project's `virtualenv`; it uses the Python on PATH.
      return { ...prependToPath(host, python), PYTHONPATH: packages };
    },
  },
  go: {
    name: "go",
    missing: findMissingToolchain("go"),
    async prepare(directory) {
      await run("go", ["mod", "edit", "-replace", `${GO_SDK}=${resolve("sdk/go")}`], { cwd: directory });
      return { ...prependToPath(await buildLanguageHost("go")), ...GO_BUILD };
    },
  },
  java: {
    name: "java",
    missing: findMissingToolchain("java"),
    async prepare(directory) {
      // The registry snippets would be compiled along with the program. All declare the same class, so each gets its
      // own package.
      await writeExamples(
        "java",
        directory,
        (name) => `src/main/java/${name}/App.java`,
        (text, name) => text.replace("package generated_program;", `package ${name};`),
      );
      return { ...prependToPath(await buildLanguageHost("java")), ...(await installJava()) };
    },
  },
  yaml: {
    name: "yaml",
    missing: findMissingToolchain("yaml"),
    prepare: async () => prependToPath(await buildLanguageHost("yaml")),
  },
} satisfies Record<string, Language>;

/** Defines tests of the example in each of these languages: all tests, or only that of its first run. */
export function describeExamples(
  languages: readonly Language[],
  selected: "all tests" | "first run" = "all tests",
): void {
  describe.each(languages)("native provider plugin from a program in $name", ({ name, missing, prepare }) => {
    let sandbox: Sandbox;
    let directory: TestDirectory;

    beforeEach(async () => {
      sandbox = await startSandbox({ scenario: "acme" });
      directory = createTestDirectory();
      await cp(resolve("examples", `native-${name}`), directory.path, { recursive: true });
      await symlink(resolve("node_modules"), join(directory.path, "node_modules"));
    });

    afterEach(async () => {
      await sandbox.close();
      directory[Symbol.dispose]();
    });

    const isWhole = selected === "all tests";
    it.skipIf(missing)(
      `${isWhole ? "serves the whole lifecycle of" : "applies"} the resources of the example${missing ? ` (skipped: ${missing})` : ""}`,
      async () => {
        await using project = await openProject();

        await project.up();
        expect(takeWrites()).toEqual(WRITTEN);
        if (!isWhole) return;
        expect(await project.runOrThrow("stack", "output", "mostTargeted", "--json")).toContain(
          await fetchMostTargeted(),
        );

        await project.up("--expect-no-changes");
        expect(takeWrites()).toEqual([]);

        await project.destroy();
        const writes = takeWrites().map((line) => line.replace(/(?<=entries\/)\S+/, "…"));
        expect(writes).toEqual(REMOVAL_REQUESTS);
      },
    );

    if (name !== "yaml" || !isWhole) return;
    it.skipIf(missing)(
      `names a misspelled property before any write${missing ? ` (skipped: ${missing})` : ""}`,
      async () => {
        await using project = await openProject();
        const file = join(directory.path, "Pulumi.yaml");
        await writeFile(file, (await readFile(file, "utf8")).replace("comment:", "coment:"));

        const { code, output } = await project.run("up", "--yes", "--skip-preview");

        expect(code).not.toBe(0);
        expect(output).toContain("Property coment does not exist on 'email-security:index:VipEmployee'");
        expect(takeWrites()).toEqual([]);
      },
    );

    async function openProject(): Promise<EngineProject> {
      const project = await EngineProject.open(directory.path, {
        ...(await prepare(directory.path)),
        EMAIL_SECURITY_BASE_URL: sandbox.url,
        EMAIL_SECURITY_API_KEY: KEY,
      });
      await project.runOrThrow("stack", "init", "dev");
      return project;
    }

    /** Returns the write requests since the last call. */
    function takeWrites(): string[] {
      const lines = sandbox.requests
        .filter((request) => request.method !== "GET")
        .map(
          ({ method, path, body }) =>
            `${method} ${path.replace("/api/v1/settings", "")}${body === undefined ? "" : ` ${JSON.stringify(body)}`}`,
        );
      sandbox.clearRequests();
      return lines.sort();
    }

    /** Returns the name that the service itself lists first. */
    async function fetchMostTargeted(): Promise<string> {
      const response = await fetch(`${sandbox.url}/api/v1/metrics/top_targeted_entities?days=30`, {
        headers: { "x-api-key": KEY },
      });
      const { results } = (await response.json()) as { results: { items: { full_name: string }[] } };
      const [first] = results.items;
      if (first === undefined) throw new Error("the sandbox names nobody");
      return first.full_name;
    }
  });
}
