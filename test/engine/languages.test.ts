import { describeExamples, LANGUAGES } from "./languages";

// The language that needs no other toolchain. languages.slow.test.ts has all languages.
describeExamples([LANGUAGES.nodejs], "first run");
