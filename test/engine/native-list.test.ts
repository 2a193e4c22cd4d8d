import { it } from "vitest";
import { byItsEntries } from "./native-list";

it("shows, applies and repairs a list of 300 by its entries", async () => {
  await byItsEntries(300);
});
