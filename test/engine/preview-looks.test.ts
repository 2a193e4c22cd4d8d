import { it } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { exclusiveProject, showsAndRemoves } from "./preview-looks";

it("a preview shows what an exclusive list would remove, and the up after it does just that", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  await using project = await exclusiveProject(sandbox, "dynamic", 30);
  await showsAndRemoves(sandbox, project, 30);
});
