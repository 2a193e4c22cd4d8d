import { describePages } from "../docs/pages";

/* Each page's own blocks, from its first line to its last: test/docs/run-page.ts. */
describePages("docs/how-to");
