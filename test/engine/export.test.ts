import { it } from "vitest";
import { testExport } from "./export";

it("exports 300 console entries so that the first up writes nothing", async () => {
  await testExport(300);
});
