import { expect, it } from "vitest";
import { buildMigrationProgram, createStack, expectManagedBy, extractChanges, KINDS } from "./provider-migration";

it("moves a stack from dynamic to native by aliases without a request", async () => {
  await using stack = await createStack(() => buildMigrationProgram("dynamic"));
  const { project } = stack;
  await project.up();
  expect(stack.writes()).toHaveLength(6);
  const before = stack.holds();

  await project.write(buildMigrationProgram("native", { aliases: true }));
  const moved = extractChanges(await project.up());
  // Each resource is updated, because the state of a dynamic resource contains its provider, and that of a native one
  // doesn't.
  expect(moved).toHaveLength(KINDS.length + 1);
  expect(moved.filter((line) => !/ updated \(/.test(line))).toEqual([]);
  await expectManagedBy("native", stack);

  // After the move, the aliases are no longer needed.
  await project.write(buildMigrationProgram("native"));
  await project.up("--expect-no-changes");
  expect(stack.trace()).toEqual([]);
  expect(stack.holds()).toEqual(before);
});
