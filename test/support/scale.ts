/** Whether the long form of the tests is asked for: `EMAIL_SECURITY_TEST_SCALE=long`. */
export const isLong = process.env["EMAIL_SECURITY_TEST_SCALE"] === "long";
