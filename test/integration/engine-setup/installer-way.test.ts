import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ensureEngine } from "../../../provider/engine/ensure-engine";
import { hasShell, Workshop } from "./workshop";

/** Pulumi's real installer code, in its own process, given this instead of the download. */
function withDownload(workshop: Workshop, body: string): NodeJS.ProcessEnv {
  const preload = workshop.write("preload.cjs", `globalThis.fetch = async () => { ${body} };`);
  return { ...workshop.env, NODE_OPTIONS: `--require=${preload}` };
}

describe.skipIf(!hasShell)("Pulumi's own installer", () => {
  it("installs into the cache, once", async () => {
    using workshop = new Workshop();
    const install = `while [ "$1" != --install-root ]; do shift; done
mkdir -p "$2/bin"; printf '#!/bin/sh\\necho v3.270.0\\n' > "$2/bin/pulumi"; chmod +x "$2/bin/pulumi"`;
    const env = withDownload(workshop, `return new Response(${JSON.stringify(install)});`);
    const engine = await ensureEngine({ env, only: "installer" });
    expect(engine).toMatchObject({ version: "3.270.0", source: "installer" });
    expect(existsSync(engine.command)).toBe(true);

    const offline = withDownload(workshop, "throw new Error('asked again');");
    expect(await ensureEngine({ env: offline, only: "installer" })).toMatchObject({
      command: engine.command,
    });
  });

  it("gives way when its host can't be reached", async () => {
    using workshop = new Workshop();
    const env = withDownload(
      workshop,
      "throw new TypeError('fetch failed', { cause: new Error('no such host') });",
    );
    await expect(ensureEngine({ env, only: "installer" })).rejects.toThrow(
      /can't be reached \(no such host\)/,
    );
    expect(readdirSync(join(workshop.folder, "cache", "engine"))).toEqual([]);
  });

  it("gives way when what it downloads fails", async () => {
    using workshop = new Workshop();
    const env = withDownload(workshop, `return new Response("echo no release for you >&2; exit 1");`);
    await expect(ensureEngine({ env, only: "installer" })).rejects.toThrow("no release for you");
  });
});
