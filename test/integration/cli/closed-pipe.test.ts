import { execFile, spawnSync } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { createCli } from "../../support/cli";
import { COMMAND } from "../../support/command-process";
import { createTestDirectory } from "../../support/test-directory";

const run = promisify(execFile);

it.skipIf(spawnSync("bash", ["--version"]).status !== 0)(
  "exits with the same code when its output pipe closes early",
  async () => {
    using directory = createTestDirectory();
    const environment = { PATH: process.env["PATH"], HOME: directory.path };
    const read = await createCli(directory.path, environment)("explain", "ERR_AUTH");
    expect(read.stdout.split("\n").length).toBeGreaterThan(3);

    const { code, stderr } = await run(
      "bash",
      ["-c", '"$0" "$@" | true; exit $PIPESTATUS', process.execPath, COMMAND, "explain", "ERR_AUTH"],
      {
        cwd: directory.path,
        env: environment,
      },
    ).then(
      ({ stderr }) => ({ code: 0, stderr }),
      (error: { code: number; stderr: string }) => error,
    );
    expect({ code, stderr }).toEqual({ code: read.code, stderr: read.stderr });
  },
);
