import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ShellSession } from "../../docs/shell-session";
import { runEnvironment } from "../../support/run-environment";
import { createTestDirectory } from "../../support/test-directory";

const onLinux = describe.skipIf(process.platform !== "linux");

interface OpenSession extends AsyncDisposable {
  readonly session: ShellSession;
  /** Runs a block that must succeed, and returns its output. */
  readonly type: (text: string) => Promise<string>;
}

async function openSession(): Promise<OpenSession> {
  const top = createTestDirectory();
  const scratch = join(top.path, "scratch");
  await mkdir(scratch);
  const session = await ShellSession.start(top.path, scratch, { ...runEnvironment() });
  return {
    session,
    async type(text) {
      const { code, output } = await session.run(text, { mayFail: false, withinMs: 10_000 });
      expect(code).toBe(0);
      return output;
    },
    async [Symbol.asyncDispose]() {
      await session[Symbol.asyncDispose]();
      top[Symbol.dispose]();
    },
  };
}

onLinux("a shell session", () => {
  it("keeps its state between blocks", async () => {
    await using shell = await openSession();
    await shell.type("A=1; export B=2; mkdir below; cd below");
    expect(await shell.type('echo "$A"; printenv B; basename "$PWD"')).toBe("1\n2\nbelow\n");
  });

  it("returns all output as plain text", async () => {
    await using shell = await openSession();
    const block = "echo a; echo b >&2; printf '\\033[31mc\\033[0m\\n'; cat";
    expect(await shell.type(block)).toBe("a\nb\nc\n");
  });

  it("stops a block at its first failing command", async () => {
    await using shell = await openSession();
    const ran = await shell.session.run("echo a\n(exit 7)\necho b", { mayFail: false, withinMs: 10_000 });
    expect(ran).toEqual({ code: 7, output: "a\n" });
  });

  it("continues after a block that may fail", async () => {
    await using shell = await openSession();
    const ran = await shell.session.run("false\necho b", { mayFail: true, withinMs: 10_000 });
    expect(ran).toEqual({ code: 1, output: "" });
    expect(await shell.type("echo c")).toBe("c\n");
  });

  it("stops waiting for a block after its timeout", async () => {
    await using shell = await openSession();
    const ran = await shell.session.run("echo a; sleep 60", { mayFail: false, withinMs: 300 });
    expect(ran).toEqual({ code: undefined, output: "a\n" });
  });

  it("kills every background process when it is disposed", async () => {
    const shell = await openSession();
    // Includes this process's id, so that no other process on this machine has the same command line.
    const sleeper = `sleep 61.${process.pid}`;
    const { code, output } = await shell.session.start(
      `echo http://127.0.0.1:1; env -i ${sleeper} & setsid ${sleeper}; wait`,
    );
    expect([code, output]).toEqual([0, "http://127.0.0.1:1\n"]);
    const own = await openSession();
    const countSleepers = async (): Promise<string> => await own.type(`pgrep --full '^${sleeper}$' | wc -l`);
    await expect.poll(countSleepers).toBe("2\n");
    await shell[Symbol.asyncDispose]();
    expect(await countSleepers()).toBe("0\n");
    await own[Symbol.asyncDispose]();
  });
});
