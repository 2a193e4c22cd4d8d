import { delimiter, resolve } from "node:path";
import { expect, it } from "vitest";
import {
  buildMigrationProgram,
  createStack,
  ENTRY,
  expectManagedBy,
  extractChanges,
  listDeclarations,
  VIP,
} from "./provider-migration";

it("moves a stack from native to dynamic and back without a request", async () => {
  await using stack = await createStack((url) => buildMigrationProgram("native", { provider: url }));
  const { project, sandbox } = stack;
  await project.up();
  expect(stack.writes()).toHaveLength(6);
  const before = stack.holds();
  for (const providerKind of ["dynamic", "native"] as const) {
    await project.write(buildMigrationProgram(providerKind, { provider: sandbox.url, aliases: true }));
    expect(extractChanges(await project.up()).join("\n")).not.toMatch(/created|deleted|replaced/);
    expect(stack.trace()).toEqual([]);
    await expectManagedBy(providerKind, stack);
    // After the move, the aliases are no longer needed.
    await project.write(buildMigrationProgram(providerKind, { provider: sandbox.url }));
    await project.up("--refresh", "--expect-no-changes");
    expect(stack.writes()).toEqual([]);
    expect(stack.holds()).toEqual(before);
  }
  await project.destroy();
  expect(listDeclarations(sandbox)).toEqual([]);
});

it("deletes nothing when one run drops one provider for the other", async () => {
  // Uses Pulumi's own launcher, which stays as a process between the engine and the dynamic provider.
  const launchers = resolve("node_modules/@pulumi/pulumi");
  await using stack = await createStack(() => buildMigrationProgram("dynamic"));
  const { project } = stack;
  await project.up();
  stack.trace();
  const before = stack.holds();
  const environment = { PATH: `${launchers}${delimiter}${project.environment["PATH"]}` };
  for (const providerKind of ["native", "dynamic"] as const) {
    await project.write(buildMigrationProgram(providerKind));
    const { code, output } = await project.runWith(environment, "up", "--yes", "--skip-preview");
    expect(code, output).toBe(0);
    expect(output).toContain(`using pulumi-resource-pulumi-nodejs from $PATH at ${launchers}`);
    for (const sentence of [
      `${ENTRY} on the deny list is kept: the program declares it.`,
      `${VIP} stays a VIP: the program declares it.`,
      "2 entries are kept: the program declares them (deny one.example, allow two.example).",
      "1 VIP is kept: the program declares it (diego.santos@acme.example).",
      `Adopted ${ENTRY} on the deny list`,
    ]) {
      expect(output).toContain(sentence);
    }
    expect(stack.writes()).toEqual([]);
    expect(stack.holds()).toEqual(before);
    await expectManagedBy(providerKind, stack);
    await project.up("--expect-no-changes");
  }
});

it("deletes nothing when native imports replace the dynamic resources", async () => {
  const singles = ["AllowDenyEntry", "VipEmployee"];
  const lists = ["AllowDenyList", "VipList"];
  await using stack = await createStack(() => buildMigrationProgram("dynamic", { kinds: singles }));
  const { project } = stack;
  for (const [kinds, imports] of [
    [singles, { AllowDenyEntry: `deny:${ENTRY}`, VipEmployee: VIP }],
    [lists, { AllowDenyList: "allow-deny-list", VipList: "vip-list" }],
  ] as const) {
    await project.write(buildMigrationProgram("dynamic", { kinds }));
    await project.up();
    stack.trace();
    const before = stack.holds();
    await project.write(buildMigrationProgram("native", { kinds, imports }));
    const output = await project.up();
    expect(output).toMatch(/imported[\s\S]*kept: the program declares/);
    expect(stack.writes()).toEqual([]);
    expect(stack.holds()).toEqual(before);
    await project.write(buildMigrationProgram("native", { kinds }));
    await project.up("--expect-no-changes");
  }
  await project.destroy();
  expect(listDeclarations(stack.sandbox)).toEqual([]);
});
