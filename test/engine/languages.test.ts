import { describeExamples, LANGUAGES } from "./languages";

// The language whose programs start soonest; languages.slow.test.ts has the others.
describeExamples([LANGUAGES.yaml]);
