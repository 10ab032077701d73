// What the first page takes: with nothing kept and again, of an empty home and of a session of thousands
// of messages. What it weighs holds on any machine. How soon it is shown does not, and is printed: 200 ms
// are meant, with a release build and nothing else to do; here the best visit has five times as long.

import { join } from "node:path";
import { assert } from "./support.mjs";

const MOST_BYTES = { empty: 100 * 1024, long: 120 * 1024 };

const MOST_MILLISECONDS = 1_000;

export async function story(stage) {
  const figures = {};
  figures.empty = await measure(stage, "/");
  await stage.recto("sessions", "import", join(process.env.RECTO_HOME, "long.jsonl"), "--name", "long");
  figures.long = await measure(stage, "/");
  console.error(JSON.stringify(figures));
  for (const [name, visits] of Object.entries(figures)) {
    for (const visit of visits) assert(visit.bytes <= MOST_BYTES[name], `${name}: ${JSON.stringify(visit)}`);
    const soonest = Math.min(...visits.map(({ shown }) => shown));
    assert(soonest <= MOST_MILLISECONDS, `${name}: ${JSON.stringify(visits)}`);
    // Scripts and styles are kept from the first visit on.
    assert(visits[1].bytes < 32 * 1024, `${name}: ${JSON.stringify(visits[1])}`);
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
