import { readFileSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ensureEngine } from "../../../provider/engine/ensure-engine";
import { hasShell, Workshop } from "./workshop";

describe.skipIf(!hasShell)("pulumi on PATH", () => {
  /** A `pulumi` of that version, with its hosts, that counts its calls; as large as a real one when asked. */
  function pulumi(workshop: Workshop, version: string, bytes = 0): string {
    const calls = join(workshop.folder, "calls");
    for (const host of ["pulumi-language-nodejs", "pulumi-resource-pulumi-nodejs"])
      workshop.program(host, "");
    return workshop.program(
      "pulumi",
      `echo call >> '${calls}'; echo v${version}; exit\n${"#".repeat(bytes)}`,
    );
  }

  const calls = (workshop: Workshop) =>
    readFileSync(join(workshop.folder, "calls"), "utf8").match(/call/g)?.length;

  it("is used when it is new enough", async () => {
    using workshop = new Workshop();
    const command = pulumi(workshop, "3.200.0");
    const engine = await ensureEngine({ env: workshop.env });
    expect(engine).toMatchObject({ command, version: "3.200.0", source: "path", folder: workshop.programs });
  });

  it("is refused when it is too old, and the message says so", async () => {
    using workshop = new Workshop();
    const command = pulumi(workshop, "3.199.0");
    await expect(ensureEngine({ env: workshop.env, only: "path" })).rejects.toThrow(
      `${command} is 3.199.0, older than 3.200.0`,
    );
  });

  it("is refused without the hosts that programs in Node.js need", async () => {
    using workshop = new Workshop();
    workshop.program("pulumi", "echo v3.300.0");
    await expect(ensureEngine({ env: workshop.env, only: "path" })).rejects.toThrow(
      "has no pulumi-language-nodejs and no pulumi-resource-pulumi-nodejs beside it or on PATH",
    );
  });

  it("is refused when it doesn't work", async () => {
    using workshop = new Workshop();
    pulumi(workshop, "3.300.0");
    workshop.program("pulumi", "echo broken >&2; exit 1");
    await expect(ensureEngine({ env: workshop.env, only: "path" })).rejects.toThrow("exit code 1: broken");
  });

  it("is passed over for a later one that will do", async () => {
    using workshop = new Workshop();
    pulumi(workshop, "3.300.0");
    workshop.write("old/pulumi", "#!/bin/sh\necho v3.100.0\n", 0o755);
    const env = { ...workshop.env, PATH: `${join(workshop.folder, "old")}:${workshop.env["PATH"]}` };
    expect(await ensureEngine({ env })).toMatchObject({ version: "3.300.0", folder: workshop.programs });
  });

  it("is asked for its version once for as long as it stays the same program", async () => {
    using workshop = new Workshop();
    const command = pulumi(workshop, "3.300.0", 1_000_000);
    await ensureEngine({ env: workshop.env });
    expect(await ensureEngine({ env: workshop.env })).toMatchObject({ version: "3.300.0" });
    expect(calls(workshop)).toBe(1);

    utimesSync(command, new Date(), new Date(2_000_000_000_000));
    await ensureEngine({ env: workshop.env });
    expect(calls(workshop)).toBe(2);
  });

  it("is asked each time when it is a shim, whose version changes while its file doesn't", async () => {
    using workshop = new Workshop();
    pulumi(workshop, "3.300.0");
    await ensureEngine({ env: workshop.env });
    await ensureEngine({ env: workshop.env });
    expect(calls(workshop)).toBe(2);
  });
});
