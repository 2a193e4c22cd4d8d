import { delimiter, dirname } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { readRevisionFiles } from "../../../provider/rollout/planning/revision-files";
import { hasShell } from "../engine-setup/fake-toolchain";

import { KEY, KEYS, Machine } from "./machine";

/* Other users of the machine, and programs started on it, see only the tenant data that they need. */

describe.skipIf(!hasShell)("environment of child processes", () => {
  it.each<[string, readonly string[], readonly string[], readonly string[]]>([
    ["doctor", ["doctor", "--format", "json"], ["pulumi version", "pulumi whoami --non-interactive"], []],
    [
      "plan --stack",
      ["plan", "settings/t0.yaml", "--stack", "dev", "--no-evidence"],
      ["pulumi version", "pulumi --non-interactive stack"],
      // A single tenant's program runs with the user's whole environment; only the tenant's own key is known to be a
      // key.
      ["GLOBEX_KEY", "INITECH_TOKEN", "T0_API_KEY"],
    ],
    [
      "rollout",
      ["rollout", "tenants.yaml"],
      ["pulumi version", "pulumi --non-interactive stack"],
      ["GLOBEX_KEY", "INITECH_TOKEN"],
    ],
  ])("contains no unneeded key when started by %s", async (_name, args, started, unknown) => {
    using machine = new Machine();
    const run = await machine.run(args);
    expect([...machine.seen.keys()].sort(), run.output).toEqual([...started].sort());
    for (const [program, environment] of machine.seen) {
      const variableNames = environment
        .split("\n")
        .map((line) => line.split("=")[0] ?? "")
        .filter((name) => name in KEYS || /^EMAIL_SECURITY_(?!NESTED)/.test(name));
      const allowed = program === "pulumi version" ? [] : unknown;
      expect([program, variableNames.filter((name) => !allowed.includes(name))]).toEqual([program, []]);
    }
  });

  it("contains no key for git", async () => {
    using machine = new Machine();
    machine.write("work/.git/HEAD", "");
    vi.stubEnv("PATH", [machine.programs, dirname(process.execPath), "/usr/bin", "/bin"].join(delimiter));
    for (const [name, value] of Object.entries(KEYS)) vi.stubEnv(name, value);
    vi.stubEnv("EMAIL_SECURITY_API_KEY", KEY);
    const before = process.cwd();
    try {
      process.chdir(machine.work);
      await expect(readRevisionFiles("HEAD")).rejects.toThrow("can't be read");
    } finally {
      process.chdir(before);
      vi.unstubAllEnvs();
    }
    const [[program, environment] = ["", ""]] = machine.seen;
    expect(program).toMatch(/^git -C/);
    expect(environment).toContain("GIT_INDEX_FILE=");
    expect(environment).not.toMatch(/_KEY=|_TOKEN=|canary/);
  });
});
