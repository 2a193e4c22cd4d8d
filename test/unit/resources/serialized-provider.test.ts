import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import manifest from "../../../provider/package.json";
import { buildSerializedProvider, type HandlerName } from "../../../provider/resources/serialized-provider";
import { built } from "../../support/build-output";

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

const RUNTIME = built("resources/runtime.js", () => import("../../../provider/resources/runtime.ts"));

/** What of the runtime's handlers can be called. In a process of its own, since it has that end with an engine. */
const callable: Record<string, string[]> = JSON.parse(
  execFileSync(
    process.execPath,
    [
      "-e",
      `const functionsOf = (handler) => Object.keys(handler).filter((name) => typeof handler[name] === "function");
      const handlers = Object.entries(require(${JSON.stringify(RUNTIME)}));
      console.log(JSON.stringify(Object.fromEntries(handlers.map(([name, handler]) => [name, functionsOf(handler)]))));`,
    ],
    { stdio: ["ignore", "pipe", "inherit"], encoding: "utf8" },
  ),
);

describe.each(Object.entries(RELEASED) as [HandlerName, string][])("serialized provider of %s", (handler, text) => {
  it("keeps its released text", () => {
    expect(buildSerializedProvider(handler)).toBe(text);
  });

  it("adds at most 250 bytes to a resource's state", () => {
    expect(Buffer.byteLength(buildSerializedProvider(handler))).toBeLessThanOrEqual(250);
  });

  it("refers to a handler that the runtime exports", () => {
    expect(callable[handler]).toEqual(expect.arrayContaining(["check", "delete"]));
  });
});

it("requires a path that the package exports", () => {
  expect(manifest.name).toBe("pulumi-email-security");
  expect(manifest.exports).toHaveProperty(["./runtime", "default"]);
});
