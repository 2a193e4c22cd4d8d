import { describeKills } from "./killed";

/** Nobody can know whether what was asked for has been done; killed.slow.test.ts has more. */
describeKills("dynamic", [{ run: "create", victim: "provider", moment: "before the answer to", at: 4 }]);
