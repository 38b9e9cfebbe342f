// The page as its readers meet it: opened from disk, in both themes, on a phone and on a desk, by mouse and by keyboard.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { directory, open, screens, start, stop } from "./harness.mjs";

const axe = readFileSync(process.env.SPANWISE_AXE, "utf8");
const names = readdirSync(directory).filter((name) => name.endsWith(".html"));

before(start);
after(stop);

// Runs in the page: what does not fit, is not drawn, is cut off, or lies over its neighbour.
function misdrawn() {
  const shown = (element) => element.getClientRects().length > 0;
  const wrong = [];
  const wide = document.documentElement.scrollWidth - innerWidth;
  if (wide > 0) wrong.push(`the page is ${wide} pixels wider than the screen`);
  for (const figure of document.querySelectorAll("figure")) {
    const drawn = [...figure.querySelectorAll("svg, canvas")].filter(shown);
    const colours = (canvas) => {
      // A copy is read: Chromium complains about canvases that are read often.
      const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
      copy.drawImage(canvas, 0, 0);
      return new Set(copy.getImageData(0, 0, canvas.width, canvas.height).data).size;
    };
    const full = (one) => (one.tagName === "CANVAS"
      ? colours(one) > 4
      : one.querySelectorAll("path, circle, rect, image, text").length > 5);
    if (drawn.length !== 1 || !drawn.every(full) || drawn[0].getBoundingClientRect().height < 60) wrong.push(figure.id + " is not drawn");
  }
  for (const svg of [...document.querySelectorAll("figure svg")].filter(shown)) {
    const [id, box] = [svg.closest("figure").id, svg.getBoundingClientRect()];
    const texts = [...svg.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()]);
    const outside = ([, own]) => own.left < box.left - 3 || own.right > box.right + 3 || own.top < box.top - 3 || own.bottom > box.bottom + 3;
    wrong.push(...texts.filter(outside).map(([text]) => `${id}: ${text} is cut off`));
    // Letters on letters are read by nobody. Boxes are a little higher than letters.
    const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 3 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 5;
    texts.forEach(([one, a], i) => wrong.push(...texts.slice(i + 1).filter(([, b]) => over(a, b)).map(([other]) => `${id}: ${one} / ${other}`)));
  }
  return wrong;
}

