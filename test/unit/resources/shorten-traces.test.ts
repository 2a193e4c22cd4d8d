import { setImmediate as turn } from "node:timers/promises";
import * as pulumi from "@pulumi/pulumi";
import { AllowDenyEntry, AllowDenyList, VipEmployee, VipList } from "pulumi-email-security";
import * as native from "pulumi-email-security/native";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const own = { limit: Error.stackTraceLimit, prepare: Error.prepareStackTrace };

beforeEach(() => {
  pulumi.runtime.setMocks({
    newResource: ({ name, inputs }) => ({ id: name, state: inputs }),
    call: () => ({}),
  });
});

afterEach(() => {
  Error.stackTraceLimit = own.limit;
  if (own.prepare === undefined) Reflect.deleteProperty(Error, "prepareStackTrace");
  else Error.prepareStackTrace = own.prepare;
  delete process.env["PULUMI_DEBUG_PROMISE_LEAKS"];
});

/** Returns the number of frames of each trace that is captured and read during the work. */
function countFrames(work: () => unknown): number[] {
  const counts: number[] = [];
  Error.prepareStackTrace = (error, frames) => {
    counts.push(frames.length);
    return [String(error), ...frames.map((frame) => `    at ${frame}`)].join("\n");
  };
  work();
  return counts;
}

const MADE: readonly [string, () => pulumi.Resource][] = [
  ["AllowDenyEntry", () => new AllowDenyEntry("one", { list: "deny", value: "evil.example" })],
  ["AllowDenyList", () => new AllowDenyList("one", { entries: { "evil.example": "deny" } })],
  ["VipEmployee", () => new VipEmployee("one", { email: "ceo@acme.example" })],
  ["VipList", () => new VipList("one", { members: { "ceo@acme.example": "" } })],
  ["native AllowDenyEntry", () => new native.AllowDenyEntry("one", { list: "deny", value: "evil.example" })],
  ["native AllowDenyList", () => new native.AllowDenyList("one", { entries: { "evil.example": "deny" } })],
  ["native VipEmployee", () => new native.VipEmployee("one", { email: "ceo@acme.example" })],
  ["native VipList", () => new native.VipList("one", { members: { "ceo@acme.example": "" } })],
];

describe("resource in a program", () => {
  it.each(MADE)("captures exactly one stack trace: %s", (_kind, make) => {
    expect(countFrames(make).filter((frames) => frames > 0)).toHaveLength(1);
    expect(Error.stackTraceLimit).toBe(own.limit);
  });

  it.each([
    ["vip-list.js", VipList],
    ["vipList.js", native.VipList],
  ])("drops Node.js frames from the trace of a program's error: %s", (file, Kind) => {
    const places: (string | undefined)[][] = [];
    Error.prepareStackTrace = (error, frames) => {
      if (frames.length > 0) places.push(frames.map((frame) => frame.getFileName() ?? undefined));
      return [String(error), ...frames.map((frame) => `    at ${frame}`)].join("\n");
    };
    const prepare = Error.prepareStackTrace;
    const constructInFunction = (): unknown => new Kind("one", { members: {} });
    constructInFunction();
    const files = places[0]?.map((place) => place?.replace(/.*[\\/]/, ""));
    const pulumis = Array.from({ length: 4 }, () => "resource.js");
    expect(files?.slice(0, 7)).toEqual([...pulumis, file, "shorten-traces.test.ts", "shorten-traces.test.ts"]);
    expect(places[0]?.filter((place) => place?.startsWith("node:") ?? true)).toEqual([]);
    expect(Error.prepareStackTrace).toBe(prepare);
  });

  it("captures every trace when promise leak debugging is on", () => {
    process.env["PULUMI_DEBUG_PROMISE_LEAKS"] = "true";
    const [, make] = MADE[0] as (typeof MADE)[0];
    expect(countFrames(make).filter((frames) => frames > 0).length).toBeGreaterThan(40);
  });

  it("throws with its place in the program when construction fails", () => {
    const parent = {} as pulumi.Resource;
    const error = captureError(() => new AllowDenyEntry("one", { list: "deny", value: "evil.example" }, { parent }));
    expect(error.message).toContain("parent is not a valid Resource");
    expect(error.stack).toContain("at new AllowDenyEntry");
    expect(error.stack).toContain("shorten-traces.test.ts");
    expect(Error.stackTraceLimit).toBe(own.limit);
  });

  it("shows where a transformation of the program failed", () => {
    const throwError = function ofTheProgram(): undefined {
      throw new Error("no");
    };
    const error = captureError(() => new VipList("one", { members: {} }, { transformations: [throwError] }));
    expect(error.stack).toMatch(/^Error: no\n {4}at (?:Object\.)?ofTheProgram /);
    expect(Error.stackTraceLimit).toBe(own.limit);
  });

  it("fails with its place in the program when the engine rejects it", async () => {
    pulumi.runtime.setMocks({
      newResource: () => {
        throw new Error("no");
      },
      call: () => ({}),
    });
    const rejection = Promise.withResolvers<Error>();
    const listeners = process.listeners("unhandledRejection");
    process.removeAllListeners("unhandledRejection");
    process.on("unhandledRejection", (error: Error) => rejection.resolve(error));
    try {
      const constructInFunction = (): unknown => new VipList("one", { members: {} });
      constructInFunction();
      const { message, stack } = await rejection.promise;
      expect(message).toContain("failed to register new resource one");
      expect(stack).toContain("shorten-traces.test.ts");
      // Each output of the resource rejects with the same error.
      await turn();
    } finally {
      process.removeAllListeners("unhandledRejection");
      for (const listener of listeners) process.on("unhandledRejection", listener);
    }
  });

  it("shows where a transformation of its parent failed", () => {
    const throwError = function ofTheParent({ type }: pulumi.ResourceTransformationArgs): undefined {
      if (type.includes("VipEmployee")) throw new Error("no");
    };
    const parent = new pulumi.ComponentResource("a:b:C", "c", {}, { transformations: [throwError] });
    const error = captureError(() => new VipEmployee("one", { email: "ceo@acme.example" }, { parent }));
    expect(error.stack).toMatch(/^Error: no\n {4}at (?:Object\.)?ofTheParent /);
  });
});

function captureError(work: () => unknown): Error {
  try {
    work();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error("nothing was thrown");
}
