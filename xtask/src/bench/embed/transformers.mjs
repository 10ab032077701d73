// transformers.js with the same weights in eight bits, as a peer of the encoder.
//
// Called with a folder that has node_modules, a folder that has the model as
// such models are published, and a number of threads. Says on the first line
// what it is; then, for each line of JSON with texts, encodes them and says how
// long it took, from texts to vectors, with the fastest size of batches.

import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [modules, model, threads] = process.argv.slice(2);
const name = "@huggingface/transformers";
const require = createRequire(join(modules, "node_modules", "x.js"));
const { env, pipeline } = await import(pathToFileURL(require.resolve(name)).href);
env.localModelPath = dirname(model);
env.allowRemoteModels = false;
const options = {
  dtype: "q8",
  device: "cpu",
  session_options: { intraOpNumThreads: Number(threads), logSeverityLevel: 3 },
};
const extractor = await pipeline("feature-extraction", basename(model), options);

const say = (value) => process.stdout.write(JSON.stringify(value) + "\n");
const how = { pooling: "mean", normalize: true };

async function run(texts, atOnce) {
  const start = performance.now();
  const order = texts.map((_, index) => index).sort((a, b) => texts[a].length - texts[b].length);
  let vector;
  for (let from = 0; from < order.length; from += atOnce) {
    const batch = order.slice(from, from + atOnce);
    const vectors = await extractor(batch.map((index) => texts[index]), how);
    const first = batch.indexOf(0);
    if (first >= 0) vector = Array.from(vectors[first].data);
  }
  return { seconds: (performance.now() - start) / 1000, way: `${atOnce} at once`, vector };
}

say({ version: env.version });
const fastest = new Map();
for await (const line of createInterface({ input: process.stdin })) {
  const { texts } = JSON.parse(line);
  if (!fastest.has(texts.length)) {
    const tried = [];
    for (const atOnce of [1, 8, 32].filter((atOnce) => atOnce <= texts.length)) {
      for (let time = 0; time < 3; time++) tried.push([(await run(texts, atOnce)).seconds, atOnce]);
    }
    tried.sort((a, b) => a[0] - b[0]);
    fastest.set(texts.length, tried[0][1]);
  }
  say(await run(texts, fastest.get(texts.length)));
}
