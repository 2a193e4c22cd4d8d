import fc from "fast-check";
import { SEED } from "./matrix-sampling";

/*
 * Properties draw the same cases in every run of a commit, so that a new failure must come from a change.
 * `EMAIL_SECURITY_TEST_SEED` draws others.
 */
fc.configureGlobal({ seed: SEED });
