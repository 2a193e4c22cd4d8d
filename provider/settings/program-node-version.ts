import { nodeTooOld } from "./node-requirement";

/*
 * Imported first by each program, the command and the plugin: a person is told in one line what is missing, before
 * anything is loaded that an older Node.js can't.
 */

const nodeProblem = nodeTooOld();
if (nodeProblem !== undefined) {
  console.error(`error: ${nodeProblem}`);
  process.exit(1);
}
