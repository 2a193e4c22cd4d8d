import { describeExamples, LANGUAGES } from "./languages";

const { nodejs, python, go } = LANGUAGES;

describeExamples([nodejs, python, go]);
