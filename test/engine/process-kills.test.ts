import { describeKills } from "./process-kills";

/**
 * A kill before the response, when it is unknown whether the request took effect. process-kills.slow.test.ts has more cases.
 */
describeKills("dynamic", [{ run: "create", victim: "provider", moment: "before the answer to", requestIndex: 4 }]);
