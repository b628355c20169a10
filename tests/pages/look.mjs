// Looks at pages as a person does, in a real Chromium: at three widths, light and dark, with axe; and prints what it found as one
// JSON object. Told by one argument: {modules, browser, pages, live, shots}.
import { createRequire } from "node:module";
import { readFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const asked = JSON.parse(process.argv[2]);
const require = createRequire(join(asked.modules, "look.cjs"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const widths = [360, 768, 1280];
const found = { findings: [], looked: 0, live: null };
const note = (where, what) => found.findings.push(`${where}: ${what}`);

const profile = mkdtempSync(join(tmpdir(), "pages-"));
const browser = await chromium.launch({
  executablePath: asked.browser,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});

// Whatever a page asks of another place, and whatever its own policy forbids, is a finding.
const watched = async (options, where) => {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const own = new URL(asked.pages[0].url).origin;
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(own) && !url.startsWith("data:")) note(where, `asks another place: ${url}`);
  });
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") note(where, `console: ${message.text()}`);
  });
  page.on("pageerror", (error) => note(where, `script: ${error.message}`));
  page.on("dialog", (dialog) => { note(where, `dialog: ${dialog.message()}`); dialog.dismiss(); });
  return { context, page };
};

// axe is put in as a debugger does it, so that the page's policy stays as it is.
const axeOf = async (page) => {
  const session = await page.context().newCDPSession(page);
  const run = async (expression) => {
    const done = await session.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (done.exceptionDetails) throw new Error(JSON.stringify(done.exceptionDetails).slice(0, 300));
    return done.result.value;
  };
  await run(`${axe};0`);
  const text = await run(`axe.run(document).then((all) => JSON.stringify(all.violations.map((one) =>
    one.id + " (" + one.nodes.map((node) => node.target.join(" ")).slice(0, 3).join(", ") + ")")))`);
  return JSON.parse(text);
};

// A run that goes on: the page follows it without being loaded again, keeps the focus, and says little.
if (asked.live) {
  const { context, page } = await watched({ viewport: { width: 1280, height: 900 } }, "live");
  await page.goto(asked.live, { waitUntil: "load" });
  await page.evaluate(() => { window.sameDocument = true; });
  await page.keyboard.press("Tab");
  const first = await page.evaluate(() => document.activeElement.textContent);
  // The place of a row that stays, whatever becomes of the others.
  await page.waitForSelector('#states a[href*="state=paid"]', { timeout: 90000 });
  await page.evaluate(() => document.querySelector('#states a[href*="state=paid"]').focus());
  const target = await page.evaluate(() => document.activeElement.getAttribute("href"));
  await page.waitForFunction(() => /^Finished/.test(document.querySelector("[data-part=head] b").textContent), null, { timeout: 90000 });
  found.live = {
    first,
    headline: await page.textContent("[data-part=head] b"),
    title: await page.title(),
    same: await page.evaluate(() => window.sameDocument === true),
    said: await page.textContent("#said"),
    finished: await page.evaluate(() => document.querySelector("progress").value),
    focus: await page.evaluate(() => document.activeElement.getAttribute("href") ?? document.activeElement.tagName),
    target,
  };
  await context.close();
  // Without scripts it is all there, too.
  const bare = await watched({ javaScriptEnabled: false }, "without scripts");
  await bare.page.goto(asked.live, { waitUntil: "load" });
  found.bare = await bare.page.textContent("[data-part=head] b");
  await bare.context.close();
}

for (const { name, url } of asked.pages) {
  for (const width of widths) {
    for (const colorScheme of ["light", "dark"]) {
      const where = `${name} at ${width} px, ${colorScheme}`;
      const { context, page } = await watched({ colorScheme, viewport: { width, height: 900 } }, where);
      await page.goto(url, { waitUntil: "load" });
      const wide = await page.evaluate(() => document.scrollingElement.scrollWidth - window.innerWidth);
      if (wide > 0) note(where, `is ${wide} px wider than the screen`);
      for (const violation of await axeOf(page)) note(where, `axe: ${violation}`);
      if (asked.shots) await page.screenshot({ path: join(asked.shots, `${name}-${width}-${colorScheme}.png`), fullPage: true });
      found.looked += 1;
      await context.close();
    }
  }
}

await browser.close();
rmSync(profile, { recursive: true, force: true });
console.log(JSON.stringify(found));
