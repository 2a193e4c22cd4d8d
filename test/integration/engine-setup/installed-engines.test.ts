import { readFileSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { requireEngine } from "../../../provider/engine/find-engine";
import { hasShell, Workshop } from "./workshop";

describe.skipIf(!hasShell)("installed pulumi CLI", () => {
  /**
   * Installs a fake `pulumi` of this version, with its hosts, that counts its calls. It can be padded to the size of a
   * real one.
   */
  function pulumi(workshop: Workshop, version: string, bytes = 0): string {
    const calls = join(workshop.directory, "calls");
    for (const host of ["pulumi-language-nodejs", "pulumi-resource-pulumi-nodejs"]) workshop.program(host, "");
    return workshop.program("pulumi", `echo call >> '${calls}'; echo v${version}; exit\n${"#".repeat(bytes)}`);
  }

  const calls = (workshop: Workshop) => readFileSync(join(workshop.directory, "calls"), "utf8").match(/call/g)?.length;

  it("is used when it is new enough", async () => {
    using workshop = new Workshop();
    const command = pulumi(workshop, "3.200.0");
    const engine = await requireEngine({ env: workshop.env });
    expect(engine).toMatchObject({ command, version: "3.200.0", source: "path", directory: workshop.programs });
  });

  it("is found in PULUMI_HOME or the installer's default directory", async () => {
    using workshop = new Workshop();
    for (const name of ["pulumi", "pulumi-language-nodejs", "pulumi-resource-pulumi-nodejs"])
      for (const directory of [".pulumi/bin", "elsewhere/bin"])
        workshop.write(join(directory, name), "#!/bin/sh\necho v3.300.0\n", 0o755);
    for (const [env, directory] of [
      [workshop.env, ".pulumi/bin"],
      [{ ...workshop.env, PULUMI_HOME: join(workshop.directory, "elsewhere") }, "elsewhere/bin"],
    ] as const) {
      expect(await requireEngine({ env })).toMatchObject({
        source: "pulumi-home",
        directory: join(workshop.directory, directory),
      });
    }
  });

  it("is waited for, with a message, when it responds slowly", async () => {
    using workshop = new Workshop();
    pulumi(workshop, "3.300.0");
    workshop.program("pulumi", "sleep 3; echo v3.300.0");
    const messages: string[] = [];
    await requireEngine({ env: workshop.env, log: (line) => messages.push(line) });
    expect(messages).toEqual([expect.stringMatching(/^Waiting for the version of .*pulumi \.\.\.$/)]);
  });

  it("is rejected when it is too old", async () => {
    using workshop = new Workshop();
    const command = pulumi(workshop, "3.199.0");
    await expect(requireEngine({ env: workshop.env })).rejects.toThrow(`${command} is 3.199.0, older than 3.200.0`);
  });

  it("is rejected without the plugins for Node.js programs", async () => {
    using workshop = new Workshop();
    workshop.program("pulumi", "echo v3.300.0");
    await expect(requireEngine({ env: workshop.env })).rejects.toThrow(
      "has no pulumi-language-nodejs and no pulumi-resource-pulumi-nodejs next to it or on PATH",
    );
  });

  it("is rejected when it doesn't run", async () => {
    using workshop = new Workshop();
    pulumi(workshop, "3.300.0");
    workshop.program("pulumi", "echo broken >&2; exit 1");
    await expect(requireEngine({ env: workshop.env })).rejects.toThrow("exit code 1: broken");
  });

  it("is skipped for a suitable one later on PATH", async () => {
    using workshop = new Workshop();
    pulumi(workshop, "3.300.0");
    workshop.write("old/pulumi", "#!/bin/sh\necho v3.100.0\n", 0o755);
    const env = { ...workshop.env, PATH: `${join(workshop.directory, "old")}:${workshop.env["PATH"]}` };
    expect(await requireEngine({ env })).toMatchObject({ version: "3.300.0", directory: workshop.programs });
  });

  it("is queried for its version only when its file changed", async () => {
    using workshop = new Workshop();
    const command = pulumi(workshop, "3.300.0", 1_000_000);
    await requireEngine({ env: workshop.env });
    expect(await requireEngine({ env: workshop.env })).toMatchObject({ version: "3.300.0" });
    expect(calls(workshop)).toBe(1);

    utimesSync(command, new Date(), new Date(2_000_000_000_000));
    await requireEngine({ env: workshop.env });
    expect(calls(workshop)).toBe(2);
  });

  it("is queried for its version every time when it is a shim", async () => {
    using workshop = new Workshop();
    pulumi(workshop, "3.300.0");
    await requireEngine({ env: workshop.env });
    await requireEngine({ env: workshop.env });
    expect(calls(workshop)).toBe(2);
  });
});
