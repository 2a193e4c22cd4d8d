import { expect, it } from "vitest";
import { cliFor } from "../../../provider/engine/installer-way";

it.each([
  ["3.270.0", "3.270.0"],
  ["3.200.0", "3.200.0"],
  ["3.150.0", "3.200.0"],
])("beside the SDK %s the CLI %s is installed", (sdk, cli) => {
  expect(cliFor(sdk)).toBe(cli);
});
