import { it } from "vitest";
import { manyAtOnce } from "./concurrency";

it("60 resources at --parallel 60 take one request each to make, and share every reading", async () => {
  await manyAtOnce(60, { isTakenAway: false });
});
