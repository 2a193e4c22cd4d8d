import { describeExamples, LANGUAGES } from "./languages";

describeExamples(Object.values(LANGUAGES));
