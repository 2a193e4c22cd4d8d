import { expect, it } from "vitest";
import { changesIn, expectManagedBy, KINDS, program, stackOf } from "./provider-migration";

it("moves a stack from dynamic to native by aliases without a request", async () => {
  await using stack = await stackOf(() => program("dynamic"));
  const { project } = stack;
  await project.up();
  expect(stack.writes()).toHaveLength(6);
  const before = stack.holds();

  await project.write(program("native", { aliases: true }));
  const moved = changesIn(await project.up());
  // Each resource is updated, because the state of a dynamic resource contains its provider, and that of a native one
  // doesn't.
  expect(moved).toHaveLength(KINDS.length + 1);
  expect(moved.filter((line) => !/ updated \(/.test(line))).toEqual([]);
  await expectManagedBy("native", stack);

  // After the move, the aliases are no longer needed.
  await project.write(program("native"));
  await project.up("--expect-no-changes");
  expect(stack.trace()).toEqual([]);
  expect(stack.holds()).toEqual(before);
});
