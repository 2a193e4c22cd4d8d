import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import manifest from "../../../provider/package.json";
import { buildSerializedProvider, type HandlerName } from "../../../provider/resources/serialized-provider";
import { getBuildPath } from "../../support/build-path";

/**
 * Every handler that any release has ever had, and the exact text that it left in users' state. Only add lines: a
 * changed or removed one is still in state, and its updates and deletes would fail.
 */
const RELEASED = {
  allowDenyEntry: 'exports.handler = () => require("pulumi-email-security/runtime").allowDenyEntry',
  vipEmployee: 'exports.handler = () => require("pulumi-email-security/runtime").vipEmployee',
  allowDenyList: 'exports.handler = () => require("pulumi-email-security/runtime").allowDenyList',
  vipList: 'exports.handler = () => require("pulumi-email-security/runtime").vipList',
} satisfies Record<HandlerName, string>;

const RUNTIME = getBuildPath("resources/runtime.js", () => import("../../../provider/resources/runtime.ts"));

/**
 * The callable functions of the runtime's handlers. Loaded in a separate process, since the runtime makes its process
 * end with the engine.
 */
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
