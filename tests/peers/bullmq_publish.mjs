// SPDX-License-Identifier: MIT
//
// A page of BullMQ that publishes: the same POST that landfall sends to a server with Mastodon's API.
//
//     node bullmq_publish.mjs add                  jobs from standard input, [{"id", "text"}, ...]; the id is the job's id too
//     node bullmq_publish.mjs work                 says "loaded", waits for SIGUSR2 (a spare that takes over at once), works until killed
//     node bullmq_publish.mjs settle LIMIT_S       waits until nothing is open any more, prints {id: "completed" | "failed" | "open"}
//
// Its surroundings come from the environment: REDIS_PORT, SETTINGS (a name below), CONCURRENCY, URL, TOKEN, STALLED_MS (empty: as
// BullMQ has it, 30 s). What is set, and why it is fair:
//   - retrying: three attempts with exponential backoff, as BullMQ's own pages show it; a job that stalled runs again once.
//   - at-most-once: one attempt, and a job whose worker vanished is not run again. Nothing nearer to "never twice" can be set.
//   - an answer that will not change (4xx but 429) ends the job at once; everything else may be repeated.
//   - the time limit of a request is the one that landfall's channel has; jobs are kept, so that each can be asked how it ended.
// BullMQ promises to run each job at least once and asks for processors that can be repeated. This platform has no key for
// that; what a user could build around it, such as a row before each request and reading back, is what landfall is.
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import IORedis from 'ioredis';
import { Queue, UnrecoverableError, Worker } from 'bullmq';
import { Agent, request } from 'undici';

const NAME = 'publish';
const SETTINGS = {
  retrying: { job: { attempts: 3, backoff: { type: 'exponential', delay: 1000 } }, worker: {} },
  'at-most-once': { job: { attempts: 1 }, worker: { maxStalledCount: 0 } },
};
const WRITE_LIMIT_MS = 20_000;
const POLL_MS = 250;
const OPEN = ['wait', 'active', 'delayed', 'prioritized', 'paused'];

const settings = SETTINGS[process.env.SETTINGS];
const connection = new IORedis({ host: '127.0.0.1', port: Number(process.env.REDIS_PORT), maxRetriesPerRequest: null });

async function add() {
  const jobs = JSON.parse(await text(process.stdin));
  const queue = new Queue(NAME, { connection });
  await queue.addBulk(jobs.map((data) => ({ name: 'post', data, opts: { jobId: data.id, ...settings.job } })));
}

async function work() {
  const concurrency = Number(process.env.CONCURRENCY);
  const dispatcher = new Agent({ connections: concurrency, headersTimeout: WRITE_LIMIT_MS, bodyTimeout: WRITE_LIMIT_MS });
  const stalledMs = Number(process.env.STALLED_MS);
  const stalled = stalledMs ? { lockDuration: stalledMs, stalledInterval: stalledMs } : {};
  const publish = async (job) => {
    const answer = await request(`${process.env.URL}/api/v1/statuses`, {
      method: 'POST', dispatcher,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${process.env.TOKEN}` },
      body: JSON.stringify({ status: job.data.text, visibility: 'public' }),
    });
    const { statusCode } = answer;
    if (statusCode === 200) return (await answer.body.json()).id;
    await answer.body.dump();
    const final = statusCode >= 400 && statusCode < 500 && statusCode !== 429;
    throw final ? new UnrecoverableError(`status ${statusCode}`) : new Error(`status ${statusCode}`);
  };
  const turn = once(process, 'SIGUSR2');
  const alive = setInterval(() => {}, 1000);
  console.log('loaded');
  await turn;
  clearInterval(alive);
  const worker = new Worker(NAME, publish, { connection, concurrency, ...stalled, ...settings.worker });
  worker.on('error', (error) => console.error(error.message));
  await once(worker, 'closed');
}

async function settle(limitS) {
  const queue = new Queue(NAME, { connection });
  const deadline = Date.now() + limitS * 1000;
  while (await queue.getJobCountByTypes(...OPEN) > 0 && Date.now() < deadline) await sleep(POLL_MS);
  const ids = async (...states) => (await queue.getJobs(states, 0, -1)).filter(Boolean).map((job) => job.id);
  const shown = {};
  for (const id of await ids(...OPEN)) shown[id] = 'open';
  for (const state of ['completed', 'failed']) for (const id of await ids(state)) shown[id] = state;
  console.log(JSON.stringify(shown));
}

const [mode, limitS] = process.argv.slice(2);
await { add, work, settle: () => settle(Number(limitS)) }[mode]();
process.exit(0);
