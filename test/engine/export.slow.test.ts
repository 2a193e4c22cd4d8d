import { it } from "vitest";
import { comesIn } from "./export";

it("takes a tenant with 5,000 clicked entries in by two commands: the first up writes nothing, and the plan is empty", async () => {
  await comesIn(5_000);
});
