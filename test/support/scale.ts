/** Whether tests that take a scale run in their long form. */
export const isLong = process.env["EMAIL_SECURITY_TEST_SCALE"] === "long";
