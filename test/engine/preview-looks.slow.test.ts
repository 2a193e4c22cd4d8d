import { expect, it } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { click } from "../support/console";
import { bad, entriesIn } from "./native-list";
import { exclusiveProject, refusesTooMuch, showsAndRemoves } from "./preview-looks";

it("a preview shows natively what an exclusive list would remove, and the up after it does just that", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  await using project = await exclusiveProject(sandbox, "native", 30);
  await showsAndRemoves(sandbox, project, 30);
  await refusesTooMuch(sandbox, project, 30);
});

it("what an exclusive list would remove beyond its guard is refused in the preview and in the up", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  await using project = await exclusiveProject(sandbox, "dynamic", 30);
  await refusesTooMuch(sandbox, project, 30);
});

it.each(["dynamic", "native"] as const)(
  "a preview of a list of 5,000 with two edits of the console is short, and a wrong key shows in it (%s)",
  async (front) => {
    await using sandbox = await startSandbox({ scenario: "empty" });
    await using project = await exclusiveProject(sandbox, front, 5_000);
    const idOf = (wanted: string) =>
      sandbox.allowDenyEntries("acme").find(({ value }) => value === wanted)?.id;
    await click(sandbox, "DELETE", `/allow_deny_entries/${idOf(bad(60))}`);
    await click(sandbox, "PATCH", `/allow_deny_entries/${idOf(bad(70))}`, { comment: "let it in" });
    const preview = await project.succeed("preview", "--diff", "--suppress-outputs");
    expect(entriesIn(preview)).toEqual([
      `+ ${bad(60)}: "deny: INC-1"`,
      `~ ${bad(70)}: "deny: let it in" => "deny: INC-1"`,
    ]);
    expect(preview.trim().split("\n").length).toBeLessThan(40);

    const wrong = await project.runWith({ EMAIL_SECURITY_API_KEY: "nobody's" }, "preview");
    expect(wrong.code).not.toBe(0);
    expect(wrong.output).toContain("[ERR_AUTH]");
  },
);
