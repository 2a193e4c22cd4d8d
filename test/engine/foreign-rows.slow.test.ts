import { describe, expect, it } from "vitest";
import { EngineProject, PLUGIN_LINES } from "../support/engine-project";
import { LiteralService } from "../support/literal-service";

/* Somebody adds, moves or replaces rows whose value the stack manages. Runs through the real engine. */

const REFRESH = ["up", "--yes", "--skip-preview", "--refresh"] as const;
const DENY = 'new AllowDenyEntry("entry", { list: "deny", value: "evil.example" });';
const ALLOW = 'new AllowDenyEntry("entry", { list: "allow", value: "evil.example", acceptRisk: "a test" });';

describe.each([
  ["dynamic", "pulumi-email-security", ""],
  ["native", "pulumi-email-security/native", PLUGIN_LINES],
])("foreign rows with the %s provider", (_name, module, lines) => {
  const buildProgram = (resources: string): string => `
    import { AllowDenyEntry } from "${module}";
    ${resources}
  `;

  /** Creates a stack with these resources, and returns it with its service. */
  async function createStack(resources: string) {
    const service = await LiteralService.start({ allowsDuplicates: true });
    const project = await EngineProject.create({
      program: buildProgram(resources),
      environment: { EMAIL_SECURITY_BASE_URL: service.url, EMAIL_SECURITY_API_KEY: "key" },
      files: { "Pulumi.yaml": `name: settings\nruntime: nodejs\n${lines}` },
    });
    await project.up();
    return {
      service,
      project,
      declare: (declared: string) => project.write(buildProgram(declared)),
      async [Symbol.asyncDispose]() {
        await project[Symbol.asyncDispose]();
        await service[Symbol.asyncDispose]();
      },
    };
  }

  it("keeps its own rows next to conflicting ones of the console", async () => {
    const allowed = 'new AllowDenyEntry("allowed", { list: "allow", value: "partner.example" });';
    await using stack = await createStack(
      `${allowed} new AllowDenyEntry("denied", { list: "deny", value: "evil.example" });`,
    );
    const { service, project, declare } = stack;
    service.add({ id: "console-allow", list: "allow", value: "evil.example" });
    service.add({ id: "console-deny", list: "deny", value: "partner.example" });
    const rejection = await project.run(...REFRESH);
    expect([rejection.code, rejection.output]).toEqual([1, expect.stringContaining("id console-allow")]);
    expect(rejection.output).toContain("id console-deny");

    await declare(allowed);
    // The state records the conflicting deny, so that a run without a refresh reports it too.
    expect(await project.up()).toContain("id console-deny");
    expect(service.listContents()).toEqual(["allow evil.example", "allow partner.example", "deny partner.example"]);
  });

  it("fails each `up --refresh` until the allow of an interrupted move is gone", async () => {
    await using stack = await createStack(ALLOW);
    const { service, project, declare } = stack;
    service.add({ id: "second", list: "allow", value: "evil.example" });
    service.undeletable.add("second");
    await declare(DENY);
    expect(await project.run("up", "--yes", "--skip-preview")).toMatchObject({ code: 1 });
    service.undeletable.clear();
    for (const run of [1, 2]) {
      const { code, output } = await project.run(...REFRESH);
      expect([code, output], `run ${run}`).toEqual([1, expect.stringContaining("id second")]);
    }
    service.entries.splice(
      service.entries.findIndex(({ id }) => id === "second"),
      1,
    );
    expect(await project.run(...REFRESH)).toMatchObject({ code: 0 });
    expect(service.listContents()).toEqual(["deny evil.example"]);
  });

  it("removes a retained allow of another scope for a declared deny", async () => {
    await using stack = await createStack(
      ALLOW.replace('"a test" }', '"a test", verdictScope: "graymail" }, { retainOnDelete: true }'),
    );
    const { service, project, declare } = stack;
    await declare(DENY.replace('"entry"', '"denied"'));
    expect(await project.run(...REFRESH)).toMatchObject({ code: 0 });
    expect(service.listContents()).toEqual(["deny evil.example"]);
    expect(await project.run(...REFRESH)).toMatchObject({ code: 0 });
  });

  it("names duplicate and recreated rows before it removes them", async () => {
    await using stack = await createStack(DENY);
    const { service, project, declare } = stack;
    const [own] = service.entries.splice(0);
    service.add({ ...own, id: "again", created_by: "Mei Chen" });
    service.add({ ...own, id: "second", created_by: "Lena Hartmann" });
    const preview = await project.run("preview", "--refresh");
    expect(preview.output).toMatch(/id again.*created by Mei Chen.*removing the resource deletes it/s);
    expect(preview.output).toMatch(/id second.*created by Lena Hartmann.*removes all of them/s);
    expect(await project.run(...REFRESH)).toMatchObject({ code: 0 });
    await declare("export {};");
    service.undeletable.add("second");
    expect(await project.run("up", "--yes", "--skip-preview")).toMatchObject({ code: 1 });
    service.undeletable.clear();
    const removed = await project.run("up", "--yes", "--skip-preview");
    expect(removed).toMatchObject({ code: 0, output: expect.stringContaining("id second") });
    expect(removed.output).toContain("id again");
    expect(service.entries).toEqual([]);
  });

  it("renames an allow resource despite a conflicting console deny", async () => {
    await using stack = await createStack(ALLOW);
    const { service, project, declare } = stack;
    service.add({ id: "console", list: "deny", value: "evil.example" });
    await declare(ALLOW.replace('"entry"', '"renamed"'));
    const renamed = await project.run(...REFRESH);
    expect(renamed).toMatchObject({ code: 0, output: expect.stringContaining("id console") });
    expect(service.listContents()).toEqual(["allow evil.example", "deny evil.example"]);
  });
});
