import { getNodeVersionProblem } from "./node-requirement";

/*
 * The library modules import this first. On an older Node.js, later imports fail with misleading errors.
 */

const nodeProblem = getNodeVersionProblem();
if (nodeProblem !== undefined) throw new Error(nodeProblem);
