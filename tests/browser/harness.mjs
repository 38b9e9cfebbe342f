// One browser for all tests, without network, and the pages they open from disk. `cargo xtask browser` says where things are.
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const { chromium } = await import(pathToFileURL(process.env.SPANWISE_PLAYWRIGHT).href);

export const directory = resolve(process.env.SPANWISE_PAGES ?? "pages");
export const screens = {
  desktop: { width: 1280, height: 900 },
  phone: { width: 375, height: 740 },
};

let browser;
export const start = async () => {
  const args = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"];
  browser = await chromium.launch({ executablePath: process.env.SPANWISE_BROWSER, args });
};
export const stop = () => browser.close();

// Opens a page and keeps all it asks for and complains about.
export async function open(name, { screen = "desktop", scheme = "light", hash = "" } = {}) {
  const context = await browser.newContext({ viewport: screens[screen], colorScheme: scheme, acceptDownloads: true });
  // A busy machine is slow, and that is not a failure.
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const [requests, complaints] = [[], []];
  page.on("request", (request) => { if (/^(https?|wss?):/.test(request.url())) requests.push(request.url()); });
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) complaints.push(message.text()); });
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(pathToFileURL(join(directory, name)).href + hash);
  await page.waitForFunction(() => document.documentElement.classList.contains("js"));
  return { page, requests, complaints, close: () => context.close() };
}
