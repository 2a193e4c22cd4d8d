import { expect, it } from "vitest";
import { LiteralService } from "../../support/literal-service";
import { createEngineAddress, ProviderProcess } from "../../support/provider-process";

/* Two Providers of one program reach the same tenant with two keys. The refresh of a list meets rows of the other one. */

const VALUE = "twice.example";

it.each([
  ["reports no duplicate", "deny", "global"],
  ["reports no conflict", "allow", "graymail"],
] as const)("%s that another Provider manages", async (_label, list, verdictScope) => {
  await using service = await LiteralService.start({ allowsDuplicates: true });
  const startInstance = async (engine: string, instance: string) =>
    await ProviderProcess.start({
      engine,
      instance,
      config: { "email-security:baseUrl": service.url, "email-security:apiKey": `key-${instance}` },
    });
  const [first, second] = [createEngineAddress(), createEngineAddress()];
  const entries = { [VALUE]: "deny", "other.example": "deny" };
  const args = { list, value: VALUE, verdictScope, ...(list === "allow" ? { acceptRisk: "a partner" } : {}) };
  await using q = await startInstance(first, "q");
  const entry = await q.getResource("allowDenyEntry", "entry").declare(args);
  const others = service.entries.splice(0);
  await using p = await startInstance(second, "p");
  const createdResource = await p.getResource("allowDenyList", "list").declare({ entries });
  service.entries.push(...others);

  const third = createEngineAddress();
  await using stays = await startInstance(third, "q");
  await using refreshed = await startInstance(third, "p");
  const unchanged = stays.getResource("allowDenyEntry", "entry");
  const { inputs } = await unchanged.check(args, entry.inputs);
  expect(await unchanged.diff(entry.id, entry.properties, inputs)).toMatchObject({ changes: false });
  const read = await refreshed
    .getResource("allowDenyList", "list")
    .read(createdResource.id, createdResource.properties, createdResource.inputs);
  expect(read?.properties).toEqual(createdResource.properties);
  expect((await refreshed.readPrintedLines()).join("\n")).not.toContain(VALUE);
});
