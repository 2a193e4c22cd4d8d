import { it } from "vitest";
import { manyAtOnce } from "./concurrency";

it("60 resources at --parallel 60 take one request each to make, and share every reading; again, none", async () => {
  await manyAtOnce(60, { isLeftAlone: true });
});
