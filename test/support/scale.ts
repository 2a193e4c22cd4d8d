/** Whether the tests run in their long form (`EMAIL_SECURITY_TEST_SCALE=long`), which takes hours, not minutes. */
export const isLong = process.env["EMAIL_SECURITY_TEST_SCALE"] === "long";
