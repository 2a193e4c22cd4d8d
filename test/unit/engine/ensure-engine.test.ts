import { delimiter, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { EngineOptionError } from "../../../provider/engine/engine-option-error";
import { EngineUnavailableError } from "../../../provider/engine/engine-unavailable-error";
import { ensureEngine, firstOf } from "../../../provider/engine/ensure-engine";
import { type EngineSource, type FoundEngine, type Way, WayError } from "../../../provider/engine/way";

const silent = () => {};

/** A way that records what it is asked. */
function way(source: EngineSource, trace: string[], does: { find?: FoundEngine; obtain?: FoundEngine }): Way {
  return {
    source,
    async find() {
      trace.push(`find ${source}`);
      return does.find;
    },
    async obtain() {
      trace.push(`obtain ${source}`);
      if (does.obtain) return does.obtain;
      throw new WayError(`no ${source} here`, `open ${source}`);
    },
  };
}

const engine: FoundEngine = { command: join("/engines", "bin", "pulumi"), version: "3.259.0" };

describe("firstOf", () => {
  it("takes what is there before it gets anything", async () => {
    const trace: string[] = [];
    const ways = [way("path", trace, {}), way("build", trace, { find: engine })];
    expect(await firstOf(ways, silent)).toMatchObject({ ...engine, source: "build" });
    expect(trace).toEqual(["find path", "find build"]);
  });

  it("gets one by the first way that is open", async () => {
    const trace: string[] = [];
    const ways = [way("path", trace, {}), way("build", trace, { obtain: engine })];
    expect(await firstOf(ways, silent)).toMatchObject({ ...engine, source: "build" });
    expect(trace).toEqual(["find path", "find build", "obtain path", "obtain build"]);
  });

  it("names every way that was tried, why it failed and what would help", async () => {
    const crash = { ...way("build", [], {}), obtain: () => Promise.reject(new Error("disk full\nat 100%")) };
    const failure = firstOf([way("path", [], {}), crash], silent);
    await expect(failure).rejects.toBeInstanceOf(EngineUnavailableError);
    await expect(failure).rejects.toMatchObject({
      code: "ERR_ENGINE_UNAVAILABLE",
      message: [
        "No Pulumi engine could be found or made. Tried:",
        "  - pulumi on PATH: no path here",
        "  - a build from Go modules: disk full",
        "      at 100%",
        "Any one of these helps:",
        "  - open path",
        "  - mend what the error above names, then try again",
      ].join("\n"),
    });
  });

  it("gives an environment in which the CLI finds its hosts and this Node.js", async () => {
    const found = await firstOf([way("path", [], { find: engine })], silent);
    expect(found.folder).toBe(dirname(engine.command));
    expect(
      found.environment({ Path: "/usr/bin", OTHER: "kept", EMAIL_SECURITY_CACHE_DIR: "/cache" }),
    ).toEqual({
      OTHER: "kept",
      EMAIL_SECURITY_CACHE_DIR: "/cache",
      NODE_COMPILE_CACHE: join("/cache", "compiled"),
      PULUMI_SKIP_UPDATE_CHECK: "true",
      NO_PROXY: "127.0.0.1,localhost",
      no_proxy: "127.0.0.1,localhost",
      Path: [found.folder, dirname(process.execPath), "/usr/bin"].join(delimiter),
    });
    const own = found.environment({ NODE_COMPILE_CACHE: "/own" });
    expect(own["NODE_COMPILE_CACHE"]).toBe("/own");
  });
});

it("refuses a way that it doesn't know", async () => {
  const failure = ensureEngine({ env: { EMAIL_SECURITY_ENGINE: "brew" } });
  await expect(failure).rejects.toBeInstanceOf(EngineOptionError);
  await expect(failure).rejects.toMatchObject({
    code: "ERR_ENGINE_OPTION",
    message: expect.stringContaining("path, build"),
  });
});
