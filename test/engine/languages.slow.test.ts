import { describeExamples, LANGUAGES } from "./languages";

const { nodejs, python, go, java } = LANGUAGES;

describeExamples([nodejs, python, go, java]);
