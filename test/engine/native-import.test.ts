import { it } from "vitest";
import { EACH, imports, missing, skipped } from "./native-import";

it.skipIf(missing)(
  `imports a tenant of 250 entries in ⌈N/200⌉ requests, and its program as it is printed changes nothing${skipped}`,
  async () => {
    await imports(250, [EACH]);
  },
);
