import { nodeTooOld } from "./node-requirement";

/*
 * Imported first by each program, the command and the plugin: a person is told in one line what is missing, before
 * anything is loaded that an older Node.js can't.
 */

const refusal = nodeTooOld();
if (refusal !== undefined) {
  console.error(`error: ${refusal}`);
  process.exit(1);
}
