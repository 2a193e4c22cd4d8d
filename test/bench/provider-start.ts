import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import type { Peer } from "#bench/measurement";

const host = createRequire(import.meta.url).resolve("@pulumi/pulumi/cmd/dynamic-provider/index.js");

/** The time from the start of Pulumi's dynamic provider host until it listens. It loads our code later. */
export const dynamicStart: Peer = startOf("dynamic-start", "until the dynamic host listens", [process.execPath, host]);

/** The same for the native plugin. */
export const nativeStart: Peer = startOf("native-start", "until the native plugin listens", [
  process.execPath,
  "provider/dist/plugin/pulumi-resource-email-security",
]);

/** The time from a program's start until it has loaded the resource classes. Most of it is Pulumi's own. */
export const programStart: Peer = startOf("program-start", "until a program has what it declares a list with", [
  process.execPath,
  "--eval",
  'const { AllowDenyList } = require("pulumi-email-security"); console.log(AllowDenyList.name)',
]);

function startOf(name: string, title: string, [command = "", ...args]: readonly string[]): Peer {
  return {
    name,
    title,
    isSlow: false,
    async measure({ record }) {
      const startedAt = performance.now();
      const child = spawn(command, [...args, "127.0.0.1:1"], { stdio: ["pipe", "pipe", "inherit"] });
      try {
        await once(child.stdout, "data");
        record({ operation: "start", count: 1, seconds: (performance.now() - startedAt) / 1_000 });
      } finally {
        child.kill("SIGKILL");
      }
    },
  };
}
