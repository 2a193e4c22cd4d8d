import { it } from "vitest";
import { comesIn } from "./export";

it("exports 5,000 console entries so that the first up writes nothing", async () => {
  await comesIn(5_000);
});
