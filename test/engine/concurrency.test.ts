import { it } from "vitest";
import { manyAtOnce } from "./concurrency";

it("creates 60 parallel resources with one request each and shared reads", async () => {
  await manyAtOnce(60, { isLeftAlone: true });
});
