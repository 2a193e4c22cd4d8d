import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { writeDynamicProviderLauncher } from "#scripts/dynamic-provider-launcher";
import { runCommand } from "../../../provider/engine/run-command";
import { hasShell, Workshop } from "./workshop";

describe.skipIf(!hasShell)("the launcher of dynamic providers", () => {
  function launcher(workshop: Workshop): string {
    mkdirSync(workshop.programs);
    writeDynamicProviderLauncher(workshop.programs);
    return join(workshop.programs, "pulumi-resource-pulumi-nodejs");
  }

  it("runs the provider of the program's folder, with the engine's arguments as a script has them", async () => {
    using workshop = new Workshop();
    const entry = "program/node_modules/@pulumi/pulumi/cmd/dynamic-provider/index.js";
    const path = workshop.write(
      entry,
      "console.log(JSON.stringify([process.ppid, ...process.argv.slice(1)]));",
    );
    const args = ["--logtostderr", "-v=9", "127.0.0.1:4711", "a b"];
    const { stdout } = await runCommand(launcher(workshop), args, {
      cwd: join(workshop.folder, "program"),
      env: workshop.env,
    });
    // It is a child of this process itself: no other is between.
    expect(JSON.parse(stdout)).toEqual([process.pid, path, ...args]);
  });

  it("starts the real one, which answers with its port", async () => {
    using workshop = new Workshop();
    const child = spawn(launcher(workshop), ["127.0.0.1:1"], { cwd: resolve("."), env: workshop.env });
    const [port] = await once(child.stdout, "data");
    child.kill();
    expect(Number(port)).toBeGreaterThan(0);
  });

  it("is a command file on Windows", () => {
    using workshop = new Workshop();
    writeDynamicProviderLauncher(workshop.folder, "win32");
    const text = readFileSync(join(workshop.folder, "pulumi-resource-pulumi-nodejs.cmd"), "utf8");
    expect(text).toMatch(/^@node -e "[^"%]+" -- %\*\r\n$/);
  });
});
