import { getNodeVersionProblem } from "./node-requirement";

/*
 * The command and the plugin import this first. It prints a one-line error before they load code that an older Node.js can't run.
 */

const nodeProblem = getNodeVersionProblem();
if (nodeProblem !== undefined) {
  console.error(`error: ${nodeProblem}`);
  process.exit(1);
}
