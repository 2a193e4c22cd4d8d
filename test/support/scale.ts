/** Whether the long form of the tests runs: all that `npm test` only takes samples of. */
export const isLong = process.env["EMAIL_SECURITY_TEST_SCALE"] === "long";
