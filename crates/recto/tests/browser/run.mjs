// Runs one story: `node run.mjs NAME`. The exit code says whether it went as told.

import { Stage } from "./support.mjs";

const [name] = process.argv.slice(2);
const { story } = await import(`./${name}.mjs`);
const stage = await Stage.open();
try {
  await story(stage);
} catch (problem) {
  for (const [at, context] of stage.browser.contexts().entries()) {
    for (const page of context.pages()) {
      console.error(`page ${at}: ${page.url()}\n${await page.locator("body").innerText().catch(() => "")}`);
      await stage.picture(page, `failed-${name}-${at}`);
    }
  }
  console.error([...stage.faults, ...stage.outside].join("\n"));
  throw problem;
}
await stage.close();
process.exit(0);
