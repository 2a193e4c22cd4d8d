import { appendFile, mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import type { CheckContext, CheckOutcome } from "../../../provider/commands/doctor/check-outcome";
import { pluginChecks } from "../../../provider/commands/doctor/plugin-check";
import manifest from "../../../provider/package.json";
import { runEnvironment } from "../../support/run-environment";
import { createTestDirectory, type TestDirectory } from "../../support/test-directory";

const PLUGIN = resolve("provider/dist/plugin");
const PROGRAM = "pulumi-resource-email-security";
const PROJECT = "name: native\nruntime: nodejs\n";
const NATIVE = 'import { VipList } from "pulumi-email-security/native";\n';
const formatPluginLines = (path: string) =>
  `plugins:\n  providers:\n    - name: email-security\n      path: ${JSON.stringify(path)}\n`;

/** A Pulumi project, and the doctor's result for its plugin. */
class DoctorProject implements Disposable {
  readonly directory: TestDirectory;

  private constructor(directory: TestDirectory) {
    this.directory = directory;
  }

  static async create(files: Record<string, string>): Promise<DoctorProject> {
    const project = new DoctorProject(createTestDirectory());
    for (const [path, text] of Object.entries(files)) await project.write(path, text);
    return project;
  }

  async write(path: string, text: string, mode = 0o644): Promise<string> {
    const file = join(this.directory.path, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text, { mode });
    return file;
  }

  /** Links the built package into the project's node_modules. */
  async install(directory = "."): Promise<void> {
    const modules = join(this.directory.path, directory, "node_modules");
    await mkdir(modules, { recursive: true });
    await symlink(resolve("provider"), join(modules, "pulumi-email-security"));
  }

  async look(
    environment: NodeJS.ProcessEnv = {},
    { directory = ".", packageVersion = manifest.version } = {},
  ): Promise<CheckOutcome> {
    const [check] = pluginChecks;
    const patient: CheckContext = {
      environment: {
        ...runEnvironment(),
        PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
        PULUMI_HOME: join(this.directory.path, ".pulumi"),
        ...environment,
      },
      packageVersion,
      directory: join(this.directory.path, directory),
      files: undefined,
      now: Date.now,
      probeService: () => Promise.reject(new Error("nothing is asked of the service")),
    };
    return (await check?.run(patient)) as CheckOutcome;
  }

  [Symbol.dispose](): void {
    this.directory[Symbol.dispose]();
  }
}

describe("doctor check of the native provider plugin", () => {
  it.each([
    ["TypeScript", "index.ts", PROJECT, { "index.ts": NATIVE }],
    [
      "JavaScript in a directory",
      join("src", "vips.cjs"),
      PROJECT,
      { "src/vips.cjs": `require('pulumi-email-security/native')` },
    ],
    ["the SDK alone", "index.ts", PROJECT, { "index.ts": 'import { VipList } from "pulumi-email-security-native";\n' }],
    [
      "Java",
      join("src", "main", "java", "settings", "App.java"),
      "name: x\nruntime: java\n",
      {
        "src/main/java/settings/App.java":
          "package settings;\nimport io.github.pulumiemailsecurity.emailsecurity.VipList;\n",
      },
    ],
    [
      ".NET",
      "settings.csproj",
      "name: x\nruntime: dotnet\n",
      {
        "settings.csproj": '<PackageReference Include="PulumiEmailSecurity.EmailSecurity" Version="0.1.0" />\n',
      },
    ],
    ["a program elsewhere", join("app", "main.mts"), `${PROJECT}main: app/main.mts\n`, { "app/main.mts": NATIVE }],
    ["Python", "__main__.py", "name: x\nruntime: python\n", { "__main__.py": "import pulumi_email_security as es\n" }],
    [
      "Python's requirements",
      "requirements.txt",
      "name: x\nruntime:\n  name: python\n",
      { "requirements.txt": "pulumi>=3\npulumi-email-security>=0.1\n" },
    ],
    [
      "Go",
      "go.mod",
      "name: x\nruntime: go\n",
      {
        "go.mod": "module x\nrequire github.com/pulumi-email-security/pulumi-email-security/sdk/go v0.1.0\n",
      },
    ],
    ["Pulumi YAML", "Pulumi.yaml", "name: x\nruntime: yaml\nresources:\n  a:\n    type: email-security:VipList\n", {}],
    [
      "Pulumi YAML in addition",
      "Main.yaml",
      "name: x\nruntime: yaml\n",
      { "Main.yaml": "variables:\n  a:\n    fn::invoke:\n      function: email-security:getThreats\n" },
    ],
    ["a package", "Pulumi.yaml", `${PROJECT}packages:\n  email-security: 0.1.0\n`, {}],
  ])("detects that the program uses the plugin: %s", async (_label, file, text, files: Record<string, string>) => {
    using project = await DoctorProject.create({ "Pulumi.yaml": text, ...files });
    await project.install();
    expect(await project.look()).toMatchObject({
      status: "fail",
      result: `${JSON.stringify(file)} uses the native plugin, but Pulumi.yaml doesn't specify its path`,
      advice: expect.stringMatching(/\n +path: node_modules\/pulumi-email-security\/dist\/plugin$/),
    });
  });

  it.each<[string, Record<string, string>]>([
    ["dynamic resources", { "index.ts": 'import { VipList } from "pulumi-email-security";\n' }],
    ["a package's own files", { "node_modules/x/index.ts": NATIVE, "venv/x.py": "import pulumi_email_security\n" }],
    ["another project's", { "native/Pulumi.yaml": PROJECT, "native/index.ts": NATIVE }],
    ["a YAML file of another kind", { "settings/acme.yaml": "type: email-security:VipList\n" }],
  ])("detects that the program doesn't use the plugin: %s", async (_label, files) => {
    using project = await DoctorProject.create({ "Pulumi.yaml": PROJECT, ...files });
    expect(await project.look()).toEqual({ status: "ok", result: "the program doesn't use it" });
  });

  it("is skipped outside a Pulumi project", async () => {
    using project = await DoctorProject.create({ "index.ts": NATIVE });
    expect((await project.look()).status).toBe("skipped");
  });

  it("suggests Pulumi.yaml lines that make it pass", async () => {
    using project = await DoctorProject.create({
      "stacks/acme/Pulumi.yaml": PROJECT,
      "stacks/acme/index.ts": NATIVE,
    });
    const directory = "stacks/acme";
    expect((await project.look({}, { directory })).advice).toBe(
      "Run `npm install pulumi-email-security` in its directory, and add to Pulumi.yaml:\n" +
        "plugins:\n  providers:\n    - name: email-security\n      path: node_modules/pulumi-email-security/dist/plugin",
    );
    await project.install();
    const beginnings = [PROJECT, `${PROJECT}plugins:\n`, `${PROJECT}plugins:\n  providers:\n`];
    const others = `${PROJECT}plugins:\n  providers:\n  - name: other\n    path: other\n`;
    for (const text of [...beginnings, others]) {
      const file = await project.write(`${directory}/Pulumi.yaml`, text);
      const { advice = "" } = await project.look({}, { directory });
      const [sentence, ...lines] = advice.split("\n");
      expect(sentence).toMatch(/^Add to /);
      expect(lines.at(-1)).toMatch(/path: \.\.\/\.\.\/node_modules\/pulumi-email-security\/dist\/plugin$/);
      // Lines added below a key are indented further.
      const depth = text.endsWith("providers:\n") || text === others ? "  " : "";
      const indent = text === `${PROJECT}plugins:\n` ? "  " : depth;
      await appendFile(file, lines.map((line) => `${indent}${line}\n`).join(""));
      expect(await project.look({}, { directory })).toEqual({
        status: "ok",
        result: `email-security ${manifest.version}, in ../../node_modules/pulumi-email-security/dist/plugin`,
      });
    }
  });

  it("compares the version of the configured plugin with the package", async () => {
    using project = await DoctorProject.create({
      "Pulumi.yaml": PROJECT + formatPluginLines(PLUGIN),
      "src/index.ts": NATIVE,
    });
    expect(await project.look({}, { directory: "src" })).toEqual({
      status: "ok",
      result: `email-security ${manifest.version}, in ${PLUGIN}`,
    });
    expect(await project.look({}, { packageVersion: "7.0.0" })).toMatchObject({
      status: "warn",
      result: `email-security ${manifest.version}, in ${PLUGIN}`,
      advice: expect.stringContaining("This is pulumi-email-security 7.0.0."),
    });
  });

  it("accepts a package whose source is the plugin directory", async () => {
    const text = `${PROJECT}packages:\n  email-security:\n    source: ./node_modules/pulumi-email-security/dist/plugin\n`;
    using project = await DoctorProject.create({ "Pulumi.yaml": text });
    await project.install();
    expect((await project.look()).status).toBe("ok");
  });

  it("explains why the plugin path is invalid", async () => {
    using project = await DoctorProject.create({ "Pulumi.yaml": PROJECT + formatPluginLines("dist/plugin") });
    expect(await project.look()).toEqual({
      status: "fail",
      result: 'the directory "dist/plugin", which Pulumi.yaml specifies, doesn\'t exist',
      advice: "Run `npm install pulumi-email-security` in the directory of Pulumi.yaml.",
    });
    await project.install();
    expect((await project.look()).advice).toBe(
      "The package is installed; write\n- name: email-security\n  path: node_modules/pulumi-email-security/dist/plugin",
    );
    await project.write(`dist/plugin/${PROGRAM}`, "#!/bin/sh\nexit 7\n");
    const noProgram = `"dist/plugin", which Pulumi.yaml specifies, has no ${PROGRAM} that can be executed`;
    expect((await project.look()).result).toBe(noProgram);
    await project.write("Pulumi.yaml", PROJECT + formatPluginLines(`dist/plugin/${PROGRAM}`));
    expect((await project.look()).advice).toBe(
      "Specify the directory that contains the plugin, not the plugin itself.",
    );
  });

  it("explains why the plugin doesn't start", async () => {
    using project = await DoctorProject.create({ "Pulumi.yaml": PROJECT + formatPluginLines(PLUGIN) });
    const advice = "It needs Node.js 22.19 or later as `node` on PATH.";
    expect(await project.look({ PATH: project.directory.path })).toEqual({
      status: "fail",
      result: expect.stringMatching(/^".+" has a plugin that doesn't start: .*node.*No such file/),
      advice,
    });
    const older = join(project.directory.path, "old");
    const pretend = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.1.0" } });`;
    await project.write("old/pretend.cjs", pretend);
    await project.write(
      "old/node",
      `#!/bin/sh\nexec "${process.execPath}" -r "${join(older, "pretend.cjs")}" "$@"\n`,
      0o755,
    );
    expect(await project.look({ PATH: `${older}:/usr/bin:/bin` })).toEqual({
      status: "fail",
      result: expect.stringContaining(
        "doesn't start: pulumi-email-security needs Node.js 22.19 or later, but this is 20.1.0",
      ),
      advice,
    });
  });

  it("warns about a plugin on PATH that Pulumi.yaml doesn't name", async () => {
    using project = await DoctorProject.create({ "Pulumi.yaml": PROJECT, "index.ts": NATIVE });
    const PATH = `${PLUGIN}:${process.env["PATH"]}`;
    const lines = expect.stringContaining("plugins:\n  providers:\n");
    expect(await project.look({ PATH })).toEqual({
      status: "warn",
      result: `the engine uses the plugin on PATH, ${JSON.stringify(join(PLUGIN, PROGRAM))}, and warns about it`,
      advice: lines,
    });
    expect((await project.look({ PATH, PULUMI_IGNORE_AMBIENT_PLUGINS: "true" })).status).toBe("fail");
  });

  it("starts the plugin that Pulumi has installed", async () => {
    using project = await DoctorProject.create({ "Pulumi.yaml": PROJECT, "index.ts": NATIVE });
    const installed = `.pulumi/plugins/resource-email-security-v${manifest.version}/${PROGRAM}`;
    await project.write(installed, "#!/bin/sh\nexit 7\n", 0o755);
    expect(await project.look()).toMatchObject({
      status: "fail",
      result: expect.stringContaining("the plugin that Pulumi installed doesn't start"),
    });
    await project.write(installed, `#!/bin/sh\necho ${manifest.version}\n`, 0o755);
    expect(await project.look()).toEqual({
      status: "ok",
      result: `email-security ${manifest.version}, installed by Pulumi`,
    });
  });

  it("reports an invalid Pulumi.yaml", async () => {
    using project = await DoctorProject.create({ "Pulumi.yaml": "name: x\nruntime: [\n" });
    expect(await project.look()).toMatchObject({ status: "fail", advice: expect.stringContaining("line 3") });
    await project.write("Pulumi.yaml", "name: x\nruntime: nodejs\nplugins:\n  providers:\n    email-security: here\n");
    expect(await project.look()).toMatchObject({
      status: "fail",
      advice: expect.stringContaining("plugins.providers: "),
    });
  });
});
