import { it } from "vitest";
import { comesIn } from "./export";

it("exports 300 console entries so that the first up writes nothing", async () => {
  await comesIn(300);
});
