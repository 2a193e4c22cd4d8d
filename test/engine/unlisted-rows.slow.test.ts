import { expect, it } from "vitest";
import { EngineProject, PLUGIN_LINES } from "../support/engine-project";
import { LiteralService } from "../support/literal-service";

/* Each run starts before the service's lists show the rows that the last run created. Runs through the real engine. */

it.each([
  ["dynamic", "pulumi-email-security", ""],
  ["native", "pulumi-email-security/native", PLUGIN_LINES],
])(
  "serves rows that aren't listed yet with the %s provider",
  async (_name, module, lines) => {
    const buildProgram = (list: string): string => `
    import { AllowDenyEntry } from "${module}";
    new AllowDenyEntry("one", { list: "${list}", value: "evil.example", acceptRisk: "a partner" });
  `;
    await using service = await LiteralService.start({ allowsDuplicates: true, readsBehind: 3 });
    await using project = await EngineProject.create({
      program: buildProgram("allow"),
      environment: { EMAIL_SECURITY_BASE_URL: service.url, EMAIL_SECURITY_API_KEY: "key" },
      files: { "Pulumi.yaml": `name: settings\nruntime: nodejs\n${lines}` },
    });
    await project.up();
    await project.write(buildProgram("deny"));
    await project.up();
    expect(service.listContents()).toEqual(["deny evil.example"]);

    service.hide(3);
    await project.up("--refresh");
    expect(service.listContents()).toEqual(["deny evil.example"]);
    expect(service.writes).toEqual(["POST allow evil.example", 'PATCH row-1 {"list":"deny"}']);

    service.hide(99);
    expect(await project.runOrThrow("destroy", "--yes", "--skip-preview")).not.toContain("gone already");
    expect(service.listContents()).toEqual([]);
  },
  120_000,
);
