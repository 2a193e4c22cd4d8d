import { describePages } from "../docs/pages";

/* Runs each page's own blocks from the first line to the last: test/docs/run-page.ts. */
describePages("docs/how-to");
