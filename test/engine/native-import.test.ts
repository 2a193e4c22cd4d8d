import { it } from "vitest";
import { EACH, imports, missing, skipped } from "./native-import";

it.skipIf(missing)(
  `imports 250 entries in ⌈N/200⌉ requests and prints a program without changes${skipped}`,
  async () => {
    await imports(250, [EACH]);
  },
);
