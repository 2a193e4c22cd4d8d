import { expect, it } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { assertRemovalGuardBlocks, assertShowsAndReverts, createExclusiveProject } from "./preview-refresh";

// lists.slow.test.ts covers the dynamic provider.
it("previews natively what an exclusive list of 5,000 would remove", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  await using project = await createExclusiveProject(sandbox, "native", 5_000);
  await assertShowsAndReverts(sandbox, project, 5_000);
});

it("rejects excessive removals in the preview", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  await using project = await createExclusiveProject(sandbox, "dynamic", 30);
  await assertRemovalGuardBlocks(sandbox, project, 30);
  const wrong = await project.runWith({ EMAIL_SECURITY_API_KEY: "nobody's" }, "preview");
  expect(wrong.code).not.toBe(0);
  expect(wrong.output).toContain("[ERR_AUTH]");
});

it("previews exactly what an exclusive list removes", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  await using project = await createExclusiveProject(sandbox, "dynamic", 30);
  await assertShowsAndReverts(sandbox, project, 30);
});
