import { describe, expect, it } from "vitest";
import manifest from "../../../provider/package.json";
import { allowDenyEntry, allowDenyList, vipEmployee, vipList } from "../../../provider/resources/runtime";
import { type HandlerName, shell } from "../../../provider/resources/shell";

/**
 * Every handler that a release has ever had, and the very text that it left in people's state. Add to it; what a line
 * says that is changed or taken away is still in state, and leads an update or a delete to nothing.
 */
const RELEASED = {
  allowDenyEntry: 'exports.handler = () => require("pulumi-email-security/runtime").allowDenyEntry',
  vipEmployee: 'exports.handler = () => require("pulumi-email-security/runtime").vipEmployee',
  allowDenyList: 'exports.handler = () => require("pulumi-email-security/runtime").allowDenyList',
  vipList: 'exports.handler = () => require("pulumi-email-security/runtime").vipList',
} satisfies Record<HandlerName, string>;

describe.each(Object.entries(RELEASED) as [HandlerName, string][])("the shell of %s", (handler, text) => {
  it("is a constant", () => {
    expect(shell(handler)).toBe(text);
  });

  it("takes at most 250 bytes of a resource's state", () => {
    expect(Buffer.byteLength(shell(handler))).toBeLessThanOrEqual(250);
  });

  it("asks the runtime for a handler that is there", () => {
    const handlers = { allowDenyEntry, vipEmployee, allowDenyList, vipList };
    expect(handlers[handler]).toMatchObject({ check: expect.any(Function), delete: expect.any(Function) });
  });
});

it("asks for a path that the package exports, by the package's name", () => {
  expect(manifest.name).toBe("pulumi-email-security");
  expect(manifest.exports).toHaveProperty(["./runtime", "default"]);
});
