import { it } from "vitest";
import { showsAndRemoves } from "./preview-looks";

it("a preview shows what an exclusive list would remove, and the up after it does just that, or is refused", async () => {
  await showsAndRemoves("dynamic", 30);
});
