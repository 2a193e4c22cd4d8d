/// <reference types="vitepress/client" />
// System fonts: a page fetches nothing that is not on it.
import theme from "vitepress/theme-without-fonts";
import "./style.css";

export default theme;
