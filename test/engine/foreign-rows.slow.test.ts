import { expect, it } from "vitest";
import { EngineProject, PLUGIN_LINES } from "../support/engine-project";
import { LiteralService } from "../support/literal-service";

/* Somebody adds a row of the same value on the other list. Through the real engine. */

it.each([
  ["dynamic", "pulumi-email-security", ""],
  ["native", "pulumi-email-security/native", PLUGIN_LINES],
])(
  "keeps its own rows and names the console's, over the %s provider",
  async (_name, module, lines) => {
    const program = (denied: string): string => `
    import { AllowDenyEntry } from "${module}";
    new AllowDenyEntry("allowed", { list: "allow", value: "partner.example" });
    ${denied}
  `;
    await using service = await LiteralService.start({ permitsDuplicates: true });
    await using project = await EngineProject.create({
      program: program('new AllowDenyEntry("denied", { list: "deny", value: "evil.example" });'),
      environment: { EMAIL_SECURITY_BASE_URL: service.url, EMAIL_SECURITY_API_KEY: "key" },
      files: { "Pulumi.yaml": `name: settings\nruntime: nodejs\n${lines}` },
    });
    await project.up();
    service.add({ id: "console-allow", list: "allow", value: "evil.example" });
    service.add({ id: "console-deny", list: "deny", value: "partner.example" });
    const refused = await project.run("up", "--yes", "--skip-preview", "--refresh");
    expect([refused.code, refused.output]).toEqual([1, expect.stringContaining("id console-allow")]);
    expect(refused.output).toContain("id console-deny");

    await project.write(program(""));
    // The state names the deny beside the allow, also where a run doesn't look.
    expect(await project.up()).toContain("id console-deny");
    expect(service.held()).toEqual(["allow evil.example", "allow partner.example", "deny partner.example"]);
  },
  120_000,
);