// Runs in the page, beside axe.
async function inaccessible() {
  const runOnly = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  const { violations, passes } = await axe.run(document, { runOnly, resultTypes: ["violations"] });
  const said = violations.map((v) => v.id + ": " + v.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | "));
  return passes.length > 20 ? said : [...said, `axe looked at ${passes.length} things only`];
}

// Pages wait for the browser more than for a processor.
describe("the page", { concurrency: 3 }, () => {
  test("there are pages made by hand and explained from data", () => {
    for (const name of ["table.html", "attention.html", "layers.html", "crowded-table.html", "longley.html"]) assert.ok(names.includes(name), name);
  });

  for (const name of names) {
    describe(name, () => {
      test("opens in silence, fits every screen, draws every figure and passes axe", async () => {
        const { page, requests, complaints, close } = await open(name);
        // In the page's own world: its policy forbids new scripts, and that is right.
        await page.evaluate(axe + "; undefined");
        for (const screen of ["desktop", "phone"]) {
          for (const scheme of ["light", "dark"]) {
            await page.setViewportSize(screens[screen]);
            await page.emulateMedia({ colorScheme: scheme });
            // Figures that are drawn again on a new size are by the next frame.
            await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
            assert.deepEqual(await page.evaluate(misdrawn), [], `${screen}, ${scheme}`);
            assert.deepEqual(await page.evaluate(inaccessible), [], `${screen}, ${scheme}`);
          }
        }
        assert.deepEqual(requests, []);
        assert.deepEqual(complaints, []);
        await close();
      });
    });
  }

  describe("pointing and stepping", () => {
    test("hover and focus show the same numbers", async () => {
      const { page, close } = await open("table.html");
      const plot = page.locator("#figure-residuals-fitted .plot");
      await plot.scrollIntoViewIfNeeded();
      const place = await plot.evaluate((element) => {
        const svg = [...element.querySelectorAll("svg")].find((one) => one.getClientRects().length > 0);
        const data = JSON.parse(element.closest("figure").querySelector("script.data").textContent);
        const at = svg.classList.contains("wide") ? data.wide : data.narrow;
        const box = svg.getBoundingClientRect();
        const scale = box.width / svg.viewBox.baseVal.width;
        return [box.left + at[0] * scale, box.top + at[1] * scale];
      });
      await page.mouse.move(...place);
      const hovered = await plot.locator(".tip").textContent();
      assert.match(hovered, /row 1\n/);
      await page.mouse.move(0, 0);
      assert.equal(await plot.locator(".tip").isVisible(), false);
      await page.keyboard.press("Tab");
      await plot.focus();
      await page.keyboard.press("Home");
      assert.equal(await plot.locator(".tip").textContent(), hovered);
      await page.keyboard.press("ArrowRight");
      assert.match(await plot.locator(".tip").textContent(), /row 2\n/);
      assert.match(await page.locator("#said").textContent(), /row 2,/);
      await page.keyboard.press("Escape");
      assert.equal(await plot.locator(".tip").isVisible(), false);
      await close();
    });

    test("every figure with marks answers at its first and last mark", async () => {
      for (const name of names) {
        const { page, close } = await open(name);
        const silent = await page.evaluate(() => [...document.querySelectorAll(".plot[tabindex]")]
          .filter((plot) => plot.getClientRects().length > 0)
          .filter((plot) => !["Home", "End"].every((key) => {
            plot.dispatchEvent(new KeyboardEvent("keydown", { key }));
            return plot.querySelector(".tip").textContent.length > 2 && plot.querySelector(".tip").getClientRects().length > 0;
          }))
          .map((plot) => plot.closest("figure").id));
        assert.deepEqual(silent, [], name);
        await close();
      }
    });
  });

  describe("tables", () => {
    test("sort by number, up and down, keep what is missing last, and remember it in the address", async () => {
      const { page, close } = await open("table.html");
      const column = () => page.locator("#table-coefficients tbody td:nth-child(3)").allTextContents();
      const head = page.locator("#table-coefficients th:nth-child(2)");
      await head.locator("button").click();
      assert.equal(await head.getAttribute("aria-sort"), "ascending");
      const values = () => page.$$eval("#table-coefficients tbody td:nth-child(2)", (cells) => cells.map((cell) => Number(cell.dataset.value)));
      assert.deepEqual(await values(), [...(await values())].sort((a, b) => a - b));
      await page.locator("#table-coefficients th:nth-child(3) button").click();
      assert.equal((await column()).at(-1), "–");
      await head.locator("button").click();
      await head.locator("button").click();
      assert.equal(await head.getAttribute("aria-sort"), "descending");
      const hash = await page.evaluate(() => location.hash);
      assert.match(hash, /sort\.table-coefficients=1d/);
      await close();
      const again = await open("table.html", { hash });
      assert.equal(await again.page.locator("#table-coefficients th:nth-child(2)").getAttribute("aria-sort"), "descending");
      await again.close();
    });

    test("are copied whole, as CSV", async () => {
      const { page, close } = await open("table.html");
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await page.locator("#table-coefficients [data-do=copy]").click();
      await page.waitForFunction(() => document.querySelector("#said").textContent.includes("copied"));
      const text = await page.evaluate(() => navigator.clipboard.readText());
      assert.match(text, /^term,estimate,standard error,p\n/);
      assert.match(text, /intercept,12\.512345678,2\.01,1\.2e-7|intercept,12\.512345678,2\.01,0\.00000012/);
      await close();
    });
  });

  describe("figures", () => {
    test("are saved as SVG and PNG, complete in themselves", async () => {
      for (const [name, id] of [["table.html", "spectrum"], ["attention.html", "heads"], ["attention.html", "map"]]) {
        const { page, complaints, close } = await open(name);
        for (const kind of ["svg", "png"]) {
          const [download] = await Promise.all([
            page.waitForEvent("download"),
            page.locator(`#figure-${id} [data-do=${kind}]`).click(),
          ]);
          assert.equal(download.suggestedFilename(), `figure-${id}.${kind}`);
          const bytes = readFileSync(await download.path());
          if (kind === "svg") {
            assert.match(bytes.toString(), /^<svg/);
            if (id === "map") assert.match(bytes.toString(), /queries 0 to 63, keys 0 to 63.*data:image.png/s);
            assert.ok(!bytes.toString().includes("var("));
          } else {
            assert.deepEqual([...bytes.subarray(1, 4)], [..."PNG"].map((c) => c.charCodeAt(0)));
            assert.ok(bytes.length > 3000, `${bytes.length} bytes`);
          }
        }
        assert.deepEqual(complaints, []);
        await close();
      }
    });

    test("show their numbers as a table that sorts", async () => {
      const { page, close } = await open("table.html");
      const button = page.locator("#figure-spectrum [data-do=numbers]");
      await button.click();
      assert.equal(await button.getAttribute("aria-expanded"), "true");
      const rows = page.locator("#figure-spectrum .numbers tbody tr");
      assert.equal(await rows.count(), 4);
      await page.locator("#figure-spectrum .numbers th:nth-child(3) button").click();
      assert.match(await rows.first().textContent(), /3·10⁻¹⁷/);
      await close();
    });
  });

  describe("the map", () => {
    test("zooms, walks by keyboard, switches heads, and keeps all that in the address", async () => {
      const { page, close } = await open("attention.html");
      const [canvas, where] = [page.locator(".viewer canvas"), page.locator(".viewer .where")];
      await page.waitForFunction(() => document.querySelector(".viewer .where").textContent !== "");
      assert.match(await where.textContent(), /queries 0 to 63, keys 0 to 63; each cell pools 8 × 8/);
      await page.locator(".viewer [data-do=in]").click();
      assert.match(await page.evaluate(() => location.hash), /view=2%2C2%2C4%2C4/);
      await canvas.focus();
      await page.keyboard.press("ArrowRight");
      assert.match(await where.textContent(), /query 16 to 23, key 16 to 23: mean 0\.0625, largest 0\.25/);
      await page.keyboard.press("ArrowRight");
      assert.match(await where.textContent(), /key 24 to 31: no weight/);
      await page.keyboard.press("0");
      await page.locator("#figure-heads .wide .head").nth(1).click();
      await page.waitForFunction(() => location.hash.includes("head=0.1"));
      assert.match(await where.textContent(), /^head 1/);
      await page.locator(".viewer [data-do=max]").click();
      const hash = await page.evaluate(() => location.hash);
      assert.match(hash, /map=max/);
      await close();
      const again = await open("attention.html", { hash });
      await again.page.waitForFunction(() => document.querySelector(".viewer .where").textContent.startsWith("head 1"));
      assert.equal(await again.page.locator(".viewer [data-do=max]").getAttribute("aria-pressed"), "true");
      await again.close();
    });
  });

  describe("the layers of a model", () => {
    test("have maps of their own shapes, and axes of their own numbers of keys", async () => {
      const { page, close } = await open("layers.html");
      const shapes = await page.$$eval("#figure-heads .wide .head .frame", (frames) => frames.map((frame) => {
        const [width, height] = ["width", "height"].map((name) => Number(frame.getAttribute(name)));
        return (height / width).toFixed(2);
      }));
      // 12 heads of the encoder and 4 of the decoder look at themselves, 8 from 18 queries at 40 keys.
      assert.equal(shapes.filter((shape) => shape === "1.00").length, 16);
      assert.equal(shapes.filter((shape) => shape === "0.45").length, 8);
      const ends = await page.$$eval("#figure-received .wide text", (texts) => texts.map((text) => text.textContent));
      for (const end of ["39", "17"]) assert.ok(ends.includes(end), end);
      assert.match(await page.locator("#figure-received figcaption").textContent(), /different numbers of keys/);
      await page.locator("#figure-heads .wide .head").nth(20).click();
      await page.waitForFunction(() => location.hash.includes("head=4.0"));
      assert.match(await page.locator(".viewer .where").textContent(), /^layer 4, head 0: queries 0 to 17, keys 0 to 39/);
      assert.match(await page.locator("body").textContent(), /rows of queries that are padding/);
      await close();
    });
  });

  describe("themes, paper and size", () => {
    test("the chosen theme wins over the system's and stays in the address", async () => {
      const { page, close } = await open("table.html", { scheme: "light", hash: "#theme=dark" });
      const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      assert.equal(await paper(), "rgb(22, 21, 18)");
      await page.locator("#theme").click();
      assert.equal(await paper(), "rgb(255, 253, 248)");
      assert.match(await page.evaluate(() => location.hash), /theme=light/);
      await close();
    });

    test("prints to A4, light even in a dark system, without buttons", async () => {
      for (const name of names) {
        const { page, close } = await open(name, { scheme: "dark" });
        await page.emulateMedia({ media: "print", colorScheme: "dark" });
        assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
        const buttons = await page.evaluate(() => [...document.querySelectorAll("button, select")].filter((one) => !one.closest("th")).filter((one) => one.getClientRects().length > 0).length);
        assert.equal(buttons, 0);
        const pdf = (await page.pdf({ preferCSSPageSize: true })).toString("latin1");
        assert.match(pdf, /MediaBox \[0 0 59[45]\S* 84[12]\S*\]/);
        await close();
      }
    });

    test("reads without any script", async () => {
      const html = readFileSync(`${directory}/table.html`, "utf8").replace(/<script>[\s\S]*<\/script>/, "");
      assert.match(html, /<h2>Findings/);
      assert.match(html, /<svg class="wide"/);
    });

    test("is smaller than 1.5 MB", () => {
      for (const name of names) {
        const size = readFileSync(`${directory}/${name}`).length;
        assert.ok(size < 1.5e6, `${name}: ${size} bytes`);
      }
    });
  });
});
