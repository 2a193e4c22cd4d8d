import { readFileSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { requireEngine } from "../../../provider/engine/find-engine";
import { FakeToolchain, hasShell } from "./fake-toolchain";

describe.skipIf(!hasShell)("installed pulumi CLI", () => {
  /**
   * Installs a fake `pulumi` of this version, with its hosts, that counts its calls. It can be padded to the size of a
   * real one.
   */
  function installFakePulumi(toolchain: FakeToolchain, version: string, bytes = 0): string {
    const calls = join(toolchain.directory, "calls");
    for (const host of ["pulumi-language-nodejs", "pulumi-resource-pulumi-nodejs"]) toolchain.addProgram(host, "");
    return toolchain.addProgram("pulumi", `echo call >> '${calls}'; echo v${version}; exit\n${"#".repeat(bytes)}`);
  }

  const countCalls = (toolchain: FakeToolchain) =>
    readFileSync(join(toolchain.directory, "calls"), "utf8").match(/call/g)?.length;

  it("is used when it is new enough", async () => {
    using toolchain = new FakeToolchain();
    const command = installFakePulumi(toolchain, "3.200.0");
    const engine = await requireEngine({ env: toolchain.env });
    expect(engine).toMatchObject({ command, version: "3.200.0", source: "path", directory: toolchain.programs });
  });

  it("is found in PULUMI_HOME or the installer's default directory", async () => {
    using toolchain = new FakeToolchain();
    for (const name of ["pulumi", "pulumi-language-nodejs", "pulumi-resource-pulumi-nodejs"])
      for (const directory of [".pulumi/bin", "elsewhere/bin"])
        toolchain.write(join(directory, name), "#!/bin/sh\necho v3.300.0\n", 0o755);
    for (const [env, directory] of [
      [toolchain.env, ".pulumi/bin"],
      [{ ...toolchain.env, PULUMI_HOME: join(toolchain.directory, "elsewhere") }, "elsewhere/bin"],
    ] as const) {
      expect(await requireEngine({ env })).toMatchObject({
        source: "pulumi-home",
        directory: join(toolchain.directory, directory),
      });
    }
  });

  it("is waited for, with a message, when it responds slowly", async () => {
    using toolchain = new FakeToolchain();
    installFakePulumi(toolchain, "3.300.0");
    toolchain.addProgram("pulumi", "sleep 3; echo v3.300.0");
    const messages: string[] = [];
    await requireEngine({ env: toolchain.env, log: (line) => messages.push(line) });
    expect(messages).toEqual([expect.stringMatching(/^Waiting for the version of .*pulumi \.\.\.$/)]);
  });

  it("is rejected when it is too old", async () => {
    using toolchain = new FakeToolchain();
    const command = installFakePulumi(toolchain, "3.199.0");
    await expect(requireEngine({ env: toolchain.env })).rejects.toThrow(`${command} is 3.199.0, older than 3.200.0`);
  });

  it("is rejected without the plugins for Node.js programs", async () => {
    using toolchain = new FakeToolchain();
    toolchain.addProgram("pulumi", "echo v3.300.0");
    await expect(requireEngine({ env: toolchain.env })).rejects.toThrow(
      "has no pulumi-language-nodejs and no pulumi-resource-pulumi-nodejs next to it or on PATH",
    );
  });

  it("is rejected when it doesn't run", async () => {
    using toolchain = new FakeToolchain();
    installFakePulumi(toolchain, "3.300.0");
    toolchain.addProgram("pulumi", "echo broken >&2; exit 1");
    await expect(requireEngine({ env: toolchain.env })).rejects.toThrow("exit code 1: broken");
  });

  it("is skipped for a suitable one later on PATH", async () => {
    using toolchain = new FakeToolchain();
    installFakePulumi(toolchain, "3.300.0");
    toolchain.write("old/pulumi", "#!/bin/sh\necho v3.100.0\n", 0o755);
    const env = { ...toolchain.env, PATH: `${join(toolchain.directory, "old")}:${toolchain.env["PATH"]}` };
    expect(await requireEngine({ env })).toMatchObject({ version: "3.300.0", directory: toolchain.programs });
  });

  it("is queried for its version only when its file changed", async () => {
    using toolchain = new FakeToolchain();
    const command = installFakePulumi(toolchain, "3.300.0", 1_000_000);
    await requireEngine({ env: toolchain.env });
    expect(await requireEngine({ env: toolchain.env })).toMatchObject({ version: "3.300.0" });
    expect(countCalls(toolchain)).toBe(1);

    utimesSync(command, new Date(), new Date(2_000_000_000_000));
    await requireEngine({ env: toolchain.env });
    expect(countCalls(toolchain)).toBe(2);
  });

  it("is queried for its version every time when it is a shim", async () => {
    using toolchain = new FakeToolchain();
    installFakePulumi(toolchain, "3.300.0");
    await requireEngine({ env: toolchain.env });
    await requireEngine({ env: toolchain.env });
    expect(countCalls(toolchain)).toBe(2);
  });
});
