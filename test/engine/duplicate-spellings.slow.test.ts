import { expect, it } from "vitest";
import { EngineProject } from "../support/engine-project";
import { LiteralService } from "../support/literal-service";

/** Returns a program with one allow entry per value, otherwise with the same arguments. */
function buildProgram(values: readonly string[]): string {
  const lines = values.map(
    (value, index) =>
      `new AllowDenyEntry("entry-${index}", { list: "allow", value: ${JSON.stringify(value)}, acceptRisk: "a partner" });`,
  );
  return `import { AllowDenyEntry } from "pulumi-email-security";\n${lines.join("\n")}\n`;
}

it.each([
  ["an internationalized domain", ["bücher.example", "xn--bcher-kva.example"]],
  ["an IPv6 address", ["2001:DB8:0::1", "2001:db8::1"]],
  ["one spelling, twice", ["partner.example", "partner.example"]],
])("leaves no row after both duplicate resources are dropped: %s", async (_label, values) => {
  await using service = await LiteralService.start({ allowsDuplicates: true });
  await using project = await EngineProject.create({
    program: buildProgram(values),
    environment: { EMAIL_SECURITY_BASE_URL: service.url, EMAIL_SECURITY_API_KEY: "key" },
  });
  await project.up();
  expect(service.entries).toHaveLength(1);

  // The other resources keep their names, so that only the first is removed.
  await project.write(buildProgram(values).replace(/^new .*"entry-0".*$/m, ""));
  expect(await project.up()).toContain("is kept: the program declares it");
  expect(service.entries).toHaveLength(1);

  await project.write(buildProgram([]));
  expect(await project.up()).toContain("1 deleted");
  expect(service.entries).toEqual([]);
});
