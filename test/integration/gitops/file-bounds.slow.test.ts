import { describe, it } from "vitest";
import { isRefused, MUCH } from "./parser-bombs";

describe("a small file that is expensive to parse", () => {
  it.for(MUCH.slice(1))("and %s is refused within the memory of a small machine", isRefused);
});
