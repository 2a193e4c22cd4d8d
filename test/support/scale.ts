/** Whether the long form of the matrices runs: `EMAIL_SECURITY_TEST_SCALE=long npm test`. By default, a sample does. */
export const isLong = process.env["EMAIL_SECURITY_TEST_SCALE"] === "long";
