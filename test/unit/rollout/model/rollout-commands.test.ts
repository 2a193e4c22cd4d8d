import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { RolloutCommands } from "../../../../provider/rollout/model/rollout-commands";

/** Returns the arguments that a shell parses from a command. */
function splitCommand(command: string): string[] {
  const program = command.replace(/^email-security /, "printf '%s\\n' ");
  return execFileSync("sh", ["-c", program], { encoding: "utf8" }).split("\n").slice(0, -1);
}

it("quotes arguments so that the shell reads them unchanged", () => {
  const plain = new RolloutCommands();
  expect(plain.resume("20261121-0800-abcdef")).toBe("email-security rollout resume 20261121-0800-abcdef");
  for (const file of ["my tenants.yaml", "it's $HOME;`id`.yaml", "a/b*.yaml"]) {
    expect(splitCommand(plain.plan(file, ["t0", "a.b"]))).toEqual(["rollout", file, "--only", "t0", "a.b"]);
  }
  expect(splitCommand(plain.plan("-x.yaml"))).toEqual(["rollout", "./-x.yaml"]);
  expect(splitCommand(plain.rollback("r", "HEAD~1"))).toEqual(["rollout", "rollback", "r", "--to", "HEAD~1"]);
});

it("repeats the journal without its password", () => {
  const file = new RolloutCommands("my journal.db");
  expect(splitCommand(file.abandon("r"))).toEqual(["rollout", "abandon", "r", "--database", "my journal.db"]);
  const open = "postgres://operator@db.example:5432/rollouts";
  expect(splitCommand(new RolloutCommands(open).status("r"))).toEqual(["rollout", "status", "r", "--database", open]);
  for (const url of [
    "postgres://operator:s3cret@db.example/rollouts",
    "postgres://db.example/rollouts?user=operator&password=s3cret",
  ]) {
    const command = new RolloutCommands(url).resume("r");
    expect(command).not.toContain("s3cret");
    expect(command).toContain("PASSWORD");
  }
});
