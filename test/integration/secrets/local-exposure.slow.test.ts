import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { COMMAND } from "../../support/command-process";
import { findTerminalCommands, HOSTILE } from "../../support/hostile-text";
import { hasShell } from "../engine-setup/fake-toolchain";

import { Machine, setConsoleRows } from "./machine";

/* Other users of the machine, and programs started on it, see only the tenant data that they need. */

describe("file written by a command", () => {
  const REPORTS: readonly (readonly [subcommand: string, args: readonly string[], files: readonly string[]])[] = [
    [
      "plan",
      ["plan", "settings/t0.yaml", "--no-evidence", "--output", "a.md", "--output", "a.html", "--output", "a.json"],
      ["a.md", "a.html", "a.json"],
    ],
    ["drift", ["drift", "settings/t0.yaml", "--output", "a.md", "--output", "a.json"], ["a.md", "a.json"]],
    ["lint", ["lint", "settings/t0.yaml", "--output", "a.sarif"], ["a.sarif"]],
    ["csv export", ["csv", "export", "settings/t0.yaml", "--output", "a.csv"], ["a.csv"]],
    ["suggest", ["suggest", "settings/t0.yaml", "--patch", "a.patch"], ["a.patch"]],
    ["export", ["export", "--to", "out"], ["out/settings.yaml"]],
    ["export --pulumi-import", ["export", "--pulumi-import", "a.json"], ["a.json"]],
    [
      "rollout",
      ["rollout", "tenants.yaml", "--output", "a.md", "--output", "a.html", "--output", "a.json"],
      ["a.md", "a.html", "a.json", ".email-security/rollouts.db"],
    ],
  ];

  it.runIf(hasShell).each(REPORTS)("is created by %s for this user only", async (_subcommand, args, files) => {
    using machine = new Machine();
    const readMode = (file: string): string => (statSync(join(machine.work, file)).mode & 0o777).toString(8);
    const run = await machine.run(args);
    for (const file of files) expect([file, readMode(file)], run.output).toEqual([file, "600"]);
    const [first = ""] = files;
    if (!first.startsWith("a.") || args.includes("--pulumi-import")) return;
    machine.write(`work/${first}`, "");
    chmodSync(join(machine.work, first), 0o644);
    await machine.run(args);
    expect(readMode(first)).toBe("644");
  });
});

describe.skipIf(!hasShell)("killed run", () => {
  it("leaves a plan only until the next run", async () => {
    using machine = new Machine();
    const temporary = join(machine.directory, "tmp");
    mkdirSync(temporary);
    const args = ["apply", "settings/t0.yaml", "--stack", "dev", "--no-evidence", "--yes"];
    machine.write("hang", "");
    const child = spawn(process.execPath, [COMMAND, ...args], {
      cwd: machine.work,
      env: { ...machine.environment, TMPDIR: temporary },
      stdio: "ignore",
    });
    const hanging = join(machine.directory, "hanging");
    const pid = await vi.waitUntil(() => existsSync(hanging) && Number(readFileSync(hanging, "utf8")), 60_000);
    child.kill("SIGKILL");
    await once(child, "close");
    process.kill(pid, "SIGKILL");
    const [remainder = "", ...more] = readdirSync(temporary);
    expect(more).toEqual([]);
    expect(readFileSync(join(temporary, remainder, "plan.json"), "utf8")).toContain("declared.example");
    rmSync(join(machine.directory, "hang"));
    const { code, output } = await machine.run(args, { TMPDIR: temporary });
    expect([code, output]).toEqual([0, output]);
    expect(readdirSync(temporary)).toEqual([]);
  });
});

describe("text from the console", () => {
  it("is escaped by `drift --adopt`, one line each", async () => {
    using machine = new Machine();
    const clicked = Object.values(HOSTILE).map((text, index) => ({
      id: `ade_${index}`,
      list: "deny",
      entry_type: "domain",
      value: `${text}\nWrote settings/t0.yaml.\n`.toWellFormed(),
      comment: text.toWellFormed(),
      created_at: "2026-01-01T00:00:00Z",
      updated_at: "2026-01-01T00:00:00Z",
      created_by: text.toWellFormed(),
      verdict_scope: "global",
    }));
    setConsoleRows(clicked);
    const { output, stderr } = await machine.run(["drift", "settings/t0.yaml", "--adopt", "added"]);
    expect(stderr.match(/^Not adopted: /gm)?.length, output).toBe(clicked.length);
    expect(stderr).not.toMatch(/^wrote /im);
    expect(findTerminalCommands(output)).toEqual([]);
  });
});

describe("password in --database", () => {
  it.each([["rollout", "tenants.yaml"], ["rollout", "history"], ["worker"]])(
    "causes one warning of %s that doesn't print it",
    async (...command) => {
      using machine = new Machine();
      const place = "postgres://me:s3cr3t-w0rd@127.0.0.1:1/rollouts";
      const run = await machine.run([...command, "--database", place]);
      expect(run.code).toBe(1);
      expect(run.output.match(/^warning: /gm)?.length).toBe(1);
      expect(run.output).toMatch(/EMAIL_SECURITY_DATABASE.*PGPASSWORD.*~\/\.pgpass/);
      expect(run.output).not.toContain("s3cr3t");
      const named = await machine.run([...command, "--database", place.replace(":s3cr3t-w0rd", "")]);
      const set = await machine.run(command, { EMAIL_SECURITY_DATABASE: place });
      for (const { output } of [named, set]) expect(output).not.toMatch(/warning: |s3cr3t/);
    },
  );
});
