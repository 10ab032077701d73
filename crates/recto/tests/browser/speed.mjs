// How soon the first page is there: with nothing kept and again, of an empty home and of a session of
// thousands of messages. What is measured is printed; the bounds are those of a build without
// optimisation on a busy machine.

import { join } from "node:path";
import { assert } from "./support.mjs";

const MOST_MS = 1_000;

export async function story(stage) {
  const figures = {};
  figures.empty = await measure(stage, "/");
  await stage.recto("sessions", "import", join(process.env.RECTO_HOME, "long.jsonl"), "--name", "long");
  figures.long = await measure(stage, "/");
  console.error(JSON.stringify(figures));
  for (const [name, visits] of Object.entries(figures)) {
    for (const visit of visits) assert(visit.shown < MOST_MS, `${name}: ${JSON.stringify(visit)}`);
  }
}

/** A first visit and two more: when the answer began, when the page was shown, what it weighed. */
async function measure(stage, path) {
  const page = await stage.tab();
  const visits = [];
  for (let visit = 0; visit < 3; visit += 1) {
    await stage.go(page, path);
    await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
    visits.push(await page.evaluate(() => {
      const [navigation] = performance.getEntriesByType("navigation");
      const [paint] = performance.getEntriesByName("first-contentful-paint");
      const loaded = performance.getEntriesByType("resource");
      const bytes = loaded.reduce((sum, entry) => sum + entry.transferSize, navigation.transferSize);
      return {
        answered: Math.round(navigation.responseStart),
        shown: Math.round(paint.startTime),
        ready: Math.round(navigation.domContentLoadedEventEnd),
        bytes,
      };
    }));
  }
  await page.context().close();
  return visits;
}
