import { execFile } from "node:child_process";
import { cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import schema from "../../provider/cmd/pulumi-resource-email-security/schema.json";
import { startSandbox } from "../../provider/sandbox";
import { EngineProject, PLUGIN_LINES } from "../support/engine-project";
import {
  buildLanguageHost,
  findMissingToolchain,
  GO_BUILD,
  installPulumiPython,
  installPython,
  prependToPath,
} from "../support/language-hosts";
import { EXAMPLES, writeExamples } from "../support/schema-examples";
import { createTestDirectory, type TestDirectory } from "../support/test-directory";

/*
 * The examples that registries show, each checked by its own toolchain. languages.ts compiles those in Java along with
 * its program. No registry has a .NET toolchain.
 */

const run = promisify(execFile);
let directory: TestDirectory;
beforeAll(async () => {
  directory = createTestDirectory();
});
afterAll(async () => {
  directory[Symbol.dispose]();
});

it("includes an example for every resource in every language", () => {
  for (const { programs } of EXAMPLES) {
    expect(Object.keys(programs)).toEqual(["typescript", "python", "go", "csharp", "java", "yaml"]);
  }
  expect(EXAMPLES).toHaveLength(5);
});

it("compiles the TypeScript examples", async () => {
  const project = await writeLanguageExamples("typescript", (name) => `${name}.ts`);
  await mkdir(join(project, "node_modules/@pulumi"), { recursive: true });
  await symlink(resolve("sdk/nodejs"), join(project, "node_modules/pulumi-email-security-native"));
  await symlink(resolve("node_modules/@pulumi/pulumi"), join(project, "node_modules/@pulumi/pulumi"));
  const options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext"];
  await runCheck(
    process.execPath,
    [resolve("node_modules/typescript/bin/tsc"), ...options, ...listFiles(".ts")],
    project,
  );
});

const noPython = findMissingToolchain("python");
it.skipIf(noPython)(`runs the Python examples${noPython ? ` (skipped: ${noPython})` : ""}`, async () => {
  const project = await writeLanguageExamples("python", (name) => `${name}.py`);
  const python = await installPulumiPython();
  await installPython(python, resolve("sdk/python"), join(project, "packages"));
  await writeFile(
    join(project, "run.py"),
    `import asyncio, runpy, sys
import pulumi
from pulumi.runtime.stack import run_pulumi_func

class Mocks(pulumi.runtime.Mocks):
    def new_resource(self, args):
        print(args.typ)
        return [args.name, args.inputs]
    def call(self, args):
        return {}

asyncio.set_event_loop(asyncio.new_event_loop())
pulumi.runtime.set_mocks(Mocks())
for file in sys.argv[1:]:
    asyncio.get_event_loop().run_until_complete(
        run_pulumi_func(lambda: runpy.run_path(file)))
`,
  );
  const output = await runCheck(join(python, "python"), ["run.py", ...listFiles(".py")], project, {
    PYTHONPATH: join(project, "packages"),
  });
  expect(output.trim().split("\n")).toEqual(EXAMPLES.map(({ name }) => `email-security:index:${name}`));
});

const noGo = findMissingToolchain("go");
it.skipIf(noGo)(`compiles the Go examples${noGo ? ` (skipped: ${noGo})` : ""}`, async () => {
  const project = await writeLanguageExamples("go", (name) => `${name}/main.go`);
  for (const file of ["go.mod", "go.sum"]) await cp(resolve("examples/native-go", file), join(project, file));
  const { modulePath } = schema.language.go;
  await runCheck("go", ["mod", "edit", "-replace", `${modulePath}=${resolve("sdk/go")}`], project, GO_BUILD);
  // Compiles without linking.
  await runCheck("go", ["list", "-export", "./..."], project, GO_BUILD);
});

it("names only members of the SDK in the C# examples", async () => {
  for (const { name, programs } of EXAMPLES) {
    const text = programs["csharp"] ?? "";
    expect(text).toContain(`using EmailSecurity = ${schema.language.csharp.rootNamespace}.EmailSecurity;`);
    const source = await readFile(resolve("sdk/dotnet", `${name}.cs`), "utf8");
    for (const [, property = ""] of text.matchAll(/^ {8}(\w+) =/gm)) {
      expect(source).toMatch(new RegExp(`^ {8}public Input\\S* ${property}$|^ {8}public Input.* ${property} \\{`, "m"));
    }
    const enums = await readFile(resolve("sdk/dotnet/Enums.cs"), "utf8");
    for (const [, type, value] of text.matchAll(/EmailSecurity\.(\w+)\.(\w+),/g)) {
      expect(enums).toContain(`public static ${type} ${value} `);
    }
  }
});

const noYaml = findMissingToolchain("yaml");
it.skipIf(noYaml)(`runs each example in Pulumi YAML${noYaml ? ` (skipped: ${noYaml})` : ""}`, async () => {
  await using sandbox = await startSandbox({ scenario: "acme" });
  const project = join(directory.path, "yaml");
  await mkdir(project);
  await symlink(resolve("node_modules"), join(project, "node_modules"));
  const resources = EXAMPLES.map(({ programs }) => parse(programs["yaml"] ?? "").resources);
  await writeFile(
    join(project, "Pulumi.yaml"),
    `name: settings\nruntime: yaml\n${PLUGIN_LINES}${stringify({ resources: Object.assign({}, ...resources) })}`,
  );
  await mkdir(join(project, "settings"));
  await writeFile(join(project, "settings/acme.yaml"), "version: 1\ndeny: [evil.example]\n");
  await using stack = await EngineProject.open(project, {
    ...prependToPath(await buildLanguageHost("yaml")),
    EMAIL_SECURITY_BASE_URL: sandbox.url,
    EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
  });
  await stack.runOrThrow("stack", "init", "dev");
  await stack.up();
  const { resources: stackResources } = await stack.exportState();
  expect([...new Set(stackResources.map(({ type }) => type))].sort()).toEqual(Object.keys(schema.resources).sort());
});

/** Writes each resource's example to a directory for the language. Returns the directory. */
async function writeLanguageExamples(language: string, getFile: (name: string) => string): Promise<string> {
  const project = join(directory.path, language);
  await writeExamples(language, project, getFile);
  return project;
}

function listFiles(ending: string): string[] {
  return EXAMPLES.map(({ name }) => `${name}${ending}`);
}

/** Runs a command to completion and returns its output. The error contains its findings. */
async function runCheck(
  command: string,
  args: readonly string[],
  cwd: string,
  environment: Record<string, string> = {},
): Promise<string> {
  try {
    return (await run(command, args, { cwd, env: { ...process.env, ...environment } })).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${command} ${args.join(" ")}:\n${stdout}${stderr}`, { cause: error });
  }
}
