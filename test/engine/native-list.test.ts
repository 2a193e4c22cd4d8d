import { it } from "vitest";
import { byItsEntries } from "./native-list";

it("previews, applies and repairs a list of 300 by entry", async () => {
  await byItsEntries(300);
});
