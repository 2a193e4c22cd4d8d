import { expect, it } from "vitest";
import { changesIn, expectManagedBy, KINDS, program, stackOf } from "./native-moves";

it("moves a stack from dynamic to native and back by aliases, without a request", async () => {
  await using stack = await stackOf(() => program("dynamic"));
  const { project } = stack;
  await project.up();
  expect(stack.writes()).toHaveLength(6);
  const before = stack.holds();

  for (const front of ["native", "dynamic"] as const) {
    await project.write(program(front, { aliases: true }));
    const moved = changesIn(await project.up());
    // The state of a dynamic resource holds its provider, and that of a native one does not.
    expect(moved).toHaveLength(KINDS.length + 1);
    expect(moved.filter((line) => !/ updated \(/.test(line))).toEqual([]);
    await expectManagedBy(front, stack);
    expect(stack.trace()).toEqual([]);
    expect(stack.holds()).toEqual(before);
  }
  // The aliases have done what they are for.
  await project.write(program("dynamic"));
  await project.up("--expect-no-changes");
  expect(stack.trace()).toEqual([]);
});
