import { describeExamples, LANGUAGES } from "./languages";

// The language whose programs start fastest. languages.slow.test.ts covers the others.
describeExamples([LANGUAGES.yaml]);
