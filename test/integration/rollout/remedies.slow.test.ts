import { QUICKLY_TRIED, tryRemedies } from "./remedies";

tryRemedies((state) => state !== QUICKLY_TRIED);
